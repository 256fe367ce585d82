import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callerWith } from '#test/support/branch-fixture.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { SqlGarden } from '#test/support/sql-garden.ts';

let garden: SqlGarden;

beforeAll(async () => {
  garden = await SqlGarden.open();
  await garden.branch.command({
    type: 'CreateNode',
    workspace: 'g',
    parentPath: '/sheds',
    node: { name: 'kept', nodeType: 'svc:Folder', properties: {} },
    deep: false,
  });
  await garden.branch.command({
    type: 'PublishNode',
    workspace: 'g',
    place: { path: '/sheds/kept' },
    publish: true,
    tree: false,
  });
});
afterAll(async () => {
  expect(await garden.branch.inspect(findDamage)).toEqual([]);
  await garden.close();
});

const hidden = callerWith(
  (operation, { path }) =>
    !path.startsWith('/beds/south') && (operation === 'read' || !path.startsWith('/beds')),
);
const path = "path='/beds/north'";

/** The error of a statement that must be refused and change nothing. */
async function errorOf(sql: string, caller?: typeof hidden): Promise<{ code: string; message: string }> {
  const head = await garden.branch.query({ type: 'ReadBranchState' });
  const error = await garden.run(sql, caller === undefined ? {} : { caller }).then(
    ({ rows }) => ({ code: `answered ${JSON.stringify(rows)}`, message: '' }),
    ({ code, message }: { code: string; message: string }) => ({ code, message }),
  );
  expect(await garden.branch.query({ type: 'ReadBranchState' })).toEqual(head);
  return error;
}

