import { formatRevision, parseRevision, type Revision, revisionZero } from '#runtime/content/revision.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readAncestor } from '#runtime/tree/ancestry-store.ts';
import {
  type DefinitionNetChange,
  definitionNetChange,
  type NetChange,
  netChange,
  prepareComparison,
  sameDefinition,
} from '#runtime/tree/net-change.ts';
import type { NodeRecord } from '#runtime/tree/node-record.ts';
import {
  type Divergence,
  findDivergence,
  type GraphRecord,
  parentsOf,
  type RevisionSource,
} from '#runtime/tree/revision-graph.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
import type { BranchState } from './branch-state.ts';
import { FoldedPaths, foldedState } from './folded-base.ts';
import type { BranchQuery, BranchState as BranchStanding } from './messages.ts';
import type { ChangedPart, ChangesPlace, DefinitionAddress, NodeAddress } from './pair-messages.ts';
import {
  CHANGED_REVISIONS_MAX,
  changedPart,
  type DefinitionStates,
  definitionStatesAt,
  type NodeStates,
  STATES_MAX,
  statesAt,
} from './pair-queries.ts';

/** One of the two branches of a pair: the one that looks, or the one it looks at. */
export type Side = 'own' | 'other';

/** Nodes one side may have changed. */
export const CHANGED_NODES_MAX = 500_000;

/** Merge bases that are looked at; of more, the newest. */
const BASES_MAX = 8;

/** The revisions a pair is compared at. Absent: the heads. */
export interface PairMoments {
  readonly own?: Revision | undefined;
  readonly other?: Revision | undefined;
}

/**
 * A merge base, and where its history meets that of the newest one; absent for the newest, and where they do not
 * meet.
 */
interface Base {
  readonly at: Revision;
  readonly meeting: Revision | undefined;
  /** What either has besides: a merge may have decided about it without writing anything. */
  readonly since: readonly GraphRecord[];
}

/**
 * Two branches of a repository, each at one revision: where their histories meet and what each changed since.
 * Compare, diff and merge stand on it.
 *
 * What it reads never changes: records of revisions, and states as of a revision. So the other branch may go on
 * being written while this one looks, also over several turns of the event loop.
 *
 * Invariants:
 * 1. Both sides' changes are net changes against the same base, node by node; a node that neither side changed is
 *    never read.
 * 2. What a merge brought over is no change of either side, unless somebody changed it besides.
 * 3. Cost follows the revisions of both sides since the oldest place where they differ, and the nodes these changed.
 *
 * Where histories cross, several merge bases have an equal right. The base of a node is then what merging them
 * would make of it, see {@link foldedState}. Nodes that differ between bases are looked at on both sides.
 *
 * Enforcement: test/actors/branch/branch-pair.fuzz.test.ts.
 *
 * @see Supplement 8.2, 8.3
 */
export class BranchPair {
  /** Where both stand. */
  readonly heads: Readonly<Record<Side, Revision>>;
  /** `left` is own, `right` the other. */
  readonly divergence: Divergence;
  readonly #reach: PairReach;
  readonly #bases: readonly Base[];
  /** Looked up once: a merge asks for the nodes and the definitions of both sides, some of them several times. */
  readonly #touchedBy = new Map<Side, Touched>();
  #foldedPaths: FoldedPaths | undefined;

  private constructor(
    reach: PairReach,
    heads: Record<Side, Revision>,
    divergence: Divergence,
    bases: readonly Base[],
  ) {
    this.#reach = reach;
    this.heads = heads;
    this.divergence = divergence;
    this.#bases = bases;
  }

  /**
   * Brings two branches together.
   *
   * @param reader own state; it may be a turn
   * @param other actor of the other branch
   * @returns yields wherever the work may rest
   * @throws {ServiceError} `NOT_FOUND` when there is no such actor; `VALIDATION_FAILED` when they are too far apart
   */
  static *meet(
    state: BranchState,
    reader: TableReader,
    other: string,
    moments: PairMoments = {},
  ): Generator<undefined, BranchPair> {
    const reach = new PairReach(state, reader, other);
    const heads = {
      own: moments.own ?? readBranchHead(reader).head,
      other: moments.other ?? reach.otherHead(),
    };
    const divergence = yield* findDivergence(heads.own, heads.other, reach);
    return new BranchPair(reach, heads, divergence, yield* basesOf(reach, divergence));
  }

