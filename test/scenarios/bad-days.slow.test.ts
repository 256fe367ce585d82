import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { CommitOperation, NodePage } from '#actors/branch/messages.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { CONTENT, openBranchShard, openTestBranch } from '#test/support/test-branch.ts';

/** robustness.slow.test.ts has the hundred thousand that are promised, on a server; here they are restarted and compared. */
const CHILDREN = 25_000;
const PER_COMMIT = 5000;

it('keeps many thousand children of one parent in order, listed by pages, with whole indexes, over a restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'children-'));
  let branch = await openTestBranch(folder);
  await branch.create('/parent');
  for (let start = 0; start < CHILDREN; start += PER_COMMIT) {
    const operations = Array.from({ length: PER_COMMIT }, (_, index): CommitOperation => {
      const name = `n${start + index}`;
      const properties = { title: name, rank: (start + index) % 100, code: name };
      return { type: 'create', parentPath: '/parent', node: { name, nodeType: 'test:Article', properties } };
    });
    const commit = { message: `from ${start}` };
    await branch.command({ type: 'CommitOperations', workspace: CONTENT, commit, operations });
  }
  await branch.engine.close();
  branch = await openTestBranch(folder);
  let next = 0;
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const place = { path: '/parent' };
    const query = {
      type: 'ListChildren',
      workspace: CONTENT,
      place,
      scope: 'site/main',
      limit: 1000,
    } as const;
    const page = (await branch.query(cursor === undefined ? query : { ...query, cursor })) as NodePage;
    const nodes = page.items as unknown as { name: string }[];
    for (const { name } of nodes) {
      if (name !== `n${next}`) throw new Error(`${name} stands where n${next} belongs`);
      next += 1;
    }
    cursor = page.next_cursor;
  }
  expect(next).toBe(CHILDREN);
  await branch.command({ type: 'DeleteNode', workspace: CONTENT, place: { path: '/parent/n12345' } });
  await branch.command({
    type: 'DeleteNode',
    workspace: CONTENT,
    place: { path: `/parent/n${CHILDREN - 1}` },
  });
  await branch.create('/parent/last');
  await branch.engine.close();
  const shard = openBranchShard(folder);
  expect(findDamage(shard)).toEqual([]);
  await shard.close();
  rmSync(folder, { recursive: true });
});
