import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { branchActor } from '#actors/branch/branch-actor.ts';
import type { BranchCommand, BranchQuery, TextStream } from '#actors/branch/messages.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { type ActorKind, FIRST_OWN_TABLE, type QueryContext } from '#runtime/commit/behaviour.ts';
import { branchTableNames } from '#runtime/shard/key-layout.ts';
import type { JsonText } from '#runtime/content/values/json-text.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import type { StoredValue } from '#runtime/shard/large-value.ts';
import type { Range, Row, ShardSnapshot, TableReader } from '#runtime/shard/shard.ts';
import { HostFixture } from '#test/support/host-fixture.ts';
import { textOfChunks } from '#test/support/chunk-text.ts';

/** What reading cost, by kind of access and table. */
type Cost = Record<string, number>;

/** Counts every look-up, every seek of a range and every row walked over. */
class CountingReader implements TableReader {
  readonly #reader: TableReader;
  readonly #actor: string;
  readonly #cost: () => Cost;

  constructor(reader: TableReader, actor: string, cost: () => Cost) {
    this.#reader = reader;
    this.#actor = actor;
    this.#cost = cost;
  }

  get generation(): number {
    return this.#reader.generation ?? Number.NaN;
  }

  get(table: number, key: string): Uint8Array | undefined {
    this.#count('look-up', table);
    return this.#reader.get(table, key);
  }

  peek(table: number, key: string): StoredValue | undefined {
    this.#count('look-up', table);
    return this.#reader.peek === undefined ? this.#reader.get(table, key) : this.#reader.peek(table, key);
  }

  *range(table: number, range: Range): Iterable<Row> {
    this.#count('seek', table);
    for (const row of this.#reader.range(table, range)) {
      this.#count('row', table);
      yield row;
    }
  }

  #count(access: string, table: number): void {
    const name = branchTableNames[table - FIRST_OWN_TABLE] ?? `table ${table}`;
    const key = `${access} ${this.#actor === 'branch' ? name : `of the ${this.#actor}`}`;
    const cost = this.#cost();
    cost[key] = (cost[key] ?? 0) + 1;
  }
}

/** A kind whose queries are counted. They never rest, so that the count does not hang on the time of day. */
function counted(kind: ActorKind, cost: () => Cost): ActorKind {
  // One for each view, as the view is one: what is remembered of it stays remembered.
  const readers = new WeakMap<TableReader, CountingReader>();
  const countedView = (view: TableReader): CountingReader => {
    const reader = readers.get(view) ?? new CountingReader(view, kind.kind, cost);
    readers.set(view, reader);
    return reader;
  };
  return {
    ...kind,
    create(context) {
      const actor = kind.create(context);
      return {
        execute: (command: never, turn) => actor.execute(command, turn),
        query: (query: never, queryContext) => actor.query(query, countedContext(queryContext, countedView)),
        forget: () => actor.forget?.(),
      };
    },
  };
}

function countedContext(
  context: QueryContext,
  countedView: (view: TableReader) => CountingReader,
): QueryContext {
  return {
    caller: context.caller,
    budget: context.budget,
    clock: context.clock,
    get view() {
      return countedView(context.view);
    },
    pin(): ShardSnapshot {
      const snapshot = context.pin();
      const counting = countedView(snapshot);
      return {
        get: (table, key) => counting.get(table, key),
        range: (table, range) => counting.range(table, range),
        close: () => snapshot.close(),
      };
    },
    stay: () => context.stay(),
    pause: () => {
      rests += 1;
      return undefined;
    },
    rest: () => context.rest(),
    mustPause: () => {
      rests += 1;
      return false;
    },
    takeRoom: (bytes) => context.takeRoom(bytes),
    giveRoom: (bytes) => context.giveRoom(bytes),
    usePolicy: (policy) => context.usePolicy(policy),
  };
}

interface TextAnswer {
  readonly text: string;
}

/** How often reads asked whether they have to rest. */
let rests = 0;

/** How often everything about the node is changed. */
const CHANGES = 150;