  /** Whether they met more than once last: each was merged into the other before it had what the other one made of it. */
  get isCrossed(): boolean {
    return this.#bases.length > 1;
  }

  /** The greatest revision both have; `0-0` when there is none. */
  get commonAncestor(): Revision {
    const [newest] = this.divergence.bases;
    return newest === undefined ? revisionZero : parseRevision(newest.revision);
  }

  /**
   * What a side did to nodes since the base, net, each node once.
   *
   * @returns yields undefined wherever the work may rest
   * @throws {ServiceError} `VALIDATION_FAILED` when it touched more than {@link CHANGED_NODES_MAX}
   */
  *changes(side: Side): Generator<NetChange | undefined, void> {
    const { nodes } = yield* this.#touched(side);
    for (const batch of batches(nodes)) {
      for (let done = 0; done < batch.length; ) {
        const before = this.baseStates(batch.slice(done));
        if (before.some(isLarge)) yield undefined;
        const after = this.states(side, batch.slice(done, done + before.length));
        yield undefined;
        for (const [index, state] of after.entries()) {
          const { workspace, id } = batch[done + index] as NodeAddress;
          yield* prepareComparison([before[index], state]);
          const change = netChange(workspace, id, before[index], state);
          if (change !== undefined) yield change;
        }
        done += after.length;
      }
    }
  }

  /** As {@link BranchPair.changes}, of schema definitions. */
  *definitionChanges(side: Side): Generator<DefinitionNetChange | undefined, void> {
    const { definitions } = yield* this.#touched(side);
    for (const batch of batches(definitions)) {
      const before = this.baseDefinitions(batch);
      const after = this.definitions(side, batch);
      for (let index = 0; index < batch.length; index++) {
        const { kind, name } = batch[index] as DefinitionAddress;
        const change = definitionNetChange(kind, name, before[index], after[index]);
        if (change !== undefined) yield change;
      }
      yield undefined;
    }
  }

  /** Nodes as a side has them, one at least; of large ones fewer than asked for. @param nodes at most `STATES_MAX` */
  states(side: Side, nodes: readonly NodeAddress[]): NodeStates {
    return this.#reach.states(this.heads[side], nodes) ?? nodes.map(() => undefined);
  }

  /** Definitions as a side has them. @param definitions at most `STATES_MAX` */
  definitions(side: Side, definitions: readonly DefinitionAddress[]): DefinitionStates {
    return this.#reach.definitions(this.heads[side], definitions) ?? definitions.map(() => undefined);
  }

  /** As {@link BranchPair.states}, of the nodes as they were when the two last met. */
  baseStates(nodes: readonly NodeAddress[]): NodeStates {
    const states = this.#foldedStates(nodes);
    if (this.#bases.length < 2) return states;
    this.#foldedPaths ??= new FoldedPaths((node) => this.#foldedStates([node])[0]);
    const paths = this.#foldedPaths;
    return states.map(
      (state, index) => state && paths.settled((nodes[index] as NodeAddress).workspace, state),
    );
  }

  /** Definitions as they were when the two last met. @param definitions at most `STATES_MAX` */
  baseDefinitions(definitions: readonly DefinitionAddress[]): DefinitionStates {
    const read = (at: Revision): DefinitionStates | undefined => this.#reach.definitions(at, definitions);
    // A state that did not change since the two bases met gives way to the one that did.
    return this.#folded(definitions, read, (newer, other, met) =>
      sameDefinition(newer, met) ? other : newer,
    );
  }

