import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import {
  type BranchFixture,
  callerWith,
  openBranch,
  WORKSPACE as workspace,
} from '#test/support/branch-fixture.ts';
import { roleCaller } from '#test/support/role-caller.ts';
import { changeBySql, type ChangeRequest } from '#test/support/sql-garden.ts';

let branch: BranchFixture;

const audited = { name: 'test:Audited', auditable: true, properties: [{ name: 'title', type: 'String' }] };
const anything = { allowed_node_types: [], allowed_root_node_types: [] };

beforeAll(async () => {
  branch = await openBranch({
    nodeTypes: [audited, { name: 'test:Named', properties: [{ name: 'title', type: 'String' }] }],
    archetypes: [{ name: 'test:wide' }, { name: 'test:small' }],
    workspaces: { other: anything },
  });
});
afterAll(async () => {
  expect(await branch.inspect(findDamage)).toEqual([]);
  await branch.close();
});

const run = (sql: string, request?: ChangeRequest) => changeBySql(branch, sql, request);
const restore = async (path: string, revision: string, rest = '') =>
  (await run(`RESTORE NODE path='${path}' TO REVISION ${revision}${rest}`)).rows[0];

async function update(path: string, properties: JsonObject, more: JsonObject = {}): Promise<string> {
  const command = { type: 'UpdateNode', workspace, place: { path }, properties, ...more } as const;
  return (await branch.command(command)).revision;
}

async function rename(path: string, newName: string): Promise<string> {
  const command = { type: 'RenameNode', workspace, place: { path }, newName } as const;
  return (await branch.command(command)).revision as string;
}

async function headOf(): Promise<string> {
  return ((await branch.query({ type: 'ReadBranchState' })) as { head: string }).head;
}

