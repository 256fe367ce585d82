import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { overlayOf } from '#runtime/content/translations/translation.ts';
import { invalid, type ServiceError } from '#runtime/errors/service-error.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { StoredDefinition, StoredKind } from '#runtime/tree/schema-store.ts';
import type { ConflictType, MergeConflict } from '../merge-messages.ts';
import { definitionId, definitionPath } from '../pair/definition-names.ts';

/** Most conflicts that one merge or revert lists; with more it is refused. */
export const CONFLICTS_MAX = 10_000;

/** The states of one node or definition in base, target and source; undefined where it does not exist. */
export interface ThreeStates<T> {
  readonly base: T | undefined;
  readonly target: T | undefined;
  readonly source: T | undefined;
}

/** Collects conflicts, one for each aspect (node, locale of a node, definition). */
export class FoundConflicts {
  readonly #found = new Map<string, MergeConflict>();

  /**
   * Adds a conflict. Only the first one about an aspect is kept. @throws {ServiceError} `VALIDATION_FAILED` beyond
   * {@link CONFLICTS_MAX}
   */
  note(conflict: MergeConflict): void {
    const { node_id: id, translation_locale: locale, workspace } = conflict;
    const key = `${workspace ?? ''}\0${id}\0${locale ?? ''}`;
    if (this.#found.has(key)) return;
    if (this.#found.size === CONFLICTS_MAX) throw tooManyConflicts();
    this.#found.set(key, conflict);
  }

  /** Sorted by workspace, path and locale. */
  get sorted(): readonly MergeConflict[] {
    return [...this.#found.values()].sort(byPlace);
  }
}

/** The refusal of a merge or revert with more conflicts than {@link CONFLICTS_MAX}. */
export function tooManyConflicts(): ServiceError {
  return invalid(`There are more than ${CONFLICTS_MAX} conflicts`);
}

/** A conflict about a node itself; target or source must have it. */
export function nodeConflict(
  type: ConflictType,
  workspace: string,
  { base, target, source }: ThreeStates<NodeRecord>,
): MergeConflict {
  const { id, path } = ((target ?? source) as NodeRecord).header;
  return {
    node_id: id,
    workspace,
    path,
    conflict_type: type,
    base_properties: base?.properties ?? null,
    target_properties: target?.properties ?? null,
    source_properties: source?.properties ?? null,
    base_path: base?.header.path ?? null,
    target_path: target?.header.path ?? null,
    source_path: source?.header.path ?? null,
    base_published: isPublished(base),
    target_published: isPublished(target),
    source_published: isPublished(source),
  };
}

function isPublished(state: NodeRecord | undefined): boolean | null {
  return state === undefined ? null : state.header.publishedAt !== null;
}

/** As {@link nodeConflict}; yields where the work may pause, which it does only for large nodes. */
export function* nodeConflictInSteps(
  type: ConflictType,
  workspace: string,
  states: ThreeStates<NodeRecord>,
): Generator<undefined, MergeConflict> {
  for (const state of [states.base, states.target, states.source])
    if (state !== undefined) yield* state.decode();
  return nodeConflict(type, workspace, states);
}

/** A conflict about one locale of a node that both sides have. */
export function localeConflict(
  workspace: string,
  locale: string,
  { base, target, source }: { base: NodeRecord | undefined; target: NodeRecord; source: NodeRecord },
): MergeConflict {
  const values = {
    base: overlayValues(base, locale),
    target: overlayValues(target, locale),
    source: overlayValues(source, locale),
  };
  return {
    node_id: target.header.id,
    workspace,
    path: target.header.path,
    conflict_type: localeConflictType(values),
    base_properties: values.base,
    target_properties: values.target,
    source_properties: values.source,
    translation_locale: locale,
  };
}

/** Translated values by pointer; null if there are none, or if the node is hidden in the locale. */
function overlayValues(record: NodeRecord | undefined, locale: string): JsonObject | null {
  const overlay = overlayOf(record?.header.translations ?? null, locale);
  return overlay?.type === 'properties' ? overlay.data : null;
}

function localeConflictType(values: Readonly<Record<'base' | 'target' | 'source', unknown>>): ConflictType {
  const { base, target, source } = values;
  if (source === null && target !== null) return 'DeletedBySourceModifiedByTarget';
  if (source !== null && target === null) return 'ModifiedBySourceDeletedByTarget';
  return base === null && target !== null ? 'BothAdded' : 'BothModified';
}

/** A conflict about a schema definition. */
export function definitionConflict(
  kind: StoredKind,
  name: string,
  { base, target, source }: ThreeStates<StoredDefinition<StoredKind>>,
): MergeConflict {
  return {
    node_id: definitionId({ kind, name }),
    workspace: null,
    path: definitionPath({ kind, name }),
    conflict_type: 'BothModified',
    base_properties: definitionJson(base),
    target_properties: definitionJson(target),
    source_properties: definitionJson(source),
  };
}

function definitionJson(stored: StoredDefinition<StoredKind> | undefined): JsonObject | null {
  return stored === undefined ? null : (stored.definition as unknown as JsonObject);
}

/** Compares conflicts by workspace, path and locale. */
export function byPlace(a: MergeConflict, b: MergeConflict): number {
  return (
    compareTexts(a.workspace ?? '', b.workspace ?? '') ||
    compareTexts(a.path, b.path) ||
    compareTexts(a.node_id, b.node_id) ||
    compareTexts(a.translation_locale ?? '', b.translation_locale ?? '')
  );
}

function compareTexts(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
