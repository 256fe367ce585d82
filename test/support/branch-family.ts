import { branchActor } from '#actors/branch/branch-actor.ts';
import { BranchPair, type Side } from '#actors/branch/pair/branch-pair.ts';
import { BranchState } from '#actors/branch/branch-state.ts';
import { lastOrderKey } from '#actors/branch/nodes/create-node.ts';
import { EditScope } from '#actors/branch/edit-scope.ts';
import { store } from '#actors/branch/schema/definitions.ts';
import { settle } from '#actors/branch/long-answer.ts';
import type {
  BranchCommand,
  BranchComparison,
  BranchQuery,
  BranchState as PublishedPosition,
  TextStream,
  Written,
} from '#actors/branch/messages.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import type { ActorContext, ActorKind, Caller } from '#runtime/commit/behaviour.ts';
import { parseExactJsonInSteps } from '#runtime/base/text/exact-json.ts';
import { JsonPieces } from '#runtime/content/values/json-pieces.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { FeedConsumer } from '#runtime/feed/consumer.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { writeMergedRevisions } from '#runtime/tree/ancestry-store.ts';
import type { NetChange } from '#runtime/tree/net-change.ts';
import type { DefinitionChange } from '#runtime/tree/revision-record.ts';
import { writeRevision } from '#runtime/tree/revision-store.ts';
import { findDamage } from './branch-checker.ts';
import { callers, HostFixture } from './host-fixture.ts';
import { findOrphanedRows } from './orphaned-rows.ts';
import { chunkText } from './chunk-text.ts';

/** The workspace of a family; it takes everything. */
export const WORKSPACE = 'content';

/** What one place of an entry was and is; a value that is too large has its size only. */
export interface DiffChange {
  readonly path: string;
  readonly before?: JsonValue;
  readonly after?: JsonValue;
  readonly before_bytes?: number;
  readonly after_bytes?: number;
}

/** What an entry has besides where it was asked for. */
interface DetailedEntry {
  readonly changes?: readonly DiffChange[];
  readonly truncated?: true;
}

/** An entry of a difference. */
export interface DiffEntry extends DetailedEntry {
  readonly node_id: string;
  readonly workspace: string;
  readonly path: string;
  readonly operation: string;
}

/** An entry of a difference that is about a schema definition. */
export interface DefinitionDiffEntry extends DetailedEntry {
  readonly node_id: string;
  readonly workspace: null;
  readonly path: string;
  readonly operation: string;
  readonly kind: string;
  readonly name: string;
}

/** What a difference answers. */
export interface Difference {
  readonly common_ancestor: string;
  readonly added: readonly DiffEntry[];
  readonly modified: readonly DiffEntry[];
  readonly deleted: readonly DiffEntry[];
  readonly definitions: readonly DefinitionDiffEntry[];
  readonly truncated?: boolean;
}

/** Brings what another branch changed over, node by node; where both changed a node, one side wins. */
interface BringOver {
  readonly type: 'BringOver';
  readonly source: string;
  readonly winner: 'own' | 'other';
  /** Whether definitions are brought over as well, unchecked. */
  readonly withDefinitions: boolean;
}

/** Asks what each side of a pair did. Answer: {@link PairChanges}. */
interface ReadPair {
  readonly type: 'ReadPair';
  readonly other: string;
  /** The other branch is deleted after it was asked so often. */
  readonly asksMax?: number;
}

/** Asks for everything about the tables that does not agree. Answer: one sentence each. */
interface ReadDamage {
  readonly type: 'ReadDamage';
}

/** Asks for the rows that belong to the source of the branch alone. Answer: {@link findOrphanedRows}. */
interface ReadOrphanedRows {
  readonly type: 'ReadOrphanedRows';
}

/** What one side of a pair did, by id and by name. */
export interface SideChanges {
  readonly nodes: Readonly<
    Record<string, Pick<NetChange, 'operation' | 'isNode' | 'locales' | 'isReordered'>>
  >;
  readonly definitions: Readonly<Record<string, string>>;
  /** Most changed nodes between two pauses. */
  readonly nodesAtOnce: number;
}