describe('errors of statements about the tree', () => {
  it.each([
    ['MOVE', `MOVE 'g' SET path='/no' TO path='/sheds'`, "Source node at path '/no' not found"],
    ['MOVE', `MOVE 'g' SET id='no' TO path='/sheds'`, "Source node with id 'no' not found"],
    ['MOVE', `MOVE 'g' SET ${path} TO path='/no'`, "Target parent node at path '/no' not found"],
    ['MOVE', `MOVE 'g' SET ${path} TO id='no'`, "Target parent node with id 'no' not found"],
    ['COPY', `COPY 'g' SET path='/no' TO path='/sheds'`, "Source node at path '/no' not found"],
    ['COPY', `COPY TREE 'g' SET ${path} TO id='no'`, "Target parent node with id 'no' not found"],
    ['ORDER', `ORDER 'g' SET id='no' ABOVE id='b1'`, "Source node with id 'no' not found"],
    ['ORDER', `ORDER 'g' SET id='b1' BELOW path='/no'`, "Target node at path '/no' not found"],
    [
      'RELATE',
      `RELATE FROM id='no' IN WORKSPACE 'p' TO id='u1' IN WORKSPACE 'p'`,
      "Source node with id 'no' not found",
    ],
    [
      'RELATE',
      `RELATE FROM id='u1' IN WORKSPACE 'p' TO path='/no' IN WORKSPACE 'p'`,
      "Target node at path '/no' not found",
    ],
    [
      'UNRELATE',
      `UNRELATE FROM path='/no' IN WORKSPACE 'p' TO id='u1' IN WORKSPACE 'p'`,
      "Source node at path '/no' not found",
    ],
    ['RESTORE', `RESTORE NODE path='/no' TO REVISION HEAD~0`, "Node at path '/no' not found"],
    ['RESTORE', `RESTORE NODE id='b1' IN WORKSPACE 'p' TO REVISION HEAD~0`, "Node with id 'b1' not found"],
    [
      'TRANSLATE',
      `UPDATE 'g' FOR LOCALE 'de' SET title='x' WHERE path='/no'`,
      "Node at path '/no' not found",
    ],
  ])('%s names a missing node: %s [SQL-100]', async (_word, sql, message) => {
    expect(await errorOf(sql)).toEqual({ code: 'NODE_NOT_FOUND', message });
  });

  it.each([
    [`MOVE 'g' SET id='b2' TO path='/sheds'`, "Source node with id 'b2' not found"],
    [`MOVE 'g' SET id='s0' TO path='/beds/south'`, "Target parent node at path '/beds/south' not found"],
    [`COPY 'g' SET id='b2' TO path='/sheds'`, "Source node with id 'b2' not found"],
    [`COPY 'g' SET id='p1' TO id='b2'`, "Target parent node with id 'b2' not found"],
    [`ORDER 'g' SET id='b2' ABOVE id='b1'`, "Source node with id 'b2' not found"],
    [
      `RELATE FROM id='b2' IN WORKSPACE 'g' TO id='u1' IN WORKSPACE 'p'`,
      "Source node with id 'b2' not found",
    ],
    [
      `RELATE FROM id='u1' IN WORKSPACE 'p' TO id='b2' IN WORKSPACE 'g'`,
      "Target node with id 'b2' not found",
    ],
    [
      `UNRELATE FROM id='b2' IN WORKSPACE 'g' TO id='u1' IN WORKSPACE 'p'`,
      "Source node with id 'b2' not found",
    ],
    [`RESTORE NODE path='/beds/south' TO REVISION HEAD~0`, "Node at path '/beds/south' not found"],
    [`RESTORE TREE NODE id='b2' IN WORKSPACE 'g' TO REVISION HEAD~0`, "Node with id 'b2' not found"],
    [`UPDATE 'g' FOR LOCALE 'de' SET title='x' WHERE id='b2'`, "Node with id 'b2' not found"],
  ])('a node that may not be read is missing: %s [SQL-103]', async (sql, message) => {
    expect(await errorOf(sql, hidden)).toEqual({ code: 'NODE_NOT_FOUND', message });
  });

  it.each([
    [`MOVE 'g' SET id='p1' TO path='/sheds'`, 'Permission denied: cannot delete node /beds/north/basil'],
    [`ORDER 'g' SET id='p1' ABOVE id='p2'`, 'Permission denied: cannot update node /beds/north/basil'],
    [
      `RELATE FROM id='p1' IN WORKSPACE 'g' TO id='u1' IN WORKSPACE 'p'`,
      "Cannot add relation from node in workspace 'g'",
    ],
    [
      `UNRELATE FROM id='p1' IN WORKSPACE 'g' TO id='u1' IN WORKSPACE 'p'`,
      "Cannot remove relation from node in workspace 'g'",
    ],
    [`RESTORE NODE id='p1' TO REVISION HEAD~0`, 'Permission denied: cannot update node /beds/north/basil'],
    [
      `UPDATE 'g' FOR LOCALE 'de' SET title='x' WHERE id='p1'`,
      'Permission denied: cannot translate node /beds/north/basil',
    ],
    [`COPY 'g' SET id='s0' TO path='/beds/north'`, 'Permission denied: cannot create node /beds/north/sheds'],
  ])('a node that may be read and not changed is refused: %s [SQL-103]', async (sql, message) => {
    expect(await errorOf(sql, hidden)).toEqual({ code: 'PERMISSION_DENIED', message });
  });

  it.each([
    [`MOVE 'g' SET ${path} TO id='b1'`, 'MOVE: Cannot move a node into itself'],
    [`MOVE 'g' SET path='/' TO id='b1'`, "MOVE: Root node '/' cannot be moved"],
    [`COPY 'g' SET ${path} TO ${path}`, 'COPY: Cannot copy a node into itself'],
    [
      `COPY TREE 'g' SET id='f0' TO id='p1'`,
      "COPY: Cannot copy a node into its own descendant. Source '/beds' cannot be copied into '/beds/north/basil'",
    ],
    [`COPY 'g' SET path='/' TO id='b1'`, "COPY: Root node '/' cannot be copied"],
    [`ORDER 'g' SET ${path} ABOVE id='b1'`, 'ORDER: Cannot order a node relative to itself'],
    [`ORDER 'g' SET path='/' ABOVE id='b1'`, "ORDER: Root node '/' cannot be reordered"],
    [
      `RELATE FROM id='u1' IN WORKSPACE 'p' TO path='/ana' IN WORKSPACE 'p'`,
      'RELATE: Cannot create a relationship from a node to itself',
    ],
    [`RESTORE NODE path='/' TO REVISION HEAD~0`, "RESTORE: Root node '/' cannot be restored"],
    [
      `MOVE 'g' SET path='/sheds/kept' TO id='b1'`,
      "Cannot move: node '/sheds/kept' is published; unpublish it first",
    ],
    [
      `UPDATE 'g' FOR LOCALE 'de' SET title='x'`,
      'TRANSLATE requires a WHERE clause to identify target node(s)',
    ],
    [`UPDATE 'g' FOR LOCALE 'd e' SET title='x' WHERE id='b1'`, 'TRANSLATE: Invalid locale code: d e'],
    [`UPDATE 'g' FOR LOCALE 'german' SET title='x' WHERE id='b1'`, 'TRANSLATE: Invalid locale code: german'],
    [
      `MOVE 'g' IN BRANCH 'dev' SET id='b1' TO path='/sheds'`,
      "The statement is for branch 'dev', and is run on branch 'main'",
    ],
  ])('%s [SQL-100, SQL-101, SQL-112]', async (sql, message) => {
    expect(await errorOf(sql)).toEqual({ code: 'VALIDATION_FAILED', message });
  });

  it('takes the branch that it runs on [SQL-113]', async () => {
    const rows = await garden.rows(`ORDER 'g' IN BRANCH 'main' SET id='b1' ABOVE id='b2'`);
    expect(rows).toEqual([{ affected_rows: 1 }]);
  });

  it.each([
    `MOVE 'nowhere' SET id='b1' TO path='/'`,
    `COPY 'nowhere' SET id='b1' TO path='/'`,
    `ORDER 'nowhere' SET id='b1' ABOVE id='b2'`,
    `RESTORE NODE id='b1' IN WORKSPACE 'nowhere' TO REVISION HEAD~0`,
    `UPDATE nowhere FOR LOCALE 'de' SET title='x' WHERE id='b1'`,
  ])('an unknown workspace is not found: %s', async (sql) => {
    expect(await errorOf(sql)).toEqual({
      code: 'WORKSPACE_NOT_FOUND',
      message: "Workspace 'nowhere' not found",
    });
  });

  it.each([
    [`MOVE 'g' SET path='/sheds/kept' TO path='/sheds'`, 'answered [{"affected_rows":1}]'],
    [`COPY 'g' SET id='p1' TO id='b1'`, 'NODE_ALREADY_EXISTS'],
    [`COPY TREE 'g' SET id='f0' TO path='/'`, 'NODE_ALREADY_EXISTS'],
    [`COPY 'g' SET id='b1' TO path='/' AS 'sheds'`, 'NODE_ALREADY_EXISTS'],
  ])('a name that is taken is a conflict, at the root too: %s [SQL-100]', async (sql, code) => {
    expect((await errorOf(sql)).code).toBe(code);
  });

  it.each(["id=''", "id='/'", "id='a\u0000b'", `id='${'x'.repeat(5_000)}'`])(
    'a text that can be no id is not looked up: %.20s',
    async (reference) => {
      expect((await errorOf(`MOVE 'g' SET ${reference} TO path='/'`)).code).toBe('NODE_NOT_FOUND');
      expect((await errorOf(`RESTORE NODE ${reference} TO REVISION HEAD~0`)).code).toBe('NODE_NOT_FOUND');
    },
  );

  it.each(["path='/a//b'", "path='/a/../b'", "path='/a\u0000b'"])(
    'a text that can be no path is refused: %s',
    async (reference) => {
      expect((await errorOf(`MOVE 'g' SET ${reference} TO path='/'`)).code).toBe('VALIDATION_FAILED');
    },
  );

  it('takes values as parameters, and refuses those that are no texts', async () => {
    const sql = "ORDER 'g' SET id=$1 ABOVE id=$2";
    expect(await garden.rows(sql, 'b1', 'b2')).toEqual([{ affected_rows: 1 }]);
    await expect(garden.rows(sql, 'b1', 7)).rejects.toThrow('A text is wanted here (line 1, column 30)');
    await expect(garden.rows(sql, 'b1')).rejects.toThrow(
      'Parameter $2 not provided (only 1 parameters given)',
    );
    const relate = "RELATE FROM id='u1' IN WORKSPACE 'p' TO id='u2' IN WORKSPACE 'p' WEIGHT $1";
    await expect(garden.rows(relate, 'heavy')).rejects.toThrow('WEIGHT must be a number');
  });
});