describe('RESTORE NODE', () => {
  it('counts the own revisions of the node [SQL-104]', async () => {
    await branch.create('/own', { n: 0 });
    const second = await update('/own', { n: 1 });
    await branch.create('/other');
    await update('/own', { n: 2 });
    const row = await restore('/own', 'HEAD~1');
    expect(row).toEqual({
      result: "Node '/own' restored",
      affected_rows: 1,
      path: '/own',
      revision: second,
    });
    expect((await branch.read('/own')).properties['n']).toBe(1);
    // What was restored is a revision of its own.
    await restore('/own', 'HEAD~3');
    expect((await branch.read('/own')).properties['n']).toBe(0);
    await expect(restore('/own', 'HEAD~5')).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: "Node '/own' only has 5 revisions, cannot go back 5 revisions (HEAD~5)",
    });
  });

  it('writes nothing where the state is the present one', async () => {
    await branch.create('/same', { n: 1 });
    const { revision, rows } = await run("RESTORE NODE path='/same' TO REVISION HEAD~0");
    expect([revision, rows[0]?.['affected_rows']]).toEqual([null, 1]);
  });

  it('takes a full revision, a bare number and a parameter, and says which revision it was', async () => {
    const { id } = await branch.create('/full', { n: 0 });
    const first = (await branch.query({ type: 'ReadBranchState' })) as { head: string };
    await update('/full', { n: 1 });
    const [ms, counter] = first.head.split('-');
    for (const given of [`'${first.head}'`, `${ms}_${counter}`]) {
      expect(await restore('/full', given)).toMatchObject({ revision: first.head });
      expect((await branch.read('/full')).properties['n']).toBe(0);
      await update('/full', { n: 1 });
    }
    const sql = `RESTORE NODE id=$1 TO REVISION $2`;
    await run(sql, { parameters: [id, first.head] });
    expect((await branch.read('/full')).properties['n']).toBe(0);
    await expect(restore('/full', "'1-0'")).rejects.toMatchObject({ code: 'REVISION_NOT_FOUND' });
    await expect(restore('/full', "'yesterday'")).rejects.toMatchObject({ code: 'INVALID_REVISION_NUMBER' });
    await expect(restore('/full', "'0-0'")).rejects.toMatchObject({
      code: 'NODE_NOT_FOUND',
      message: "Node at path '/full' not found in revision '0-0'",
    });
  });

  it('restores name, archetype and translations, and keeps the place, the relations and the owner [SQL-106]', async () => {
    const { id } = await branch.create('/kinds', { title: 'a' });
    await branch.create('/kinds/below');
    const place = { path: '/kinds' };
    await branch.command({
      type: 'TranslateNode',
      workspace,
      place,
      locale: 'de',
      translations: { '/title': 'A' },
    });
    await update('/kinds', { title: 'a' }, { archetype: 'test:wide' });
    const state = await branch.read('/kinds');
    await update('/kinds', { title: 'b' }, { archetype: 'test:small', translations: { fr: { title: 'B' } } });
    await rename('/kinds', 'sorts');
    await branch.create('/shelf');
    await branch.command({
      type: 'AddRelation',
      workspace,
      place: { id },
      targetWorkspace: workspace,
      targetPath: '/shelf',
      relationType: 'on',
      weight: null,
    });
    await branch.command({ type: 'MoveNode', workspace, place: { id }, targetPath: '/shelf/sorts' });
    const before = await branch.read('/shelf/sorts');
    const row = await restore('/shelf/sorts', 'HEAD~4');
    expect(row).toMatchObject({ path: '/shelf/kinds' });
    const after = await branch.read('/shelf/kinds');
    expect(after).toMatchObject({
      properties: state.properties,
      archetype: 'test:wide',
      translations: { de: { title: 'A' } },
      relations: [expect.objectContaining({ relation_type: 'on' })],
      version: before.version + 1,
    });
    expect((await branch.read('/shelf/kinds/below')).parent).toBe('kinds');
  });

  it('restores only the translations that are named [SQL-108]', async () => {
    await branch.create('/words', { title: 'a' });
    const words = (de: string, fr: string) =>
      update('/words', { title: 'a' }, { translations: { de: { title: de }, fr: { title: fr } } });
    await words('eins', 'un');
    await words('zwei', 'deux');
    await restore('/words', 'HEAD~1', " TRANSLATIONS ('de')");
    expect((await branch.read('/words')).translations).toEqual({
      de: { title: 'eins' },
      fr: { title: 'deux' },
    });
    await restore('/words', 'HEAD~3', " TRANSLATIONS ('fr')");
    expect((await branch.read('/words')).translations).toEqual({ de: { title: 'eins' } });
  });

  it('takes locales with an underscore, and refuses what is none', async () => {
    await branch.create('/locales', { title: 'a' });
    await restore('/locales', 'HEAD~0', " TRANSLATIONS ('de_ch')");
    await expect(restore('/locales', 'HEAD~0', " TRANSLATIONS ('german')")).rejects.toThrow(
      'RESTORE: Invalid locale code: german',
    );
  });

  it('does not bring back a deleted node [SQL-054]', async () => {
    const { id } = await branch.create('/gone');
    await update('/gone', { n: 1 });
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/gone' } });
    for (const reference of ["path='/gone'", `id='${id}'`]) {
      await expect(run(`RESTORE NODE ${reference} TO REVISION HEAD~1`)).rejects.toMatchObject({
        code: 'NODE_NOT_FOUND',
      });
    }
  });

  it('finds a node in any workspace, and asks which where several have it [SQL-107]', async () => {
    await run(`INSERT INTO 'other' (path, node_type, properties) VALUES ('/only', 'svc:Folder', '{"n":1}')`);
    await run(`UPDATE 'other' SET properties = '{"n":2}' WHERE path = '/only'`);
    await restore('/only', 'HEAD~1');
    expect((await branch.read('/only', undefined, 'other')).properties['n']).toBe(1);
    await branch.create('/only');
    await expect(restore('/only', 'HEAD~0')).rejects.toThrow(
      "There is a node at path '/only' in 2 workspaces, for example 'content', 'other': say which with IN WORKSPACE",
    );
    // Of those that the caller may read there is one.
    const caller = callerWith((_operation, { workspace: name }) => name === 'content');
    await run("RESTORE NODE path='/only' TO REVISION HEAD~0", { caller });
    await run("RESTORE NODE path='/only' IN WORKSPACE 'other' TO REVISION HEAD~1");
    expect((await branch.read('/only', undefined, 'other')).properties['n']).toBe(2);
  });

  it('refuses a state that the type no longer allows [SQL-109]', async () => {
    await branch.create('/strict', {}, 'test:Named');
    await update('/strict', { title: 'there' });
    const properties = [{ name: 'title', type: 'String', required: true }];
    await branch.command({
      type: 'PutDefinition',
      kind: 'node_type',
      definition: { name: 'test:Named', properties },
    });
    await expect(restore('/strict', 'HEAD~1')).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining('title'),
    });
  });

  it('refuses a name that another node has now, and the new name of a published node', async () => {
    await branch.create('/first');
    await rename('/first', 'second');
    await branch.create('/first');
    await expect(restore('/second', 'HEAD~1')).rejects.toMatchObject({ code: 'NODE_ALREADY_EXISTS' });
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/first' } });
    const publish = { type: 'PublishNode', workspace, place: { path: '/second' }, tree: false } as const;
    await branch.command({ ...publish, publish: true });
    await expect(restore('/second', 'HEAD~2')).rejects.toThrow("node '/second' is published");
  });

  it('is told by the audit log', async () => {
    const { id } = await branch.create('/audited', { title: 'a' }, 'test:Audited');
    await update('/audited', { title: 'b' });
    const { revision } = (await restore('/audited', 'HEAD~1')) as { revision: string };
    const entries = (await branch.query({ type: 'ReadAudit', workspace, place: { id } })) as JsonObject[];
    expect(entries[0]).toMatchObject({ action: 'Restore', details: { revision } });
  });

  it('goes back behind what its own transaction has written', async () => {
    await branch.create('/turn', { n: 1 });
    const sql = `UPDATE '${workspace}' SET properties = '{"n":2}' WHERE path = '/turn'; RESTORE NODE path='/turn' TO REVISION`;
    await run(`${sql} HEAD~0`, { isTransaction: true });
    expect((await branch.read('/turn')).properties['n']).toBe(2);
    await run(
      `UPDATE '${workspace}' SET properties = '{"n":3}' WHERE path = '/turn'; RESTORE NODE path='/turn' TO REVISION HEAD~1`,
      {
        isTransaction: true,
      },
    );
    expect((await branch.read('/turn')).properties['n']).toBe(2);
  });

  it('counts revisions of the line that the head was moved to', async () => {
    await branch.create('/lines', { n: 0 });
    const kept = await update('/lines', { n: 1 });
    await update('/lines', { n: 2 });
    await branch.command({ type: 'MoveHead', revision: kept });
    await update('/lines', { n: 3 });
    await restore('/lines', 'HEAD~1');
    expect((await branch.read('/lines')).properties['n']).toBe(1);
    await expect(restore('/lines', 'HEAD~4')).rejects.toThrow("Node '/lines' only has 4 revisions");
  });

  it('needs the permission to read the earlier state [SQL-109]', async () => {
    await branch.create('/secret', { n: 1 });
    await rename('/secret', 'open');
    await update('/open', { n: 2 });
    const caller = callerWith((_operation, { path }) => path !== '/secret');
    await expect(run("RESTORE NODE path='/open' TO REVISION HEAD~2", { caller })).rejects.toMatchObject({
      code: 'NODE_NOT_FOUND',
    });
    await run("RESTORE NODE path='/open' TO REVISION HEAD~0", { caller });
  });

  it('shows no property of the earlier state that was hidden where the node was', async () => {
    const command = { type: 'MoveNode', workspace } as const;
    for (const path of ['/narrow', '/wide']) await branch.create(path);
    await branch.create('/narrow/x', { title: 'a', secret: 1 });
    await branch.create('/narrow/x/y', { title: 'a', secret: 1 });
    const then = await headOf();
    await branch.command({ ...command, place: { path: '/narrow/x' }, targetPath: '/wide/x' });
    for (const path of ['/wide/x', '/wide/x/y']) await update(path, { title: 'b' });
    const caller = roleCaller([
      { path: '/wide/**', operations: ['read', 'update'] },
      { path: '/narrow/**', operations: ['read', 'update'], fields: ['title'] },
    ]);
    for (const word of ['NODE', 'TREE NODE']) {
      const sql = `RESTORE ${word} path='/wide/x' TO REVISION '${then}'`;
      await expect(run(sql, { caller })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    }
    expect((await branch.read('/wide/x/y')).properties['secret']).toBeUndefined();
  });

  it('leaves nodes of an immutable type as they are', async () => {
    const define = (immutable: boolean) =>
      branch.command({
        type: 'PutDefinition',
        kind: 'node_type',
        definition: { name: 'test:Stone', immutable, properties: [{ name: 'title', type: 'String' }] },
      });
    await define(false);
    await branch.create('/stones');
    await branch.create('/stones/one', { title: 'a' }, 'test:Stone');
    const then = await headOf();
    await update('/stones/one', { title: 'b' });
    await define(true);
    await expect(restore('/stones/one', 'HEAD~1')).rejects.toThrow(
      "Nodes of type 'test:Stone' are immutable",
    );
    const tree = `RESTORE TREE NODE path='/stones' TO REVISION '${then}'`;
    await expect(run(tree)).rejects.toThrow("Nodes of type 'test:Stone' are immutable");
  });
});

