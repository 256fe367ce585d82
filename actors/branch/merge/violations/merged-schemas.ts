import { compareRevisions, parseRevision, type Revision } from '#runtime/content/revision.ts';
import { type ResolvedSource, SchemaResolver } from '#runtime/content/resolution/schema-resolver.ts';
import type { SchemaSource } from '#runtime/content/resolution/type-resolver.ts';
import type { Workspace } from '#runtime/content/definitions/workspace-definition.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { sameDefinition } from '#runtime/tree/net-change.ts';
import {
  type DefinitionOf,
  readDefinition,
  type StoredDefinition,
  type StoredKind,
} from '#runtime/tree/schema-store.ts';
import { eachInSlices } from '../../each-in-slices.ts';
import type { Side } from '../../pair/branch-pair.ts';
import type { DefinitionAddress } from '../../pair-messages.ts';
import type { DefinitionDecision } from '../merge-decisions.ts';
import { type MergeInput, workspaceOf } from '../merge-input.ts';
import { nodeKeyOf } from '../merge-sides.ts';

/** The schema of the target, of the source, or of the merged state. */
export type SchemaState = Side | 'merged';

type Stored = StoredDefinition<StoredKind> | undefined;

/** A definition that a side of a merge changed, in every state. Undefined: absent. */
export interface ChangedDefinition extends DefinitionAddress {
  readonly base: Stored;
  readonly own: Stored;
  readonly other: Stored;
  readonly merged: Stored;
  readonly decision: DefinitionDecision | undefined;
  /** Whether both sides changed it without a decision; until there is one, the merged state is the target's. */
  readonly isOpen: boolean;
}

/**
 * The schemas of a merge: those of both sides, and the merged one under the decisions about definitions.
 *
 * Definitions that neither side changed are read from the target and are the same in all three, and so are node types
 * that a workspace pins to a revision.
 */
export class MergedSchemas {
  /** By `nodeKeyOf` of kind and name. */
  readonly changed: ReadonlyMap<string, ChangedDefinition>;
  readonly #input: MergeInput;
  readonly #differing: Readonly<Record<Side, Differing>>;
  readonly #workspaces = new Map<string, Workspace | undefined>();
  readonly #resolvers = new Map<string, ResolvedSource>();
  readonly #affected = new Map<string, boolean>();

  private constructor(
    input: MergeInput,
    changed: ReadonlyMap<string, ChangedDefinition>,
    differing: Readonly<Record<Side, Differing>>,
  ) {
    this.#input = input;
    this.changed = changed;
    this.#differing = differing;
  }

  /**
   * @param decisions by `nodeKeyOf` of kind and name
   * @returns yields where the work may pause
   */
  static *of(
    input: MergeInput,
    decisions: ReadonlyMap<string, DefinitionDecision>,
  ): Generator<undefined, MergedSchemas> {
    const changed = yield* changedDefinitions(input, decisions);
    const own = yield* differingFrom(changed, 'own');
    const other = yield* differingFrom(changed, 'other');
    return new MergedSchemas(input, changed, { own, other });
  }

  /** Definitions that differ between the merged schema and a side, including those that are open. */
  differing(side: Side): ReadonlyMap<string, ChangedDefinition> {
    return this.#differing[side].definitions;
  }

  /** A workspace; undefined when it no longer exists. */
  workspace(name: string): Workspace | undefined {
    if (!this.#workspaces.has(name)) this.#workspaces.set(name, workspaceOf(this.#input, name));
    return this.#workspaces.get(name);
  }

  /** The schema in force in a workspace; undefined when the workspace no longer exists. */
  in(workspace: string, state: SchemaState): ResolvedSource | undefined {
    const key = `${state} ${workspace}`;
    const known = this.#resolvers.get(key);
    if (known !== undefined) return known;
    const source = this.#sourceIn(workspace, state);
    if (source === undefined) return undefined;
    const resolver = new SchemaResolver(source);
    this.#resolvers.set(key, resolver);
    return resolver;
  }

  /** The definitions of a state, ignoring the pins of workspaces. */
  source(state: SchemaState): SchemaSource {
    return {
      nodeType: (name) => this.#definition('node_type', name, state),
      archetype: (name) => this.#definition('archetype', name, state),
      elementType: (name) => this.#definition('element_type', name, state),
    };
  }

  /**
   * Whether the rules for a node may differ between the merged schema and a side: a definition that its type or
   * archetype uses differs, or an element type, which any node may use.
   */
  affects(side: Side, workspace: string, nodeType: string, archetype: string | null): boolean {
    const { definitions, hasElementTypes } = this.#differing[side];
    if (definitions.size === 0 || hasElementTypes) return hasElementTypes;
    const key = `${side} ${workspace}\0${nodeType}\0${archetype ?? ''}`;
    const known = this.#affected.get(key);
    if (known !== undefined) return known;
    // Separate calls: the archetype is looked up even if the type does not resolve.
    const work = [
      (schema: ResolvedSource) => void schema.nodeType(nodeType),
      (schema: ResolvedSource) => void (archetype === null || schema.archetype(archetype)),
    ];
    const affected = work.some((each) => this.causes([side], workspace, each).length > 0);
    this.#affected.set(key, affected);
    return affected;
  }

  /**
   * The definitions that some work looks up and that differ between the merged schema and one of some sides.
   *
   * @param workspace its pinned types are used; null: no pinned types
   * @param work is called with the schemas of these sides and with the merged one; a `VALIDATION_FAILED` error it
   *   throws is ignored
   */
  causes(
    sides: readonly Side[],
    workspace: string | null,
    work: (schema: ResolvedSource, source: SchemaSource) => void,
  ): readonly ChangedDefinition[] {
    const found = new Set<ChangedDefinition>();
    for (const key of this.#namedBy([...sides, 'merged'], workspace, work)) {
      for (const side of sides) {
        const definition = this.differing(side).get(key);
        if (definition !== undefined) found.add(definition);
      }
    }
    return [...found];
  }

  #namedBy(
    states: readonly SchemaState[],
    workspace: string | null,
    work: (schema: ResolvedSource, source: SchemaSource) => void,
  ): ReadonlySet<string> {
    const named = new Set<string>();
    for (const state of states) {
      const source = workspace === null ? this.source(state) : this.#sourceIn(workspace, state);
      if (source === undefined) continue;
      const noted = noting(source, named);
      // A new resolver, because a used one caches what it has resolved.
      refusalOf(() => work(new SchemaResolver(noted), noted));
    }
    return named;
  }

