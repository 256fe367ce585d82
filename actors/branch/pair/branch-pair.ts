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
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import {
  type Divergence,
  findDivergence,
  type GraphRecord,
  parentsOf,
  type RevisionSource,
} from '#runtime/tree/revision-graph.ts';
import { restReader } from '#runtime/scan/moment.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
import type { BranchState } from '../branch-state.ts';
import { VirtualBasePaths, virtualBaseState } from './virtual-base.ts';
import type { BranchQuery, BranchState as ShownState } from '../messages.ts';
import {
  type ChangedPart,
  type ChangesPlace,
  type DefinitionAddress,
  HalfRead,
  type NodeAddress,
  type ReadUniqueHolder,
} from '../pair-messages.ts';
import {
  CHANGED_REVISIONS_MAX,
  changedPart,
  type DefinitionStates,
  definitionStatesAt,
  type NodeStates,
  STATES_MAX,
  statesAt,
} from './pair-queries.ts';

/** One of the two branches of a pair: the one that runs the comparison, or the one it is compared with. */
export type Side = 'own' | 'other';

/** Most nodes one side may have changed. */
export const CHANGED_NODES_MAX = 500_000;

/** Most merge bases that are used; if there are more, the newest. */
const BASES_MAX = 8;

/** The revisions at which a pair is compared. Absent: the heads. */
export interface PairMoments {
  readonly own?: Revision | undefined;
  readonly other?: Revision | undefined;
}

/** A merge base, and its common ancestor with the newest one; undefined for the newest, and if they have none. */
interface Base {
  readonly at: Revision;
  readonly meeting: Revision | undefined;
  /** The further revisions of both: a merge may have decided about their changes without writing anything. */
  readonly since: readonly GraphRecord[];
}

/**
 * Two branches of a repository, each at one revision: their common ancestor and the changes of each since. Compare,
 * diff and merge are built on it.
 *
 * It reads only immutable data: records of revisions, and states as of a revision. So writes to the other branch may
 * continue while this one reads, even over several turns of the event loop.
 *
 * Invariants:
 * 1. Both sides' changes are net changes against the same base, node by node; a node that neither side changed is
 *    never read.
 * 2. A change that a merge transferred is no change of either side, unless a side changed the node further.
 * 3. The cost grows with the revisions of both sides since their oldest difference, and with the nodes these changed.
 *
 * If histories cross, there are several equal merge bases. The base of a node is then the result of merging them, see
 * {@link virtualBaseState}. Nodes that differ between bases are examined on both sides.
 *
 * Enforcement: test/actors/branch/pair/branch-pair.fuzz.test.ts.
 *
 * @see docs/interface/branches.md#comparing-branches; docs/decisions/0009-net-changes.md
 */
export class BranchPair {
  /** The compared revision of each side. */
  readonly heads: Readonly<Record<Side, Revision>>;
  /** `left` is own, `right` the other. */
  readonly divergence: Divergence;
  readonly #sources: PairSources;
  readonly #bases: readonly Base[];
  /** Cached: a merge reads the nodes and the definitions of both sides, some of them several times. */
  readonly #touchedBy = new Map<Side, Touched>();
  #virtualPaths: VirtualBasePaths | undefined;

  private constructor(
    sources: PairSources,
    heads: Record<Side, Revision>,
    divergence: Divergence,
    bases: readonly Base[],
  ) {
    this.#sources = sources;
    this.heads = heads;
    this.divergence = divergence;
    this.#bases = bases;
  }

  /**
   * Compares the histories of two branches.
   *
   * @param reader state of this branch; may be a turn
   * @param other actor of the other branch
   * @returns yields where the work may pause
   * @throws {ServiceError} `NOT_FOUND` when there is no such actor; `VALIDATION_FAILED` when they have diverged too far
   */
  static *of(
    state: BranchState,
    reader: TableReader,
    other: string,
    moments: PairMoments = {},
  ): Generator<undefined, BranchPair> {
    const sources = new PairSources(state, reader, other);
    const heads = {
      own: moments.own ?? readBranchHead(reader).head,
      other: moments.other ?? sources.otherHead(),
    };
    const divergence = yield* findDivergence(heads.own, heads.other, sources);
    return new BranchPair(sources, heads, divergence, yield* basesOf(sources, divergence));
  }