describe('RESTORE TREE', () => {
  it('asks for all properties of each node that changes', async () => {
    await branch.create('/all', { title: 'a' });
    await branch.create('/all/some', { title: 'a' });
    const then = await headOf();
    await update('/all/some', { title: 'b' });
    const caller = roleCaller([
      { path: '**', operations: ['read'] },
      { path: '/all', operations: ['update'] },
      { path: '/all/*', operations: ['update'], fields: ['other'] },
    ]);
    const sql = `RESTORE TREE NODE path='/all' TO REVISION '${then}'`;
    await expect(run(sql, { caller })).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: 'Permission denied: cannot update every property of node /all/some',
    });
  });

  it('asks for the permission at the paths to which nodes go with a new name', async () => {
    await branch.create('/room');
    await branch.create('/room/old', { n: 0 });
    await branch.create('/room/old/leaf', { n: 0 });
    const then = await headOf();
    await rename('/room/old', 'new');
    const sql = `RESTORE TREE NODE path='/room' TO REVISION '${then}'`;
    // The earlier state may be read, and nothing may be changed there.
    const reader = callerWith((operation, { path }) => operation === 'read' || !path.startsWith('/room/old'));
    await expect(run(sql, { caller: reader })).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: 'Permission denied: cannot update node /room/old',
    });
    // A node that came since goes with its parent.
    await branch.create('/room/new/since', { hidden: 1 });
    const more = roleCaller([
      { path: '/room/**', operations: ['read', 'update'] },
      { path: '/room/new/since', operations: ['read', 'update'], except_fields: ['hidden'] },
    ]);
    await expect(run(sql, { caller: more })).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: expect.stringContaining('where more of its properties would be shown'),
    });
  });

  const values = async (...paths: string[]) =>
    Promise.all(paths.map(async (path) => (await branch.read(path)).properties['n']));

  it('restores what exists now: what was deleted stays deleted, what came since stays [SQL-110]', async () => {
    await branch.create('/tree', { n: 0 });
    for (const name of ['a', 'b', 'c']) await branch.create(`/tree/${name}`, { n: 0 });
    const head = await headOf();
    for (const path of ['/tree', '/tree/a', '/tree/b']) await update(path, { n: 1 });
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/tree/c' } });
    await branch.create('/tree/d', { n: 1 });
    const { rows } = await run(`RESTORE TREE NODE path='/tree' TO REVISION '${head}'`);
    expect(rows).toEqual([
      { result: "Tree '/tree' restored", affected_rows: 3, path: '/tree', revision: head },
    ]);
    expect(await values('/tree', '/tree/a', '/tree/b', '/tree/d')).toEqual([0, 0, 0, 1]);
    expect(await branch.isMissing('/tree/c')).toBe(true);
  });

  it('lets nodes exchange names, and takes along what is below them [SQL-110]', async () => {
    await branch.create('/names');
    for (const name of ['x', 'y']) {
      await branch.create(`/names/${name}`, { n: name });
      await branch.create(`/names/${name}/leaf`, { n: name });
    }
    const head = await headOf();
    await rename('/names/x', 'z');
    await rename('/names/y', 'x');
    await rename('/names/z', 'y');
    await update('/names/y/leaf', { n: 'changed' });
    await rename('/names', 'nouns');
    expect(await values('/nouns/x', '/nouns/y')).toEqual(['y', 'x']);
    const { revision, rows } = await run(`RESTORE TREE NODE path='/nouns' TO REVISION '${head}'`);
    expect(rows[0]).toMatchObject({ affected_rows: 5, path: '/names' });
    expect(await values('/names/x', '/names/x/leaf', '/names/y', '/names/y/leaf')).toEqual([
      'x',
      'x',
      'y',
      'y',
    ]);
    const record = (await branch.query({
      type: 'ReadRevisionChanges',
      revision: { ms: Number(revision?.split('-')[0]), counter: Number(revision?.split('-')[1]) },
    })) as readonly JsonObject[];
    expect(JSON.stringify(record)).not.toContain('deleted');
  });

  it('lets nodes exchange unique values, and refuses one that a node outside has', async () => {
    const keys = { name: 'test:Keyed', properties: [{ name: 'key', type: 'String', unique: true }] };
    await branch.command({ type: 'PutDefinition', kind: 'node_type', definition: keys });
    await branch.create('/keys');
    for (const key of ['a', 'b']) await branch.create(`/keys/${key}`, { key }, 'test:Keyed');
    const then = await headOf();
    for (const [path, key] of [
      ['/keys/a', 'c'],
      ['/keys/b', 'a'],
      ['/keys/a', 'b'],
    ] as const)
      await update(path, { key });
    const sql = `RESTORE TREE NODE path='/keys' TO REVISION '${then}'`;
    await run(sql);
    expect((await branch.read('/keys/a')).properties['key']).toBe('a');
    await update('/keys/a', { key: 'c' });
    await branch.create('/outside', { key: 'a' }, 'test:Keyed');
    await expect(run(sql)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    expect((await branch.read('/keys/a')).properties['key']).toBe('c');
  });

  it('refuses a name that a node has which was not there then', async () => {
    await branch.create('/taken');
    await branch.create('/taken/old');
    const head = await headOf();
    await rename('/taken/old', 'moved');
    await branch.create('/taken/old');
    await expect(run(`RESTORE TREE NODE path='/taken' TO REVISION '${head}'`)).rejects.toMatchObject({
      code: 'NODE_ALREADY_EXISTS',
      message: "Node '/taken/old' already exists",
    });
  });

  it('needs the permission to update every node of it', async () => {
    await branch.create('/part', { n: 0 });
    await branch.create('/part/shown', { n: 0 });
    await branch.create('/part/hidden', { n: 0 });
    await update('/part/shown', { n: 1 });
    const head = await headOf();
    const caller = callerWith((_operation, { path }) => path !== '/part/hidden');
    await expect(
      run(`RESTORE TREE NODE path='/part' TO REVISION '${head}'`, { caller }),
    ).rejects.toMatchObject({
      code: 'PERMISSION_DENIED',
      message: 'Permission denied: cannot update every node below /part',
    });
  });

  it('refuses to give a published node another name, and names an invalid one', async () => {
    await branch.create('/deep');
    await branch.create('/deep/b', { title: 'x' }, 'test:Named');
    const head = await headOf();
    await rename('/deep/b', 'c');
    const place = { path: '/deep/c' };
    await branch.command({ type: 'PublishNode', workspace, place, publish: true, tree: false });
    await expect(run(`RESTORE TREE NODE path='/deep' TO REVISION '${head}'`)).rejects.toThrow(
      "'/deep/c' below '/deep' is published",
    );
    const properties = [{ name: 'title', type: 'Number' }];
    await branch.command({ type: 'PublishNode', workspace, place, publish: false, tree: false });
    await branch.command({
      type: 'PutDefinition',
      kind: 'node_type',
      definition: { name: 'test:Named', properties },
    });
    await expect(run(`RESTORE TREE NODE path='/deep' TO REVISION '${head}'`)).rejects.toThrow(
      "The restore would make '/deep/c' invalid",
    );
  });
});