describe('what a read at the head costs', () => {
  const workspace = 'content';
  const branch = actorId('default', 'site~1', 'main~1', 'branch');
  const repository = actorId('default', 'site~1', 'repository');
  const place = { path: '/top/node' };
  let cost: Cost = {};
  let fixture: HostFixture;
  let queries: Readonly<Record<string, BranchQuery>>;
  let before: Record<string, Cost>;
  let after: Record<string, Cost>;

  const send = (command: BranchCommand) => fixture.command<{ nodeId: string }>(branch, command);
  const create = (path: string, nodeType: string) => {
    const slash = path.lastIndexOf('/');
    const node = { name: path.slice(slash + 1), nodeType, properties: { title: 'T', code: 'c' } };
    return send({
      type: 'CreateNode',
      workspace,
      parentPath: path.slice(0, slash) || '/',
      node,
      deep: false,
    });
  };

  /** Of every query after a start: its first run, which loads the schema, and its second. */
  async function measure(): Promise<Record<string, Cost>> {
    await fixture.reopen();
    const costs: Record<string, Cost> = {};
    for (const run of ['first', 'second']) {
      for (const [name, query] of Object.entries(queries)) {
        cost = {};
        const answer = await fixture.query<unknown>(branch, query);
        if (typeof answer === 'object' && answer !== null && 'chunks' in answer) {
          for await (const _chunk of (answer as TextStream).chunks);
        }
        costs[`${run} ${name}`] = cost;
      }
    }
    cost = {};
    return costs;
  }

  beforeAll(async () => {
    const kinds = [repositoryActor, branchActor({ commitNodesMax: 1_000 })];
    fixture = await HostFixture.open(kinds.map((kind) => counted(kind, () => cost)));
    await fixture.host.create(repository);
    await fixture.host.create(branch);
    await fixture.command(repository, {
      type: 'InitializeRepository',
      repositoryId: 'site',
      description: null,
      defaultBranch: 'main',
      defaultBranchUid: '1',
      defaultLanguage: 'en',
      supportedLanguages: ['en', 'de'],
    } as { type: string });
    const anything = { allowed_node_types: [], allowed_root_node_types: [] };
    await fixture.command(repository, { type: 'PutWorkspace', name: workspace, definition: anything } as {
      type: string;
    });
    await send({ type: 'InstallBuiltIns' });
    const properties = [{ name: 'code', type: 'String', index: ['Property'] }];
    await send({ type: 'PutDefinition', kind: 'node_type', definition: { name: 'test:Leaf', properties } });
    await create('/top', 'svc:Folder');
    const { nodeId } = await create('/top/node', 'test:Leaf');
    for (const path of ['/top/node/below', '/top/other', '/aside']) await create(path, 'test:Leaf');
    const relation = {
      targetWorkspace: workspace,
      targetPath: '/aside',
      relationType: 'cites',
      weight: null,
    };
    await send({ type: 'AddRelation', workspace, place, ...relation });
    await send({ type: 'TranslateNode', workspace, place, locale: 'de', translations: { '/title': 'D' } });
    const listing = { workspace, place: { path: '/top' }, scope: 'here' };
    queries = {
      'by path': { type: 'ReadNode', workspace, place },
      'without relations': { type: 'ReadNode', workspace, place: { path: '/aside' } },
      'by id': { type: 'ReadNode', workspace, place: { id: nodeId } },
      'in a locale': { type: 'ReadNode', workspace, place, lang: 'de' },
      property: { type: 'ReadProperty', workspace, place, property: ['title'] },
      children: { type: 'ListChildren', ...listing },
      page: { type: 'ListChildren', ...listing, limit: 2 },
      tree: { type: 'ReadTree', workspace, place: { path: '/' }, levels: 5, form: 'map' },
      'of a type': { type: 'RunQuery', workspace, selector: { nodeType: 'test:Leaf' } },
      'of a parent': { type: 'RunQuery', workspace, selector: { parent: '/top' } },
      'at a path': { type: 'RunQuery', workspace, selector: place },
      'by index': {
        type: 'RunDslQuery',
        workspace,
        filter: { node_type: { eq: 'test:Leaf' }, 'properties.code': { eq: 'c' } },
      },
      'by scan': { type: 'RunDslQuery', workspace, filter: { name: { like: 'a' } } },
      relations: { type: 'ReadRelations', workspace, place },
      incoming: {
        type: 'ListIncomingReferences',
        workspace,
        place: { path: '/aside' },
        scope: 'here',
        limit: 10,
      },
      translations: { type: 'ListTranslations', workspace, place },
    };
    before = await measure();
    for (let change = 0; change < CHANGES; change++) {
      const properties = { title: `T${change}`, code: 'c' };
      await Promise.all([
        send({ type: 'UpdateNode', workspace, place, properties }),
        send({
          type: 'TranslateNode',
          workspace,
          place,
          locale: 'de',
          translations: { '/title': `D${change}` },
        }),
        send({ type: 'MoveNode', workspace, place, targetPath: '/aside/node' }),
        send({ type: 'MoveNode', workspace, place: { path: '/aside/node' }, targetPath: '/top/node' }),
        send({ type: 'ReorderNode', workspace, place, targetPath: '/top/other', position: 'before' }),
      ]);
    }
    after = await measure();
  });
  afterAll(() => fixture.close());

  it('is the same with one revision of a node and with hundreds [ROB-014]', async () => {
    const history = fixture.query<{ parse(): readonly unknown[] }>(branch, {
      type: 'ReadHistory',
      workspace,
      place,
    } as {
      type: string;
    });
    expect(history.parse().length).toBeGreaterThan(4 * CHANGES);
    expect(after).toEqual(before);
  });

  it('never looks into the tables of the past', () => {
    const past = ['nodeVersions', 'pathVersions', 'childVersions', 'parentVersions', 'definitionVersions'];
    const accesses = Object.values(after).flatMap((each) => Object.keys(each));
    expect(accesses).toContain('look-up nodes');
    for (const access of accesses) expect(past).not.toContain(access.split(' ').at(-1));
  });

  it('is three look-ups for a node at a path, and one for each target of its relations', () => {
    const three = { 'look-up paths': 1, 'look-up parents': 1, 'look-up nodes': 1 };
    expect(after['second without relations']).toEqual(three);
    expect(after['second by path']).toEqual({ ...three, 'look-up nodes': 2 });
  });

  it('is the rows of a node and their sources for what links to it', () => {
    expect(after['second incoming']).toEqual({
      'look-up paths': 1,
      'look-up nodes': 2,
      'seek references': 2,
      'row references': 1,
    });
  });

  it('is a page for the revisions up to an earlier one, after any history', async () => {
    const newest = fixture.query<TextAnswer>(branch, {
      type: 'ListRevisions',
      limit: 1,
      offset: 0,
      includeSystem: true,
    } as BranchQuery);
    const whole = JSON.parse(newest.text) as { total: number; revisions: { revision: string }[] };
    expect(whole.total).toBeGreaterThan(4 * CHANGES);
    const at = parseRevision(whole.revisions[0]?.revision as string);
    cost = {};
    const page = fixture.query<TextAnswer>(branch, {
      type: 'ListRevisions',
      at,
      limit: 1,
      offset: 0,
      includeSystem: true,
    } as BranchQuery);
    expect(JSON.parse(page.text)).toEqual(whole);
    // One batch of rows, and the one that says how many there are.
    expect(cost['row revisions']).toBeLessThanOrEqual(257);
  });

  it('yields while it looks up many relations, also for a caller who has the answer already', async () => {
    const many = 200;
    const related = { path: '/related' };
    await create(related.path, 'svc:Folder');
    for (let index = 0; index < many; index += 1) {
      await send({
        type: 'AddRelation',
        workspace,
        place: related,
        targetWorkspace: workspace,
        targetPath: '/aside',
        relationType: `r${index}`,
        weight: null,
      });
    }
    const query: BranchQuery = { type: 'ReadNode', workspace, place: related, tagged: true };
    const { tag } = (await fixture.query<unknown>(branch, query)) as JsonText;
    for (const unless of [['another'], [tag as string]]) {
      rests = 0;
      await fixture.query<unknown>(branch, { ...query, unless } as BranchQuery);
      expect(rests).toBeGreaterThanOrEqual(Math.floor(many / 64));
    }
  });

  it('rests while it passes children that came later', async () => {
    const newest = fixture.query<TextAnswer>(branch, {
      type: 'ListRevisions',
      limit: 1,
      offset: 0,
      includeSystem: true,
    } as BranchQuery);
    const { revisions } = JSON.parse(newest.text) as { revisions: { revision: string }[] };
    const at = parseRevision(revisions[0]?.revision as string);
    const later = 600;
    const operations = Array.from({ length: later }, (_, index) => ({
      type: 'create' as const,
      parentPath: '/aside',
      node: { name: `later-${index}`, nodeType: 'test:Leaf', properties: { code: 'c' } },
    }));
    await send({ type: 'CommitOperations', workspace, operations, commit: { message: 'later' } });
    rests = 0;
    const page = { type: 'ListChildren', workspace, place: { path: '/aside' }, scope: 'here', at };
    for (const limit of [undefined, 10]) {
      rests = 0;
      const query = limit === undefined ? page : { ...page, limit };
      const answer = (await fixture.query<unknown>(branch, query as BranchQuery)) as TextAnswer & TextStream;
      const text = answer.text ?? (await textOfChunks(answer.chunks));
      expect(text).not.toContain('later');
      expect(rests).toBeGreaterThanOrEqual(later / 128);
    }
  });
});
