import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { MergeResult } from '#actors/branch/merge-messages.ts';
import type { RevertResult } from '#actors/branch/revert-messages.ts';
import type { BulkProgress, SqlChanged } from '#actors/branch/sql-messages.ts';
import { systemRandom, uuidV7 } from '#runtime/base/random.ts';
import { checkBranch } from '#runtime/check/check-branch.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { jobIdOf } from '#runtime/jobs/job-id.ts';
import { branchTableNames } from '#runtime/shard/key-layout.ts';
import { BranchFamily } from '#test/support/branch-family.ts';
import {
  administrator,
  type BranchFixture,
  type NodeObject,
  openBranch,
} from '#test/support/branch-fixture.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { roleCaller } from '#test/support/role-caller.ts';
import { change, changeCommand, transact } from '#test/support/sql-changes.ts';

/** A statement that gives one node another path. */
const setPath = (from: string, to: string): string =>
  `UPDATE 'content' SET path = '${to}' WHERE path = '${from}'`;

describe('SET path of a node with children', () => {
  const nodeTypes: readonly JsonObject[] = [
    { name: 't:Item', properties: [{ name: 'code', type: 'String', unique: true }] },
    { name: 't:Table', properties: [], allowed_children: ['t:Item'] },
    { name: 't:Any', properties: [] },
  ];
  const workspaces = {
    items: { allowed_node_types: ['t:Item'], allowed_root_node_types: [] },
    roots: { allowed_node_types: [], allowed_root_node_types: ['t:Item'] },
  };
  const NODES_MAX = 50;

  let branch: BranchFixture;
  let made = 0;

  beforeAll(async () => {
    branch = await openBranch({ nodeTypes, workspaces, commitNodesMax: NODES_MAX });
  });
  afterAll(async () => {
    // Once for all tests, because it closes the branch and opens it again.
    expect(await damage()).toEqual([]);
    await branch.close();
  });

  const damage = (): Promise<readonly string[]> =>
    branch.inspect((reader) => {
      const found: string[] = [...findDamage(reader)];
      const check = checkBranch(reader, branchTableNames, (...told) => void found.push(told.join(' ')));
      while (check.next().done !== true);
      return found;
    });

  /** A folder with `a`, which has the children `x` and `y`, and with `b` and `c`; `a/x` has the child `deep`. */
  async function tree(): Promise<string> {
    made += 1;
    const at = `/f${made}`;
    await branch.create(at);
    for (const path of ['a', 'a/x', 'a/x/deep', 'a/y', 'b', 'c'])
      await branch.create(`${at}/${path}`, path === 'a' ? { code: at } : {}, 't:Item');
    return at;
  }

  const head = async (): Promise<string> =>
    ((await branch.query({ type: 'ReadBranchState' })) as { head: string }).head;
  const publish = (path: string) =>
    branch.command({
      type: 'PublishNode',
      workspace: 'content',
      place: { path },
      publish: true,
      tree: false,
    });
  /** The names of the children of a node, in their order. */
  const below = async (path: string, caller: Caller = administrator): Promise<readonly JsonValue[]> => {
    const sql = `SELECT name FROM 'content' WHERE CHILD_OF('${path}') ORDER BY __order`;
    return (await transact(branch, sql, { caller })).rows.map(({ name }) => name as JsonValue);
  };
  /** What must not change of a child, besides what is not shown. */
  const kept = ({ parent: _, ...node }: NodeObject) => node;

  /** A statement that fails writes nothing. */
  async function refuses(sql: string, error: object, caller: Caller = administrator): Promise<void> {
    const before = await head();
    await expect(change(branch, sql, { caller })).rejects.toMatchObject(error);
    expect(await head()).toBe(before);
  }

  it('moves it alone: a folder takes its place, and its children stay as they are [SQL-037]', async () => {
    const at = await tree();
    const a = await branch.read(`${at}/a`);
    const paths = [`${at}/a/x`, `${at}/a/x/deep`, `${at}/a/y`];
    const before = await Promise.all(paths.map((path) => branch.read(path)));
    const then = parseRevision(await head());
    const { revision, rows } = await change(branch, setPath(`${at}/a`, `${at}/b/z`));
    expect(rows).toEqual([{ affected_rows: 1 }]);
    expect(await branch.read(`${at}/b/z`)).toMatchObject({ id: a.id, version: 2, has_children: false });
    const folder = await branch.read(`${at}/a`);
    expect(folder).toMatchObject({
      name: 'a',
      node_type: 'svc:Folder',
      order_key: a.order_key,
      version: 1,
      created_by: 'ada',
      has_children: true,
    });
    expect(folder.id).not.toBe(a.id);
    const after = await Promise.all(paths.map((path) => branch.read(path)));
    expect(after.map(kept)).toEqual(before.map(kept));
    expect(await below(at)).toEqual(['a', 'b', 'c']);
    expect(await below(`${at}/a`)).toEqual(['x', 'y']);
    const changes = (await branch.query({
      type: 'ReadRevisionChanges',
      revision: parseRevision(revision as string),
    })) as readonly JsonObject[];
    expect(changes.map(({ operation, path }) => [path, operation])).toEqual([
      [`${at}/b/z`, 'modified'],
      [`${at}/a`, 'added'],
      [`${at}/a/x`, 'modified'],
      [`${at}/a/y`, 'modified'],
    ]);
    // As it was before, the node is still there with its children.
    expect(kept(await branch.read(`${at}/a`, then))).toEqual(kept(a));
    expect(kept(await branch.read(`${at}/a/x`, then))).toEqual(kept(before[0] as NodeObject));
    expect(await branch.isMissing(`${at}/b/z`, then)).toBe(true);
    const query = `SELECT name FROM 'content' WHERE CHILD_OF('${at}/a') AND __revision = '${then.ms}-${then.counter}'`;
    expect((await transact(branch, query)).rows).toEqual([{ name: 'x' }, { name: 'y' }]);
  });

  it('places it last when it stays below its parent, and writes other columns with it', async () => {
    const at = await tree();
    const sql = `UPDATE 'content' SET path = '${at}/q', owner_id = 'u', properties = properties || '{"n":1}' WHERE path = '${at}/a' RETURNING name, path, version, owner_id`;
    expect((await change(branch, sql)).rows).toEqual([
      { name: 'q', path: `${at}/q`, version: 2, owner_id: 'u' },
    ]);
    expect(await branch.read(`${at}/q`)).toMatchObject({ properties: { code: at, n: 1 } });
    expect(await below(at)).toEqual(['a', 'b', 'c', 'q']);
    // The folder is a node like any other, and as such leaves a folder behind.
    await change(branch, setPath(`${at}/a`, `${at}/r`));
    expect(await below(at)).toEqual(['a', 'b', 'c', 'q', 'r']);
    await change(branch, `DELETE FROM 'content' WHERE path = '${at}/a'`);
    expect(await below(at)).toEqual(['b', 'c', 'q', 'r']);
  });

  it('takes nothing with it that a published node is below, but no published node itself', async () => {
    const at = await tree();
    await branch.create(`${at}/p`, { title: 'P' }, 'svc:Page');
    await branch.create(`${at}/p/sub`, { title: 'S' }, 'svc:Page');
    await publish(`${at}/p/sub`);
    const { published_at } = await branch.read(`${at}/p/sub`);
    await change(branch, setPath(`${at}/p`, `${at}/b/p`));
    expect(await branch.read(`${at}/p/sub`)).toMatchObject({ published_at });
    await publish(`${at}/b/p`);
    await branch.create(`${at}/b/p/sub`);
    await refuses(setPath(`${at}/b/p`, `${at}/p2`), {
      message: expect.stringMatching(/^Cannot move: node '.*' is published/),
    });
  });

  it('does not go below itself, nor to a path that is taken, also by its folder', async () => {
    const at = await tree();
    await refuses(setPath(`${at}/a`, `${at}/a/x/z`), {
      message: expect.stringMatching(/^Cannot move '.*' into itself/),
    });
    await refuses(setPath(`${at}/a`, `${at}/b`), { code: 'NODE_ALREADY_EXISTS' });
    await change(branch, setPath(`${at}/a`, `${at}/z`));
    await refuses(setPath(`${at}/z`, `${at}/a`), { code: 'NODE_ALREADY_EXISTS' });
  });

  it.each(['items', 'roots'])('needs a workspace that allows the folder: %s', async (workspace) => {
    const node = (path: string) =>
      `INSERT INTO '${workspace}' (path, node_type) VALUES ('${path}', 't:Item')`;
    await transact(branch, [node('/a'), node('/a/x')].join(';'));
    await refuses(`UPDATE '${workspace}' SET path = '/b' WHERE path = '/a'`, {
      code: 'VALIDATION_FAILED',
      message: expect.stringMatching(
        /^Cannot move '\/a' alone, with a svc:Folder in its place for the nodes below it: Workspace .* does not allow .*; use MOVE, which takes them along$/,
      ),
    });
    await change(branch, `MOVE '${workspace}' SET path='/a/x' TO path='/'`);
    expect((await change(branch, `UPDATE '${workspace}' SET path = '/b' WHERE path = '/a'`)).rows).toEqual([
      { affected_rows: 1 },
    ]);
  });

  it('needs a parent that allows the folder, which allows every child', async () => {
    const at = await tree();
    await branch.create(`${at}/t`, {}, 't:Table');
    await branch.create(`${at}/t/a`, {}, 't:Item');
    await branch.create(`${at}/t/a/x`, {}, 't:Any');
    await refuses(setPath(`${at}/t/a`, `${at}/b/a`), {
      code: 'VALIDATION_FAILED',
      message: expect.stringMatching(
        /NodeType 'svc:Folder' is not allowed as a child of NodeType 't:Table'; use MOVE/,
      ),
    });
    const folder = { name: 'svc:Folder', properties: [], allowed_children: ['t:Item'] };
    await expect(
      branch.command({ type: 'PutDefinition', kind: 'node_type', definition: folder }),
    ).rejects.toMatchObject({
      message: expect.stringContaining('it does not allow children of every type'),
    });
  });

  it('changes no more nodes than a commit may', async () => {
    const at = await tree();
    // With itself and the folder.
    for (let number = 3; number <= NODES_MAX - 2; number++) await branch.create(`${at}/a/x${number}`);
    await change(branch, setPath(`${at}/a`, `${at}/z`));
    await branch.create(`${at}/a/more`);
    await refuses(setPath(`${at}/a`, `${at}/y`), { code: 'COMMIT_TOO_LARGE' });
  });

  describe('for a caller with less than all permissions', () => {
    const all = { operations: ['read', 'create', 'update', 'delete'] };

    it('keeps children that the caller may not read, and says nothing of them', async () => {
      const at = await tree();
      // May neither read nor write what is below.
      const caller = roleCaller([
        { path: at, ...all },
        { path: `${at}/*`, ...all },
      ]);
      expect(await below(`${at}/a`, caller)).toEqual([]);
      expect((await change(branch, setPath(`${at}/a`, `${at}/z`), { caller })).rows).toEqual([
        { affected_rows: 1 },
      ]);
      expect(await below(`${at}/a`)).toEqual(['x', 'y']);
      expect(await branch.isMissing(`${at}/z/x`)).toBe(true);
      expect((await change(branch, setPath(`${at}/b`, `${at}/y`), { caller })).rows).toEqual([
        { affected_rows: 1 },
      ]);
    });

    it('needs the permission to create the folder', async () => {
      const at = await tree();
      const caller = roleCaller([
        { path: `${at}/**`, operations: ['read', 'delete'] },
        { path: `${at}/z`, operations: ['create'] },
      ]);
      const denied = {
        code: 'PERMISSION_DENIED',
        message: `Cannot move '${at}/a' alone, with a svc:Folder in its place for the nodes below it: Permission denied: cannot create node ${at}/a; use MOVE, which takes them along`,
      };
      await refuses(setPath(`${at}/a`, `${at}/z`), denied, caller);
      // Which its type may decide.
      const typed = roleCaller([
        { path: at, ...all },
        { path: `${at}/**`, ...all, node_types: ['t:Item'] },
      ]);
      await refuses(setPath(`${at}/a`, `${at}/z`), denied, typed);
      // Without children there is no folder.
      await change(branch, setPath(`${at}/b`, `${at}/z`), { caller: typed });
    });

    it('needs to see the parent of the folder, as to create any node there', async () => {
      const at = await tree();
      const caller = roleCaller([
        { path: `${at}/a/x`, ...all },
        { path: `${at}/b`, ...all },
        { path: `${at}/b/**`, ...all },
      ]);
      const message = expect.stringContaining(`Permission denied: cannot create node ${at}/a/x; use MOVE`);
      await refuses(setPath(`${at}/a/x`, `${at}/b/x`), { code: 'PERMISSION_DENIED', message }, caller);
    });
  });

  describe('of several nodes', () => {
    it.each([
      ['parents', `name IN ('a', 'b')`],
      ['a parent and its child', `name IN ('a', 'x')`],
      ['three generations', `name IN ('a', 'x', 'deep')`],
    ])('in one statement: %s', async (_, condition) => {
      const at = await tree();
      await branch.create(`${at}/b/sub`, {}, 't:Item');
      const sql = `UPDATE 'content' SET path = path || '-new' WHERE DESCENDANT_OF('${at}') AND ${condition}`;
      const chosen = [...condition.matchAll(/'(\w+)'/g)].map(([, name]) => name as string);
      const { rows } = await transact(branch, sql);
      expect(rows).toEqual([{ affected_rows: chosen.length }]);
      const moved = (name: string): string => (chosen.includes(name) ? `${name}-new` : name);
      expect(await branch.isMissing(`${at}/${moved('a')}`)).toBe(false);
      expect(await branch.isMissing(`${at}/a/${moved('x')}`)).toBe(false);
      expect(await branch.isMissing(`${at}/a/x/${moved('deep')}`)).toBe(false);
      expect(await branch.isMissing(`${at}/b/sub`)).toBe(false);
      const folders = `SELECT path FROM 'content' WHERE DESCENDANT_OF('${at}') AND node_type = 'svc:Folder' ORDER BY path`;
      const left = { a: '/a', b: '/b', x: '/a/x', deep: undefined };
      const expected = chosen
        .map((name) => left[name as keyof typeof left])
        .filter((path) => path !== undefined);
      expect((await transact(branch, folders)).rows).toEqual(expected.map((path) => ({ path: at + path })));
    });

    it('in one transaction, also of nodes that it has made', async () => {
      const at = await tree();
      const node = (path: string) =>
        `INSERT INTO 'content' (path, node_type) VALUES ('${at}/${path}', 't:Item')`;
      await transact(
        branch,
        [node('n'), node('n/m'), setPath(`${at}/n`, `${at}/o`), setPath(`${at}/n`, `${at}/b/p`)].join(';'),
      );
      expect(await below(at)).toEqual(['a', 'b', 'c', 'n', 'o'].sort());
      expect(await below(`${at}/n`)).toEqual(['m']);
      expect(await branch.read(`${at}/n/m`)).toMatchObject({ version: 1, node_type: 't:Item' });
      // A folder that is made and removed again was never there.
      const { revision } = await transact(
        branch,
        [
          setPath(`${at}/n`, `${at}/q`),
          `MOVE 'content' SET path='${at}/n/m' TO path='${at}/q'`,
          `DELETE FROM 'content' WHERE path = '${at}/n'`,
          setPath(`${at}/q`, `${at}/n`),
        ].join(';'),
      );
      expect(revision).not.toBeNull();
      expect(await branch.read(`${at}/n`)).toMatchObject({ node_type: 'svc:Folder' });
      expect(await branch.read(`${at}/q`)).toMatchObject({ node_type: 'svc:Folder' });
      expect(await branch.read(`${at}/q/m`)).toMatchObject({ node_type: 't:Item' });
    });

    it('in a dry run, of which nothing stays', async () => {
      const at = await tree();
      const before = await head();
      const { rows } = await transact(branch, setPath(`${at}/a`, `${at}/z`), { dryRun: true });
      expect(rows).toEqual([{ affected_rows: 1 }]);
      expect([await head(), await branch.isMissing(`${at}/z`)]).toEqual([before, true]);
    });

    it('in a part of a bulk statement, which skips those that the caller may not move', async () => {
      const at = await tree();
      await branch.create(`${at}/b/sub`, {}, 't:Item');
      const ids = await Promise.all(
        ['a', 'b', 'c'].map(async (name) => (await branch.read(`${at}/${name}`)).id),
      );
      const caller = roleCaller([
        { path: at, operations: ['read'] },
        { path: `${at}/**`, operations: ['read', 'create', 'update', 'delete'], node_types: ['t:Item'] },
        { path: `${at}/b`, operations: ['create'] },
      ]);
      const progress = (await branch.command(
        {
          type: 'ChangeSomeBySql',
          sql: `UPDATE 'content' SET path = path || '-new' WHERE CHILD_OF('${at}')`,
          parameters: [],
          ids,
          job: jobIdOf(uuidV7(Date.now(), systemRandom), 'site~0123456789'),
          part: 1,
          total: 3,
        },
        caller,
      )) as unknown as BulkProgress;
      expect(progress).toMatchObject({ changed: 2, skipped: 1 });
      expect(await below(at)).toEqual(['a', 'b', 'c-new', 'b-new']);
    });
  });
});