/** What both sides of a pair did. */
export type PairChanges = Readonly<Record<Side, SideChanges>>;

/** With few nodes most indexes are pending, as in large branches. */
const limits = { commitNodesMax: 100_000, indexedAtOnceMax: 1 };
const repository = actorId('default', 'site~1', 'repository');

/** Branches of one repository in a real host. */
export class BranchFamily {
  readonly fixture: HostFixture;

  private constructor(fixture: HostFixture) {
    this.fixture = fixture;
  }

  /**
   * With branch `main`, the built-in types and {@link WORKSPACE}.
   *
   * @param watched makes of the kind of the branches one that observes them
   * @param consumers of the feeds of the branches
   */
  static async open(
    watched: (kind: ActorKind) => ActorKind = (kind) => kind,
    consumers: readonly FeedConsumer[] = [],
  ): Promise<BranchFamily> {
    const fixture = await HostFixture.open([repositoryActor, watched(mergingBranch(consumers))]);
    const family = new BranchFamily(fixture);
    await fixture.host.create(repository);
    await fixture.command(repository, {
      type: 'InitializeRepository',
      repositoryId: 'site',
      description: null,
      defaultBranch: 'main',
      defaultBranchUid: '1',
      defaultLanguage: 'en',
      supportedLanguages: ['en', 'de', 'fr', 'it', 'es', 'pt'],
    } as { type: string });
    await family.putWorkspace(WORKSPACE);
    await family.createEmpty('main');
    await family.command('main', { type: 'InstallBuiltIns' });
    return family;
  }

  close(): Promise<void> {
    return this.fixture.close();
  }

  /** Actor of a branch. */
  actor(branch: string): string {
    return actorId('default', 'site~1', `${branch}~1`, 'branch');
  }

  /** Makes a workspace, or changes one. @param definition default: it takes everything */
  async putWorkspace(
    name: string,
    definition: object = { allowed_node_types: [], allowed_root_node_types: [] },
  ): Promise<void> {
    await this.fixture.command(repository, { type: 'PutWorkspace', name, definition } as { type: string });
  }

  /** Makes a branch without content. */
  async createEmpty(branch: string): Promise<void> {
    await this.fixture.host.create(this.actor(branch));
  }

  /** Makes a branch of another one, at its head or at an earlier revision. */
  async fork(branch: string, source: string, revision?: string): Promise<void> {
    await this.fixture.host.fork(this.actor(source), this.actor(branch));
    const at = revision === undefined ? {} : { revision };
    await this.command(branch, { type: 'BecomeFork', sourceName: source, ...at });
  }

  /** Removes a branch from disk. */
  remove(branch: string): Promise<void> {
    return this.fixture.host.destroyUnder(this.actor(branch).replace(/\/branch$/, ''));
  }

  command<Result = Written>(branch: string, command: BranchCommand | BringOver): Promise<Result> {
    return this.fixture.command<Result>(this.actor(branch), command);
  }

  async query<Answer>(
    branch: string,
    query: BranchQuery | ReadPair | ReadDamage | ReadOrphanedRows,
    caller: Caller = callers.admin,
  ): Promise<Answer> {
    const answer: unknown = await this.fixture.query(this.actor(branch), query, caller);
    if (answer instanceof JsonText) return answer.parse() as Answer;
    if (answer instanceof JsonPieces) return atOnce(parseExactJsonInSteps(answer.pieces.join(''))) as Answer;
    if (typeof answer !== 'object' || answer === null || !('chunks' in answer)) return answer as Answer;
    let text = '';
    for await (const chunk of (answer as TextStream).chunks) text += chunkText(chunk);
    return JSON.parse(text) as Answer;
  }

  async head(branch: string): Promise<string> {
    return (await this.query<PublishedPosition>(branch, { type: 'ReadBranchState' })).head;
  }