  /**
   * Whether there is more than one merge base: each was merged into the other before it had the other's merge commit.
   */
  get isCrossed(): boolean {
    return this.#bases.length > 1;
  }

  /** The greatest common revision; `0-0` when there is none. */
  get commonAncestor(): Revision {
    const [newest] = this.divergence.bases;
    return newest === undefined ? revisionZero : parseRevision(newest.revision);
  }

  /**
   * The net changes of a side to nodes since the base, each node once.
   *
   * @returns yields undefined where the work may pause
   * @throws {ServiceError} `VALIDATION_FAILED` when it changed more than {@link CHANGED_NODES_MAX}
   */
  *changes(side: Side): Generator<NetChange | undefined, void> {
    const { nodes } = yield* this.#touched(side);
    yield* this.changesOf(side, nodes);
  }

  /** As {@link BranchPair.changes}, for the nodes of some workspaces. Nodes of others are not read. */
  *changesWithin(
    side: Side,
    isWithin: (workspace: string) => boolean,
  ): Generator<NetChange | undefined, void> {
    const { nodes } = yield* this.#touched(side);
    const within: NodeAddress[] = [];
    for (const address of nodes) {
      if (isWithin(address.workspace)) within.push(address);
    }
    yield* this.changesOf(side, within);
  }

  /** As {@link BranchPair.changes}, for some nodes, in their order; omits nodes that the side did not change. */
  *changesOf(side: Side, nodes: Iterable<NodeAddress>): Generator<NetChange | undefined, void> {
    for (const batch of batches(nodes)) {
      for (let done = 0; done < batch.length; ) {
        const before = yield* this.baseStates(batch.slice(done));
        if (before.some(isLarge)) yield undefined;
        const after = yield* this.states(side, batch.slice(done, done + before.length));
        yield undefined;
        for (const [index, state] of after.entries()) {
          const { workspace, id } = batch[done + index] as NodeAddress;
          yield* prepareComparison([before[index], state]);
          const change = netChange(workspace, id, before[index], state);
          if (change !== undefined) yield change;
          yield undefined;
        }
        done += after.length;
      }
    }
  }

  /** As {@link BranchPair.changes}, for schema definitions. */
  *definitionChanges(side: Side): Generator<DefinitionNetChange | undefined, void> {
    const { definitions } = yield* this.#touched(side);
    yield* this.definitionChangesOf(side, definitions);
  }