describe('moves, copies and relations by statements', () => {
  it('counts a subtree that is where it is moved to, and writes nothing [SQL-100]', async () => {
    const { revision, rows } = await garden.run(`MOVE 'g' SET id='b1' TO id='f0'`);
    expect({ revision, rows }).toEqual({ revision: null, rows: [{ affected_rows: 3 }] });
  });

  it('copies a subtree with new ids and nothing published', async () => {
    const [row] = await garden.rows(`COPY TREE 'g' SET path='/sheds' TO id='b2' AS 'New Sheds'`);
    expect(row).toEqual({ affected_rows: 2, copied_root_path: '/beds/south/new-sheds' });
    const copy = await garden.read('g', '/beds/south/new-sheds/kept');
    expect(copy.published_at).toBeNull();
    await garden.run(`DELETE FROM 'g' WHERE path = '/beds/south/new-sheds'`);
  });

  it('moves to the root and back', async () => {
    expect(await garden.affected(`MOVE 'g' SET id='b1' TO path='/'`)).toBe(3);
    expect((await garden.read('g', '/north/mint')).id).toBe('p2');
    expect(await garden.affected(`MOVE g SET path='/north' TO path='/beds/'`)).toBe(3);
  });

  it('relates with the type `references` by default, and removes every relation of a pair without a type [SQL-102]', async () => {
    const pair = "FROM id='u3' IN WORKSPACE 'p' TO id='u1' IN WORKSPACE 'p'";
    const relations = async () =>
      (await garden.read('p', '/cid')).relations.map(({ relation_type: type, weight }) => [type, weight]);
    expect(await garden.affected(`RELATE ${pair}`)).toBe(1);
    expect(await garden.affected(`RELATE ${pair} TYPE 'LIKES' WEIGHT 2`)).toBe(1);
    expect(await garden.affected(`RELATE ${pair} TYPE 'LIKES' WEIGHT 3`)).toBe(1);
    expect(await relations()).toEqual([
      ['references', null],
      ['LIKES', 3],
    ]);
    expect(await garden.affected(`UNRELATE ${pair} TYPE 'OTHER'`)).toBe(0);
    expect(await garden.affected(`UNRELATE ${pair}`)).toBe(1);
    expect(await garden.affected(`UNRELATE ${pair}`)).toBe(0);
    expect(await relations()).toEqual([]);
  });

  it('removes relations to a deleted node, by its id and by its last path [SQL-102]', async () => {
    const node = (id: string) => ({ id, name: id, nodeType: 'grow:Person', properties: {} });
    for (const id of ['gone1', 'gone2']) {
      await garden.branch.command({
        type: 'CreateNode',
        workspace: 'p',
        parentPath: '/',
        node: node(id),
        deep: false,
      });
      await garden.run(`RELATE FROM id='u2' IN WORKSPACE 'p' TO id='${id}' IN WORKSPACE 'p'`);
      await garden.run(`DELETE FROM 'p' WHERE id = '${id}'`);
    }
    const from = "UNRELATE FROM id='u2' IN WORKSPACE 'p'";
    expect(await garden.affected(`${from} TO id='gone1' IN WORKSPACE 'p'`)).toBe(1);
    expect(await garden.affected(`${from} TO path='/gone2' IN WORKSPACE 'p'`)).toBe(1);
    expect(await garden.affected(`${from} TO path='/gone2' IN WORKSPACE 'p'`)).toBe(0);
  });

  it('leaves a relation to a node that the caller may not read', async () => {
    const caller = callerWith((_operation, { path: at }) => at !== '/cid');
    for (const target of ["id='u3'", "path='/cid'"]) {
      const sql = `UNRELATE FROM id='u1' IN WORKSPACE 'p' TO ${target} IN WORKSPACE 'p'`;
      expect((await garden.run(sql, { caller })).rows).toEqual([{ affected_rows: 0 }]);
    }
  });

  it('sees what the same transaction has written, and removes it', async () => {
    const sql = `INSERT INTO 'p' (id, path, node_type) VALUES ('u9', '/dan', 'grow:Person');
      RELATE FROM id='u9' IN WORKSPACE 'p' TO id='u1' IN WORKSPACE 'p';
      RELATE FROM id='u1' IN WORKSPACE 'p' TO id='u9' IN WORKSPACE 'p';
      UNRELATE FROM id='u1' IN WORKSPACE 'p' TO path='/dan' IN WORKSPACE 'p'`;
    const everything = callerWith(() => true);
    const { rows } = await garden.run(sql, { isTransaction: true, dryRun: true, caller: everything });
    expect(rows).toEqual([{ affected_rows: 1 }]);
  });
});