  compare(branch: string, base: string): Promise<BranchComparison> {
    return this.query(branch, { type: 'CompareBranch', base: this.actor(base) });
  }

  diff(branch: string, base: string, caller?: Caller): Promise<Difference> {
    return this.query(branch, { type: 'DiffBranch', base: this.actor(base) }, caller);
  }

  /** As {@link BranchFamily.diff}, with the changes of each entry. */
  detailedDiff(branch: string, base: string, caller?: Caller): Promise<Difference> {
    const query = { type: 'DiffBranch', base: this.actor(base), detail: 'properties' } as const;
    return this.query(branch, query, caller);
  }

  /**
   * What both sides did since they met, as a merge would see it.
   *
   * @param asksMax how often the other branch answers before it is deleted
   */
  pair(own: string, other: string, asksMax = Number.POSITIVE_INFINITY): Promise<PairChanges> {
    return this.query(own, { type: 'ReadPair', other: this.actor(other), asksMax });
  }

  /** What does not agree in the tables of a branch. */
  damage(branch: string): Promise<readonly string[]> {
    return this.query(branch, { type: 'ReadDamage' });
  }

  /** Rows of a branch that nobody sees, because its source wrote them after the fork. */
  orphanedRows(branch: string): Promise<readonly string[]> {
    return this.query(branch, { type: 'ReadOrphanedRows' }, callers.engine);
  }

  /** Writes a merge commit. @returns null when the source has nothing the target lacks */
  async bringOver(
    target: string,
    source: string,
    winner: 'own' | 'other' = 'other',
    withDefinitions = false,
  ): Promise<string | null> {
    const which = { source: this.actor(source), winner, withDefinitions };
    const written = await this.command(target, { type: 'BringOver', ...which });
    return written.revision;
  }

  /** Creates a folder. @returns the revision */
  async create(branch: string, path: string, title = '', id?: string): Promise<string> {
    const slash = path.lastIndexOf('/');
    const written = await this.command(branch, {
      type: 'CreateNode',
      workspace: WORKSPACE,
      parentPath: path.slice(0, slash) || '/',
      node: {
        name: path.slice(slash + 1),
        nodeType: 'svc:Folder',
        properties: { title },
        ...(id === undefined ? {} : { id }),
      },
      deep: false,
    });
    return written.revision as string;
  }

  /** Gives a folder another title. */
  update(branch: string, path: string, title: string): Promise<Written> {
    const place = { path };
    return this.command(branch, { type: 'UpdateNode', workspace: WORKSPACE, place, properties: { title } });
  }

  delete(branch: string, path: string): Promise<Written> {
    return this.command(branch, { type: 'DeleteNode', workspace: WORKSPACE, place: { path } });
  }

  rename(branch: string, path: string, newName: string): Promise<Written> {
    return this.command(branch, { type: 'RenameNode', workspace: WORKSPACE, place: { path }, newName });
  }
}

/** The branch of the product with one command more, which makes merge commits for tests of what follows them. */
function mergingBranch(consumers: readonly FeedConsumer[]): ActorKind {
  const kind = branchActor(limits, consumers);
  const create: ActorKind['create'] = (inContext) => {
    const inner = kind.create(inContext);
    const state = new BranchState(inContext, limits);
    return {
      execute(command: BranchCommand | BringOver, turn) {
        if (command.type === 'BringOver') return bringOver(new EditScope(turn, state), command);
        return inner.execute(command as never, turn);
      },
      query(query: BranchQuery | ReadPair | ReadDamage | ReadOrphanedRows, context) {
        if (query.type === 'ReadDamage') return findDamage(context.view);
        if (query.type === 'ReadOrphanedRows') return findOrphanedRows(context.view);
        if (query.type !== 'ReadPair') return inner.query(query as never, context);
        const seen = new BranchState(answering(inContext, query.other, query.asksMax), limits);
        return settle(context, (reader) => pairChanges(seen, reader, query.other));
      },
      shorten: (result, wholeMax) => inner.shorten?.(result, wholeMax),
      recall: inner.recall?.bind(inner) as NonNullable<typeof inner.recall>,
      forget: () => {
        state.commandSchemas.forget();
        inner.forget?.();
      },
    };
  };
  return { ...kind, create };
}

