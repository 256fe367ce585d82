import { overlayOf, withOverlay } from '#runtime/content/translations/translation.ts';
import type { Revision } from '#runtime/content/revision.ts';
import {
  differingLocales,
  prepareComparison,
  sameContent,
  sameDefinition,
  sameNode,
} from '#runtime/tree/net-change.ts';
import { withHeaderInSteps } from '#runtime/tree/record/make-record.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { StoredDefinition, StoredKind } from '#runtime/tree/schema-store.ts';
import {
  definitionConflict,
  localeConflict,
  nodeConflictInSteps,
  type ThreeStates,
} from '../merge/conflict-entries.ts';
import type { MergeConflict } from '../merge-messages.ts';

/**
 * Computes the state of one node or definition when some of the revisions that changed it are undone: pure functions of
 * its states. Undoing is a reverse merge: base is the state after the undone revisions, source the state before them.
 */

/** The states before and after an undone revision; undefined where the node or definition does not exist. */
export interface Step<T> {
  readonly before: T | undefined;
  readonly beforeAt: Revision;
  readonly after: T | undefined;
  readonly afterAt: Revision;
}

/** Consecutive steps combined into one. */
interface Stretch<T> {
  readonly source: T | undefined;
  readonly sourceAt: Revision;
  readonly base: T | undefined;
  readonly baseAt: Revision;
}

/** The result of the undo for a node. */
export interface UndoneNode {
  /** Undefined: the node is removed. Path and position are the restored ones; whether they fit is checked elsewhere. */
  readonly wanted: NodeRecord | undefined;
  /** The state after the newest undone revisions. */
  readonly base: NodeRecord | undefined;
  readonly baseAt: Revision;
  /** The revision `wanted` is restored from. */
  readonly sourceAt: Revision;
  readonly conflicts: readonly MergeConflict[];
}

/**
 * Undoes the changes of some revisions to a node. The newest is undone first. Changes of other revisions in between or
 * afterwards stay; they conflict if they are about the same aspect: the node itself, or one of its locales.
 *
 * @returns yields where the work may pause, which it does only for large nodes
 * @param present current state on the branch
 * @param steps at least one, oldest first
 */
export function* undoNode(
  workspace: string,
  present: NodeRecord | undefined,
  steps: readonly Step<NodeRecord>[],
): Generator<undefined, UndoneNode> {
  yield* prepareComparison([present, ...steps.flatMap(({ after, before }) => [before, after])]);
  const stretches = stretchesOf(steps, sameState);
  const { base, baseAt } = stretches[0] as Stretch<NodeRecord>;
  const conflicts: MergeConflict[] = [];
  let wanted = present;
  let sourceAt = baseAt;
  for (const stretch of stretches) {
    const states = { base: stretch.base, target: wanted, source: stretch.source };
    const undone = yield* undoStretch(workspace, states, conflicts);
    if (undone !== wanted) sourceAt = stretch.sourceAt;
    wanted = undone;
  }
  return { wanted, base, baseAt, sourceAt, conflicts };
}

/** Positions are compared as well: a position given by other revisions in between stays. */
function sameState(a: NodeRecord | undefined, b: NodeRecord | undefined): boolean {
  return sameContent(a, b) && a?.header.orderKey === b?.header.orderKey;
}

/** The result of the undo for a definition. */
export interface UndoneDefinition {
  readonly wanted: StoredDefinition<StoredKind> | undefined;
  readonly conflicts: readonly MergeConflict[];
}

/** As {@link undoNode}, for a schema definition, which is one aspect. */
export function undoDefinition(
  kind: StoredKind,
  name: string,
  present: StoredDefinition<StoredKind> | undefined,
  steps: readonly Step<StoredDefinition<StoredKind>>[],
): UndoneDefinition {
  const conflicts: MergeConflict[] = [];
  let wanted = present;
  for (const { base, source } of stretchesOf(steps, sameDefinition)) {
    if (sameDefinition(base, source) || sameDefinition(wanted, source)) continue;
    if (sameDefinition(wanted, base)) wanted = source;
    else conflicts.push(definitionConflict(kind, name, { base, target: wanted, source }));
  }
  return { wanted, conflicts };
}

/**
 * Newest first. If one step ends in the state in which the next one begins, there was no relevant change in between.
 */
function stretchesOf<T>(
  steps: readonly Step<T>[],
  same: (a: T | undefined, b: T | undefined) => boolean,
): readonly Stretch<T>[] {
  const found: Stretch<T>[] = [];
  for (let index = steps.length - 1; index >= 0; index--) {
    const { after, afterAt, before, beforeAt } = steps[index] as Step<T>;
    const last = found.at(-1);
    if (last !== undefined && same(after, last.source)) {
      found[found.length - 1] = { ...last, source: before, sourceAt: beforeAt };
    } else found.push({ base: after, baseAt: afterAt, source: before, sourceAt: beforeAt });
  }
  return found;
}

function* undoStretch(
  workspace: string,
  states: ThreeStates<NodeRecord>,
  conflicts: MergeConflict[],
): Generator<undefined, NodeRecord | undefined> {
  const { base, source, target } = states;
  if (base !== undefined && source !== undefined && target !== undefined) {
    return yield* undoAspects(workspace, { base, source, target }, conflicts);
  }
  if (sameContent(base, source) || sameContent(target, source)) return target;
  if (sameContent(target, base)) return source;
  const type =
    target === undefined
      ? 'ModifiedBySourceDeletedByTarget'
      : source === undefined
        ? 'DeletedBySourceModifiedByTarget'
        : 'BothAdded';
  conflicts.push(yield* nodeConflictInSteps(type, workspace, states));
  return target;
}

interface AllStates {
  readonly base: NodeRecord;
  readonly target: NodeRecord;
  readonly source: NodeRecord;
}

function* undoAspects(
  workspace: string,
  states: AllStates,
  conflicts: MergeConflict[],
): Generator<undefined, NodeRecord> {
  const { base, source, target } = states;
  let takesNode = false;
  if (!sameNode(base, source) && !sameNode(target, source)) {
    takesNode = sameNode(target, base);
    if (!takesNode) conflicts.push(yield* nodeConflictInSteps('BothModified', workspace, states));
  }
  let { translations } = target.header;
  const changedSince = new Set(differingLocales(base, target));
  const differing = new Set(differingLocales(source, target));
  for (const locale of differingLocales(base, source)) {
    if (!differing.has(locale)) continue;
    if (changedSince.has(locale)) conflicts.push(localeConflict(workspace, locale, states));
    else
      translations = withOverlay(translations, locale, overlayOf(source.header.translations, locale) ?? null);
  }
  const taken = takesNode ? source : target;
  const orderKey = undoneOrderKey(states, taken);
  const { header } = taken;
  if (header.translations === translations && header.orderKey === orderKey) return taken;
  return yield* withHeaderInSteps(taken, { ...header, translations, orderKey });
}

/** A position never conflicts: the earlier one is restored, unless the node was given another one since. */
function undoneOrderKey({ base, source, target }: AllStates, taken: NodeRecord): string {
  const { orderKey, parentId } = target.header;
  if (taken.header.parentId !== parentId) return taken.header.orderKey;
  const isPlacedSince = base.header.orderKey !== orderKey || base.header.parentId !== parentId;
  return isPlacedSince || source.header.parentId !== parentId ? orderKey : source.header.orderKey;
}