  /** As {@link BranchPair.changesOf}, for schema definitions. */
  *definitionChangesOf(
    side: Side,
    definitions: Iterable<DefinitionAddress>,
  ): Generator<DefinitionNetChange | undefined, void> {
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

  /**
   * States of nodes on a side; at least one, but fewer than requested if nodes are large. Yields where the work may
   * pause, which it does only for large nodes. @param nodes at most `STATES_MAX`
   */
  *states(side: Side, nodes: readonly NodeAddress[]): Generator<undefined, NodeStates> {
    return (yield* this.#sources.states(this.heads[side], nodes)) ?? nodes.map(() => undefined);
  }

  /** Definitions on a side. @param definitions at most `STATES_MAX` */
  definitions(side: Side, definitions: readonly DefinitionAddress[]): DefinitionStates {
    return this.#sources.definitions(this.heads[side], definitions) ?? definitions.map(() => undefined);
  }

  /** The node at the head of the other branch that has a value of a property that is unique there. */
  otherUniqueHolder(place: Omit<ReadUniqueHolder, 'type'>): string | undefined {
    return this.#sources.otherUniqueHolder(place);
  }

  /**
   * As {@link BranchPair.states}, in the common base. Yields where the work may pause, which it does only for large
   * nodes.
   */
  *baseStates(nodes: readonly NodeAddress[]): Generator<undefined, NodeStates> {
    const states = yield* this.#virtualStates(nodes);
    if (this.#bases.length < 2) return states;
    this.#virtualPaths ??= new VirtualBasePaths((node) => this.#virtualState(node));
    const settled: (NodeRecord | undefined)[] = [];
    for (const [index, state] of states.entries()) {
      const { workspace } = nodes[index] as NodeAddress;
      settled.push(state && (yield* this.#virtualPaths.settled(workspace, state)));
    }
    return settled;
  }

  /** Definitions in the common base. @param definitions at most `STATES_MAX` */
  baseDefinitions(definitions: readonly DefinitionAddress[]): DefinitionStates {
    const read = (at: Revision): DefinitionStates | undefined => this.#sources.definitions(at, definitions);
    // If only one of two bases changed a definition since their common ancestor, its state is used.
    const [first, ...rest] = this.#bases;
    let states = (first === undefined ? undefined : read(first.at)) ?? definitions.map(() => undefined);
    for (const { at, meeting } of rest) {
      const others = read(at);
      const met = meeting === undefined ? undefined : read(meeting);
      states = states.map((newer, index) => (sameDefinition(newer, met?.[index]) ? others?.[index] : newer));
    }
    return states;
  }

  /** At least one, but fewer than requested if nodes are large. */
  *#virtualStates(nodes: readonly NodeAddress[]): Generator<undefined, NodeStates> {
    const [first, ...rest] = this.#bases;
    let states: NodeStates = yield* this.#statesAt(first?.at, nodes);
    for (const { at, meeting } of rest) {
      const others = yield* this.#statesAt(at, nodes.slice(0, states.length));
      const met = yield* this.#statesAt(meeting, nodes.slice(0, others.length));
      const virtual: (NodeRecord | undefined)[] = [];
      for (const [index, state] of met.entries())
        virtual.push(yield* virtualBaseState(states[index], others[index], state));
      states = virtual;
    }
    return states;
  }

  *#virtualState(node: NodeAddress): Generator<undefined, NodeRecord | undefined> {
    return (yield* this.#virtualStates([node]))[0];
  }

  /** As {@link states}, at a revision; absent nodes if there is no revision. */
  *#statesAt(at: Revision | undefined, nodes: readonly NodeAddress[]): Generator<undefined, NodeStates> {
    const states = at === undefined ? undefined : yield* this.#sources.states(at, nodes);
    if (states?.some(isLarge) === true) yield;
    return states ?? nodes.map(() => undefined);
  }

  *#touched(side: Side): Generator<undefined, Touched> {
    const known = this.#touchedBy.get(side);
    if (known !== undefined) return known;
    const exclusive = side === 'own' ? this.divergence.left : this.divergence.right;
    const touching = [...exclusive, ...this.#bases.flatMap(({ since }) => since)];
    const touched = new Touched();
    for (let start = 0; start < touching.length; start += CHANGED_REVISIONS_MAX) {
      const records = touching.slice(start, start + CHANGED_REVISIONS_MAX);
      for (const [actor, revisions] of this.#sources.makers(records)) {
        let from: ChangesPlace | null = { revision: 0, part: 0 };
        while (from !== null) {
          const part: ChangedPart | undefined = this.#sources.changed(actor, revisions, from);
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

/** The nodes and definitions that the revisions of a side touched, each once. */
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
 * The merge bases whose content can still be read, newest first. A base that was deleted together with its branch is
 * replaced by its parents.
 */
function* basesOf(sources: PairSources, { bases }: Divergence): Generator<undefined, readonly Base[]> {
  const readable = yield* readableOf(sources, bases);
  const [newest, ...others] = readable.slice(0, BASES_MAX);
  if (newest === undefined) return [];
  const found: Base[] = [{ at: newest, meeting: undefined, since: [] }];
  for (const at of others) {
    const met = yield* findDivergence(newest, at, sources);
    const [meeting] = yield* readableOf(sources, met.bases);
    found.push({ at, meeting, since: [...met.left, ...met.right] });
  }
  return found;
}

function* readableOf(
  sources: PairSources,
  records: readonly GraphRecord[],
): Generator<undefined, readonly Revision[]> {
  const readable: Revision[] = [];
  const seen = new Set<string>();
  const waiting = records.map(({ revision }) => revision).reverse();
  for (let text = waiting.pop(); text !== undefined; text = waiting.pop()) {
    if (seen.has(text)) continue;
    seen.add(text);
    const revision = parseRevision(text);
    if (sources.isReadable(revision)) {
      readable.push(revision);
      continue;
    }
    const record = sources.record(revision);
    if (record !== undefined) waiting.push(...parentsOf(record).toReversed());
    yield;
  }
  return readable.sort((a, b) => b.ms - a.ms || b.counter - a.counter);
}

/** Reads from the two branches, and from branches whose revisions were merged into them. */
class PairSources implements RevisionSource {
  readonly #state: BranchState;
  readonly #reader: TableReader;
  readonly #other: string;
  /** Records of other branches, by revision. */
  readonly #foreign = new Map<string, GraphRecord>();
  /** Actors that have the content as of a revision; null when none does. */
  readonly #holders = new Map<string, string | null>();

  constructor(state: BranchState, reader: TableReader, other: string) {
    this.#state = state;
    this.#reader = reader;
    this.#other = other;
  }

  otherHead(): Revision {
    const shown = this.#ask(this.#other, { type: 'ReadBranchState' }) as ShownState;
    return parseRevision(shown.head);
  }

  otherUniqueHolder(place: Omit<ReadUniqueHolder, 'type'>): string | undefined {
    return this.#ask(this.#other, { type: 'ReadUniqueHolder', ...place }) as string | undefined;
  }

  record(revision: Revision): GraphRecord | undefined {
    const own = readAncestor(this.#reader, revision);
    this.#rest();
    if (own !== undefined) return own;
    const text = formatRevision(revision);
    if (!this.#foreign.has(text)) {
      const page = this.#ask(this.#other, { type: 'ReadGraph', revision: text }) as readonly GraphRecord[];
      for (const record of page) this.#foreign.set(record.revision, record);
    }
    return this.#foreign.get(text);
  }

  /** The actors that may have made some revisions: mostly the two, else the one that a merge took them from. */
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

  /** Undefined when the branch no longer exists. */
  changed(actor: string, revisions: readonly string[], from: ChangesPlace): ChangedPart | undefined {
    if (actor === this.#state.actor) {
      const part = changedPart(this.#reader, revisions, from);
      this.#rest();
      return part;
    }
    return this.#askIfThere(actor, { type: 'ReadChanged', revisions, from }) as ChangedPart | undefined;
  }

  /** Whether an existing branch has the content as of a revision. */
  isReadable(at: Revision): boolean {
    return this.#read(at, [], undefined) !== undefined;
  }

  /** Undefined when no existing branch has the content as of the revision. Yields only for large nodes. */
  *states(at: Revision, nodes: readonly NodeAddress[]): Generator<undefined, NodeStates | undefined> {
    let half: HalfRead | undefined;
    for (;;) {
      const found = this.#read(at, nodes, half);
      if (!(found instanceof HalfRead)) return found;
      half = found;
      yield;
    }
  }

  #read(
    at: Revision,
    nodes: readonly NodeAddress[],
    half: HalfRead | undefined,
  ): NodeStates | HalfRead | undefined {
    const query = { type: 'ReadStates', at: formatRevision(at), nodes, half } as const;
    return this.#held(at, () => statesAt(this.#reader, at, nodes, half), query);
  }

  /** As {@link PairSources.states}. */
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
    this.#rest();
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

  /** The other branch, then the origin of a revision as far as the two know it. */
  #homes(at: Revision): ReadonlySet<string> {
    const homes = new Set([this.#other]);
    const text = formatRevision(at);
    const theirs = this.#ask(this.#other, { type: 'ReadGraph', revision: text }) as readonly GraphRecord[];
    for (const record of [readAncestor(this.#reader, at), theirs[0]]) {
      if (record?.home !== undefined) homes.add(record.home);
    }
    this.#rest();
    return homes;
  }

  /** What it read is the same in each snapshot; a node of which a half was read is begun again if it is stored anew. */
  #rest(): void {
    restReader(this.#reader);
  }

  #ask(actor: string, query: BranchQuery): unknown {
    return this.#state.askBranch(actor, query);
  }

  /**
   * Queries a branch that may have been deleted. The other branch of the pair must exist: without it there is no
   * result.
   */
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
