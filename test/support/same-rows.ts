import { createHash } from 'node:crypto';
import { expect } from 'vitest';
import { commonTableNames } from '#runtime/commit/behaviour.ts';
import { branchTableNames } from '#runtime/shard/key-layout.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { findDamage } from './branch-checker.ts';
import type { MemberCluster } from './member-cluster.ts';

const tableNames = [...commonTableNames, ...branchTableNames];

/**
 * Ends all members, and expects each of them to have the same whole rows of the branch `main` of each repository.
 *
 * @param rowsMin more rows than this are there
 */
export async function expectSameRows(
  cluster: MemberCluster,
  repositories: readonly string[],
  rowsMin: number,
): Promise<void> {
  // The last one has nobody to hand over to.
  for (const member of cluster.members) expect(await member.drain()).toBe(0);
  for (const repository of repositories) {
    const folders = cluster.branchFolders(repository);
    expect(folders).toHaveLength(cluster.members.length);
    const rows: string[][] = [];
    for (const folder of folders) {
      const shard = new LmdbShard(folder, tableNames);
      expect(findDamage(shard)).toEqual([]);
      rows.push([...allRows(shard)]);
      await shard.close();
    }
    const [first, ...others] = rows;
    expect(first?.length).toBeGreaterThan(rowsMin);
    for (const other of others) expect(other).toEqual(first);
  }
}

function* allRows(shard: LmdbShard): Generator<string, void> {
  for (const table of tableNames.keys())
    for (const { key, value } of shard.range(table, { start: '', end: '\u00ff' }))
      yield `${table} ${Buffer.from(key, 'latin1').toString('hex')} ${createHash('sha256').update(value).digest('hex')}`;
}
