import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BranchFixture, openBranch } from '#test/support/branch-fixture.ts';
import { change, transact } from '#test/support/sql-changes.ts';

let branch: BranchFixture;

beforeAll(async () => {
  branch = await openBranch();
});

afterAll(() => branch.close());

it('a type of a dry run is unknown to the next command, also of the same batch', async () => {
  const insert = (name: string): string =>
    `INSERT INTO 'content' (path, node_type) VALUES ('/${name}', 'tried:Type')`;
  const [tried, later] = await Promise.allSettled([
    transact(branch, `CREATE NODETYPE 'tried:Type'; ${insert('a')}`, { dryRun: true }),
    change(branch, insert('b')),
  ]);
  expect(tried).toMatchObject({ status: 'fulfilled', value: { revision: null } });
  expect(later).toMatchObject({
    status: 'rejected',
    reason: { code: 'VALIDATION_FAILED', message: expect.stringContaining('tried:Type') },
  });
});

it('a type of statements that fail is unknown to the next command of the same batch', async () => {
  const insert = `INSERT INTO 'content' (path, node_type) VALUES ('/c', 'failed:Type')`;
  const [failed, later] = await Promise.allSettled([
    transact(branch, `CREATE NODETYPE 'failed:Type'; ${insert}; ${insert}`),
    change(branch, insert),
  ]);
  expect(failed).toMatchObject({ status: 'rejected', reason: { code: 'NODE_ALREADY_EXISTS' } });
  expect(later).toMatchObject({ status: 'rejected', reason: { code: 'VALIDATION_FAILED' } });
});

it('a node that a statement writes twice gives one row', async () => {
  const rows = `('/twice', 'svc:Folder', 'a'), ('/twice', 'svc:Folder', 'b')`;
  const sql = `UPSERT INTO 'content' (path, node_type, owner_id) VALUES ${rows} RETURNING path, owner_id`;
  expect((await change(branch, sql)).rows).toEqual([{ path: '/twice', owner_id: 'b' }]);
});