/** Surroundings in which an actor answers so often, and then is not there any more. */
function answering(context: ActorContext, actor: string, asksMax = Number.POSITIVE_INFINITY): ActorContext {
  let asks = 0;
  return {
    ...context,
    ask: (asked, query) => {
      if (asked === actor) asks += 1;
      if (asks > asksMax) throw new ServiceError('NOT_FOUND');
      return context.ask(asked, query);
    },
  };
}

function* pairChanges(
  state: BranchState,
  reader: TableReader,
  other: string,
): Generator<undefined, PairChanges> {
  const pair = yield* BranchPair.of(state, reader, other);
  return { own: sideChanges(pair, 'own'), other: sideChanges(pair, 'other') };
}

function sideChanges(pair: BranchPair, side: Side): SideChanges {
  const nodes: Record<string, SideChanges['nodes'][string]> = {};
  let nodesAtOnce = 0;
  let sincePause = 0;
  for (const change of pair.changes(side)) {
    sincePause = change === undefined ? 0 : sincePause + 1;
    nodesAtOnce = Math.max(nodesAtOnce, sincePause);
    if (change === undefined) continue;
    const { operation, isNode, locales, isReordered } = change;
    nodes[change.nodeId] = { operation, isNode, locales, isReordered };
  }
  const definitions: Record<string, string> = {};
  for (const change of pair.definitionChanges(side)) {
    if (change !== undefined) definitions[change.name] = change.operation;
  }
  return { nodes, definitions, nodesAtOnce };
}

function* bringOver(edit: EditScope, command: BringOver): Generator<undefined, Written> {
  const { source, winner, withDefinitions } = command;
  const pair = yield* BranchPair.of(edit.state, edit.turn, source);
  if (pair.divergence.right.length === 0) return { revision: null };
  const own = new Set<string>();
  for (const change of pair.changes('own')) if (isContent(change)) own.add(change.nodeId);
  for (const change of pair.changes('other')) {
    if (isContent(change) && (winner === 'other' || !own.has(change.nodeId))) bringNode(edit, change);
  }
  const definitions: DefinitionChange[] = [];
  for (const change of withDefinitions ? pair.definitionChanges('other') : []) {
    if (change?.after === undefined) continue;
    const { after, kind, name } = change;
    store(edit, kind, after.definition, 'modified');
    definitions.push({ kind, name, operation: 'modified' });
  }
  const mergeParent = formatRevision(pair.heads.other);
  const facts = { actor: 'ada', message: 'merge', isSystem: false, mergeParent };
  writeRevision(edit.turn, facts, edit.writer.changes, definitions);
  yield* writeMergedRevisions(edit.turn, pair.divergence.right, source);
  return { revision: edit.revision };
}

/** Order is not brought over: a node that comes in is placed last. */
function isContent(change: NetChange | undefined): change is NetChange {
  return change !== undefined && change.operation !== 'reordered';
}

function bringNode(edit: EditScope, { workspace, nodeId, after }: NetChange): void {
  const present = edit.head.byId(workspace, nodeId);
  if (after === undefined) {
    if (present !== undefined) edit.writer.remove(workspace, present);
    return;
  }
  const { parentId } = after.header;
  const orderKey = present?.header.orderKey ?? lastOrderKey(edit, workspace, parentId);
  const operation = present === undefined ? 'added' : 'modified';
  const next = atOnce(edit.nextInSteps(after, { orderKey, operation }));
  if (present === undefined) edit.writer.add(workspace, next);
  else edit.writer.replace(workspace, present, next);
}