describe('a revision that gave a node with children another path', () => {
  let family: BranchFamily;
  let names = 0;
  let own: string;
  let fork: string;

  beforeAll(async () => {
    family = await BranchFamily.open();
  });
  afterAll(() => family.close());

  beforeEach(async () => {
    names += 1;
    [own, fork] = [`own-${names}`, `fork-${names}`];
    await family.fork(own, 'main');
    for (const path of ['/a', '/a/x', '/a/x/deep', '/a/y', '/b'])
      await family.create(own, path, `${path} base`, path.slice(1).replaceAll('/', '-'));
    await family.fork(fork, own);
  });
  afterEach(async () => {
    for (const name of [own, fork]) expect(await family.damage(name)).toEqual([]);
  });

  const run = async (on: string, sql: string): Promise<string> =>
    (await family.command<SqlChanged>(on, changeCommand(sql))).revision as string;
  const merge = (into: string, from: string): Promise<MergeResult> =>
    family.command(into, {
      type: 'MergeBranch',
      source: family.actor(from),
      sourceName: from,
      strategy: 'ThreeWay',
      dryRun: false,
    });
  const content = async (on: string): Promise<readonly (readonly [string, string])[]> => {
    const sql = `SELECT path, id, node_type FROM 'content' ORDER BY path`;
    const { rows } = await family.command<SqlChanged>(on, changeCommand(sql, { isTransaction: true }));
    return (JSON.parse(rows) as { id: string; path: string }[]).map(({ id, path }) => [
      path,
      /^[abxydeepnw-]{1,8}$/.test(id) ? id : 'made',
    ]);
  };
  const before = [
    ['/a', 'a'],
    ['/a/x', 'a-x'],
    ['/a/x/deep', 'a-x-deep'],
    ['/a/y', 'a-y'],
    ['/b', 'b'],
  ];
  const after = [
    ['/a', 'made'],
    ['/a/x', 'a-x'],
    ['/a/x/deep', 'a-x-deep'],
    ['/a/y', 'a-y'],
    ['/b', 'b'],
    ['/b/z', 'a'],
  ];

  it('is merged into a branch without writes of its own', async () => {
    await run(fork, setPath('/a', '/b/z'));
    expect(await content(fork)).toEqual(after);
    expect(await merge(own, fork)).toMatchObject({ success: true, conflicts: [] });
    expect(await content(own)).toEqual(after);
  });

  it('is merged with writes to other nodes, and to those below', async () => {
    await run(fork, setPath('/a', '/b/z'));
    await family.update(own, '/b', 'other');
    await family.create(own, '/a/x/new', '', 'new');
    await family.create(own, '/a/new', '', 'newer');
    expect(await merge(own, fork)).toMatchObject({ success: true, conflicts: [] });
    expect((await content(own)).map(([path]) => path)).toEqual([
      '/a',
      '/a/x',
      '/a/x/deep',
      '/a/x/new',
      '/a/y',
      '/b',
      '/b/z',
      // It was made below the node, which it follows.
      '/b/z/new',
    ]);
  });

  it('conflicts with a move of the same node', async () => {
    await run(fork, setPath('/a', '/b/z'));
    await family.rename(own, '/a', 'renamed');
    const { conflicts, success } = await merge(own, fork);
    // The children are those of `/renamed` in one branch, and of the folder in the other.
    expect([success, conflicts.map(({ node_id }) => node_id)]).toEqual([false, ['a', 'a-x', 'a-y']]);
  });

  const revert = (revision: string): Promise<RevertResult> =>
    family.command(own, { type: 'RevertRevisions', which: { revisions: [revision] }, dryRun: false });

  it('is reverted, also after other writes', async () => {
    const revision = await run(own, setPath('/a', '/b/z'));
    await family.update(own, '/a/x/deep', 'written since');
    expect(await revert(revision)).toMatchObject({ success: true, conflicts: [] });
    expect(await content(own)).toEqual(before);
  });

  it('counts as a change of the children, whose parent is another one', async () => {
    const revision = await run(own, setPath('/a', '/b/z'));
    await family.update(own, '/a/x', 'written since');
    const { conflicts, success } = await revert(revision);
    expect([success, conflicts.map(({ node_id }) => node_id)]).toEqual([false, ['a-x']]);
  });

  it('is told by the histories of the nodes', async () => {
    const revision = await run(own, setPath('/a', '/b/z'));
    const newest = async (id: string): Promise<JsonValue | undefined> => {
      const query = { type: 'ReadHistory', workspace: 'content', place: { id }, limit: 1 } as const;
      return (await family.query<readonly JsonObject[]>(own, query))[0]?.revision;
    };
    for (const id of ['a', 'a-x', 'a-y']) expect(await newest(id)).toBe(revision);
    expect(await newest('a-x-deep')).not.toBe(revision);
  });
});
