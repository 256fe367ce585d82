import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

const NODES = 60;
/** Empty objects of each node: 45 kB as they are stored, and about a megabyte once they are read. */
const OBJECTS = 15_000;

let branch: BranchFixture;

beforeAll(async () => {
  branch = await openBranch();
  const objects = Array.from({ length: OBJECTS }, () => ({}));
  await branch.command({
    type: 'CommitOperations',
    workspace: WORKSPACE,
    commit: { message: 'large' },
    operations: Array.from({ length: NODES }, (_, n) => ({
      type: 'create',
      parentPath: '/',
      node: { name: `n${n}`, nodeType: 'svc:Folder', properties: { n: n % 7, objects } },
    })),
  });
});

afterAll(() => branch.close());

function read(sql: string): Promise<unknown> {
  return branch.query({ type: 'RunSql', sql, parameters: [] });
}

describe('whole properties that are large once they are read', () => {
  it.each([
    'SELECT id FROM content ORDER BY properties',
    'SELECT id FROM content ORDER BY properties LIMIT 59',
    'SELECT id, MAX(properties) OVER (ORDER BY id ROWS BETWEEN 50 PRECEDING AND 50 FOLLOWING) AS p FROM content',
  ])('are refused where more of them are kept than memory: %s', async (sql) => {
    await expect(read(sql)).rejects.toMatchObject({ code: 'REQUEST_TOO_EXPENSIVE' });
  });

  it('are answered where they are only written', async () => {
    const answer = await read('SELECT name, properties FROM content');
    expect(answer).toBeDefined();
  });
});
