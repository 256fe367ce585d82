import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SqlChanged } from '#actors/branch/sql-messages.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { engineUser } from '#test/support/engine.ts';
import { roleCaller } from '#test/support/role-caller.ts';
import { type ChangeSetup, changeCommand } from '#test/support/sql-changes.ts';
import { BRANCH, CONTENT, openTestBranch, type TestBranch } from '#test/support/test-branch.ts';

let folder: string;
let branch: TestBranch;
let numbers = 0;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'grove-recall-sql-'));
  branch = await openTestBranch(folder);
});

afterAll(async () => {
  await branch.engine.close();
  rmSync(folder, { recursive: true });
});

const long = 'a text of some length '.repeat(100);

/** Sends statements as another member does, and again when the node at `/n<number>` was changed. */
async function twice(
  sql: string,
  { again, caller = engineUser, ...setup }: ChangeSetup & { readonly again?: Caller } = {},
): Promise<readonly [SqlChanged, SqlChanged]> {
  numbers += 1;
  const call = { session: '0011223344556678', slot: 0, number: numbers };
  const send = (by: Caller) =>
    branch.engine.host.command(BRANCH, changeCommand(sql, setup), {
      caller: by,
      call,
    }) as Promise<SqlChanged>;
  const first = await send(caller);
  await branch.command({
    type: 'CreateNode',
    workspace: CONTENT,
    parentPath: '/',
    node: { name: `later${numbers}`, nodeType: 'svc:Folder', properties: {} },
    deep: false,
  });
  return [first, await send(again ?? caller)];
}

const insert = (name: string, text = long): string =>
  `INSERT INTO '${CONTENT}' (path, node_type, properties) VALUES ('/${name}', 'svc:Folder', '{"text":"${text}","secret":"s"}')`;

describe('statements that are repeated take effect once, and answer the same again', () => {
  it.each([
    ['a count', insert('a')],
    ['short rows', `${insert('b')} RETURNING path`],
    ['long rows', `${insert('c')} RETURNING path, properties`],
    [
      'long rows of an update',
      `UPDATE '${CONTENT}' SET owner_id = 'u' WHERE path = '/c' RETURNING properties, updated_at`,
    ],
    [
      'long rows of a deletion',
      `DELETE FROM '${CONTENT}' WHERE path = '/c' RETURNING id, properties, owner_id`,
    ],
  ])('%s', async (_what, sql) => {
    const [first, again] = await twice(sql);
    expect(first.revision).not.toBeNull();
    expect(again).toEqual(first);
  });

  it('paths that are long', async () => {
    const [above, name] = ['r'.repeat(250), 's'.repeat(250)];
    const parents = [1, 2, 3].map((depth) => `/${Array.from({ length: depth }, () => above).join('/')}`);
    for (const path of [...parents, `${parents[2]}/${name}`])
      await twice(`INSERT INTO '${CONTENT}' (path, node_type) VALUES ('${path}', 'svc:Folder')`);
    const node = `path='${parents[2]}/${name}'`;
    const copy = await twice(`COPY '${CONTENT}' SET ${node} TO path='${parents[2]}' AS '${'t'.repeat(250)}'`);
    await twice(`UPDATE '${CONTENT}' SET owner_id = 'u' WHERE ${node.replace('=', ' = ')}`);
    const restored = await twice(`RESTORE NODE ${node} IN WORKSPACE '${CONTENT}' TO REVISION HEAD~1`);
    for (const [first, again] of [copy, restored]) {
      expect(first.rows.length).toBeGreaterThan(1_024);
      expect(again).toEqual(first);
    }
  });

  it('the rows of a query at the end, as the statements have left them', async () => {
    const sql = `${insert('q')}; SELECT path, properties FROM '${CONTENT}' WHERE CHILD_OF('/') ORDER BY path`;
    const [first, again] = await twice(sql, { isTransaction: true });
    expect(again).toEqual(first);
    expect(first.rows).toContain('"/q"');
  });
});

it('a repetition shows what its caller may see now', async () => {
  const everything = { path: '**', operations: ['read', 'create', 'update', 'delete'] };
  const caller = roleCaller([everything]);
  const again = roleCaller([{ ...everything, except_fields: ['secret'] }]);
  const sql = `${insert('r', 'short')} RETURNING path, properties->>'secret' AS s`;
  const [first, second] = await twice(sql, { caller, again });
  expect(JSON.parse(first.rows)).toEqual([{ path: '/r', s: 's' }]);
  expect(JSON.parse(second.rows)).toEqual([{ path: '/r', s: null }]);
  expect(second.revision).toBe(first.revision);
});

it('a repetition shows of access what its caller may see now', async () => {
  const sql = `${insert('v', 'short')}; SHOW ROLES`;
  const [first, second] = await twice(sql, {
    isTransaction: true,
    again: roleCaller([{ path: '/v', operations: ['read'] }]),
  });
  expect(first.rowCount).toBeGreaterThan(0);
  expect(second).toEqual({ ...first, rows: '[]', rowCount: 0 });
});

it('a dry run that is repeated under a key is done and undone again', async () => {
  const caller = roleCaller([{ path: '**', operations: ['read', 'create'] }]);
  const idempotency = { key: 'tried', requestHash: 'h' };
  const command = changeCommand(`${insert('w')} RETURNING path`, { dryRun: true });
  for (const _time of ['first', 'again']) {
    const tried = await branch.engine.host.command(BRANCH, command, { caller, idempotency });
    expect(tried).toMatchObject({ revision: null, rows: '[{"path":"/w"}]' });
  }
  const [created] = await twice(`${insert('w')} RETURNING version`, { caller });
  expect(created.rows).toBe('[{"version":1}]');
});