  #sourceIn(workspace: string, state: SchemaState): SchemaSource | undefined {
    const found = this.workspace(workspace);
    if (found === undefined) return undefined;
    const source = this.source(state);
    const pins = found.config.node_type_pins;
    if (Object.keys(pins).length === 0) return source;
    const { heads } = this.#input.pair;
    return {
      ...source,
      nodeType: (name) => {
        const pin = Object.hasOwn(pins, name) ? pins[name] : undefined;
        const at = typeof pin === 'string' ? parseRevision(pin) : undefined;
        // A pin that is later than both heads shows the merged definition.
        const isLater = at !== undefined && compareRevisions(at, later(heads.own, heads.other)) > 0;
        if (at === undefined || isLater) return source.nodeType(name);
        return this.#stored('node_type', name, at);
      },
    };
  }

  #definition<K extends StoredKind>(kind: K, name: string, state: SchemaState): DefinitionOf[K] | undefined {
    const changed = this.changed.get(nodeKeyOf(kind, name));
    if (changed !== undefined) return changed[state]?.definition as DefinitionOf[K] | undefined;
    return this.#stored(kind, name, this.#input.moment.at);
  }

  #stored<K extends StoredKind>(
    kind: K,
    name: string,
    at: Revision | undefined,
  ): DefinitionOf[K] | undefined {
    const { moment } = this.#input;
    const found = readDefinition(moment.reader, kind, name, at);
    moment.rest();
    return found;
  }
}

/** Definitions that differ between the merged schema and a side, by `nodeKeyOf` of kind and name. */
interface Differing {
  readonly definitions: ReadonlyMap<string, ChangedDefinition>;
  readonly hasElementTypes: boolean;
}

function* differingFrom(
  changed: ReadonlyMap<string, ChangedDefinition>,
  side: Side,
): Generator<undefined, Differing> {
  const definitions = new Map<string, ChangedDefinition>();
  let hasElementTypes = false;
  yield* eachInSlices(changed, ([key, one]) => {
    if (!one.isOpen && sameDefinition(one.merged, one[side])) return;
    definitions.set(key, one);
    hasElementTypes ||= one.kind === 'element_type';
  });
  return { definitions, hasElementTypes };
}

function* changedDefinitions(
  { sides: { otherDefinitions, ownDefinitions } }: MergeInput,
  decisions: ReadonlyMap<string, DefinitionDecision>,
): Generator<undefined, ReadonlyMap<string, ChangedDefinition>> {
  const found = new Map<string, ChangedDefinition>();
  yield* eachInSlices([...otherDefinitions, ...ownDefinitions], ([key, { before: base, kind, name }]) => {
    if (found.has(key)) return;
    const ours = ownDefinitions.get(key);
    const theirs = otherDefinitions.get(key);
    const own = ours === undefined ? base : ours.after;
    const other = theirs === undefined ? base : theirs.after;
    const decision = decisions.get(key);
    const areBoth = ours !== undefined && theirs !== undefined;
    const isOpen = decision === undefined && areBoth && !sameDefinition(own, other);
    const undecided = ours === undefined ? other : own;
    const merged = decision === undefined ? undecided : decided(decision, own, other);
    found.set(key, { kind, name, base, own, other, merged, decision, isOpen });
  });
  return found;
}

/** The definition that results from a decision. */
function decided({ choice, given }: DefinitionDecision, own: Stored, other: Stored): Stored {
  if (choice === 'manual') return given;
  return choice === 'ours' ? own : other;
}

/** The `VALIDATION_FAILED` error of some work; undefined without one. */
export function refusalOf(work: () => void): ServiceError | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'VALIDATION_FAILED') return error;
    throw error;
  }
}

function noting(source: SchemaSource, named: Set<string>): SchemaSource {
  return {
    nodeType: (name) => {
      named.add(nodeKeyOf('node_type', name));
      return source.nodeType(name);
    },
    archetype: (name) => {
      named.add(nodeKeyOf('archetype', name));
      return source.archetype(name);
    },
    elementType: (name) => {
      named.add(nodeKeyOf('element_type', name));
      return source.elementType(name);
    },
  };
}

function later<T extends { readonly ms: number; readonly counter: number }>(one: T, two: T): T {
  return compareRevisions(one, two) > 0 ? one : two;
}