  #foldedStates(nodes: readonly NodeAddress[]): NodeStates {
    return this.#folded(nodes, (at) => this.#reach.states(at, nodes), foldedState);
  }

  #folded<T>(
    addresses: readonly unknown[],
    read: (at: Revision) => readonly (T | undefined)[] | undefined,
    fold: (newer: T | undefined, other: T | undefined, met: T | undefined) => T | undefined,
  ): readonly (T | undefined)[] {
    const [first, ...rest] = this.#bases;
    let states = (first === undefined ? undefined : read(first.at)) ?? addresses.map(() => undefined);
    for (const { at, meeting } of rest) {
      const others = read(at);
      const met = meeting === undefined ? undefined : read(meeting);
      const known = Math.min(...[states, others, met].map((list) => list?.length ?? addresses.length));
      states = states.slice(0, known).map((state, index) => fold(state, others?.[index], met?.[index]));
    }
    return states;
  }

  *#touched(side: Side): Generator<undefined, Touched> {
    const known = this.#touchedBy.get(side);
    if (known !== undefined) return known;
    const exclusive = side === 'own' ? this.divergence.left : this.divergence.right;
    const touching = [...exclusive, ...this.#bases.flatMap(({ since }) => since)];
    const touched = new Touched();
    for (let start = 0; start < touching.length; start += CHANGED_REVISIONS_MAX) {
      const records = touching.slice(start, start + CHANGED_REVISIONS_MAX);
      for (const [actor, revisions] of this.#reach.makers(records)) {
        let from: ChangesPlace | null = { revision: 0, part: 0 };
        while (from !== null) {
          const part: ChangedPart | undefined = this.#reach.changed(actor, revisions, from);
          if (part === undefined) break;
          touched.add(part);
          from = part.next;
          yield;
        }
      }
    }
    this.#touchedBy.set(side, touched);
    return touched;
  }
}

/** What the revisions of a side touched, each thing once. */
class Touched {
  readonly #nodes = new Map<string, NodeAddress>();
  readonly #definitions = new Map<string, DefinitionAddress>();

  get nodes(): Iterable<NodeAddress> {
    return this.#nodes.values();
  }

  get definitions(): Iterable<DefinitionAddress> {
    return this.#definitions.values();
  }

  add({ nodes, definitions }: ChangedPart): void {
    for (const node of nodes) this.#nodes.set(`${node.workspace}\0${node.id}`, node);
    for (const definition of definitions) {
      this.#definitions.set(`${definition.kind}\0${definition.name}`, definition);
    }
    if (this.#nodes.size > CHANGED_NODES_MAX) {
      throw invalid(`The branches are more than ${CHANGED_NODES_MAX} changed nodes apart`);
    }
  }
}

/**
 * The merge bases whose content can still be read, newest first. One that was deleted together with its branch is
 * replaced by what it was made from.
 */
function* basesOf(reach: PairReach, { bases }: Divergence): Generator<undefined, readonly Base[]> {
  const readable = yield* readableOf(reach, bases);
  const [newest, ...others] = readable.slice(0, BASES_MAX);
  if (newest === undefined) return [];
  const found: Base[] = [{ at: newest, meeting: undefined, since: [] }];
  for (const at of others) {
    const met = yield* findDivergence(newest, at, reach);
    const [meeting] = yield* readableOf(reach, met.bases);
    found.push({ at, meeting, since: [...met.left, ...met.right] });
  }
  return found;
}

function* readableOf(
  reach: PairReach,
  records: readonly GraphRecord[],
): Generator<undefined, readonly Revision[]> {
  const readable: Revision[] = [];
  const seen = new Set<string>();
  const waiting = records.map(({ revision }) => revision).reverse();
  for (let text = waiting.pop(); text !== undefined; text = waiting.pop()) {
    if (seen.has(text)) continue;
    seen.add(text);
    const revision = parseRevision(text);
    if (reach.states(revision, []) !== undefined) {
      readable.push(revision);
      continue;
    }
    const record = reach.record(revision);
    if (record !== undefined) waiting.push(...parentsOf(record).toReversed());
    yield;
  }
  return readable.sort((a, b) => b.ms - a.ms || b.counter - a.counter);
}

/** Everything two branches can find out from each other, and from those whose revisions were merged into them. */
class PairReach implements RevisionSource {
  readonly #state: BranchState;
  readonly #reader: TableReader;
  readonly #other: string;
  /** Records of other branches, by revision. */
  readonly #foreign = new Map<string, GraphRecord>();
  /** Actors that have the content as of a revision; null when nobody does. */
  readonly #holders = new Map<string, string | null>();

  constructor(state: BranchState, reader: TableReader, other: string) {
    this.#state = state;
    this.#reader = reader;
    this.#other = other;
  }

  otherHead(): Revision {
    const standing = this.#ask(this.#other, { type: 'ReadBranchState' }) as BranchStanding;
    return parseRevision(standing.head);
  }

  record(revision: Revision): GraphRecord | undefined {
    const own = readAncestor(this.#reader, revision);
    if (own !== undefined) return own;
    const text = formatRevision(revision);
    if (!this.#foreign.has(text)) {
      const page = this.#ask(this.#other, { type: 'ReadGraph', revision: text }) as readonly GraphRecord[];
      for (const record of page) this.#foreign.set(record.revision, record);
    }
    return this.#foreign.get(text);
  }

  /** Which actors may have made which of some revisions: mostly the two, else the one they came from by a merge. */
  makers(records: readonly GraphRecord[]): ReadonlyMap<string, readonly string[]> {
    const all = records.map(({ revision }) => revision);
    const makers = new Map<string, string[]>();
    for (const { home, revision } of records) {
      if (home === undefined) continue;
      const known = makers.get(home);
      if (known === undefined) makers.set(home, [revision]);
      else known.push(revision);
    }
    return new Map<string, readonly string[]>([...makers, [this.#state.actor, all], [this.#other, all]]);
  }

  /** Undefined when there is no such branch any more. */
  changed(actor: string, revisions: readonly string[], from: ChangesPlace): ChangedPart | undefined {
    if (actor === this.#state.actor) return changedPart(this.#reader, revisions, from);
    return this.#askIfThere(actor, { type: 'ReadChanged', revisions, from }) as ChangedPart | undefined;
  }

  /** Undefined when no branch that is left has the content as of the revision. */
  states(at: Revision, nodes: readonly NodeAddress[]): NodeStates | undefined {
    return this.#held(at, () => statesAt(this.#reader, at, nodes), {
      type: 'ReadStates',
      at: formatRevision(at),
      nodes,
    });
  }

  /** As {@link PairReach.states}. */
  definitions(at: Revision, definitions: readonly DefinitionAddress[]): DefinitionStates | undefined {
    return this.#held(at, () => definitionStatesAt(this.#reader, at, definitions), {
      type: 'ReadDefinitionStates',
      at: formatRevision(at),
      definitions,
    });
  }

  #held<T>(at: Revision, own: () => T | undefined, query: BranchQuery): T | undefined {
    const text = formatRevision(at);
    const holder = this.#holders.get(text);
    if (holder === null) return undefined;
    if (holder !== undefined && holder !== this.#state.actor) return this.#ask(holder, query) as T;
    const found = own();
    if (found !== undefined) {
      this.#holders.set(text, this.#state.actor);
      return found;
    }
    for (const actor of this.#homes(at)) {
      const answer = this.#askIfThere(actor, query) as T | undefined;
      if (answer === undefined) continue;
      this.#holders.set(text, actor);
      return answer;
    }
    this.#holders.set(text, null);
    return undefined;
  }

  /** The other branch, then where a revision came from as far as the two know. */
  #homes(at: Revision): ReadonlySet<string> {
    const homes = new Set([this.#other]);
    const text = formatRevision(at);
    const theirs = this.#ask(this.#other, { type: 'ReadGraph', revision: text }) as readonly GraphRecord[];
    for (const record of [readAncestor(this.#reader, at), theirs[0]]) {
      if (record?.home !== undefined) homes.add(record.home);
    }
    return homes;
  }

  #ask(actor: string, query: BranchQuery): unknown {
    return this.#state.askBranch(actor, query);
  }

  /** Asks a branch that may have been deleted long ago. The other one of the two must not be: nothing could be said. */
  #askIfThere(actor: string, query: BranchQuery): unknown {
    try {
      return this.#ask(actor, query);
    } catch (error) {
      const isGone = error instanceof ServiceError && error.code === 'NOT_FOUND';
      if (isGone && actor !== this.#other) return undefined;
      throw error;
    }
  }
}

function isLarge(state: NodeRecord | undefined): boolean {
  return state?.isLarge === true;
}

function* batches<T>(items: Iterable<T>): Generator<readonly T[], void> {
  let batch: T[] = [];
  for (const item of items) {
    batch.push(item);
    if (batch.length < STATES_MAX) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
