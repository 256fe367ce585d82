import { queryObjects } from 'node:v8';
import { afterEach, describe, expect, it } from 'vitest';
import type { ConflictList } from '#actors/branch/merge-messages.ts';
import { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { WORKSPACE } from '#test/support/branch-family.ts';
import { ARTICLE, articleId, mergingBranches, ours, stricter, text } from './merging-branches.ts';

const workspace = WORKSPACE;

describe('violations of a merge of many nodes', () => {
  const branches = mergingBranches();
  const { pair, define, create, update, merge, resolve, conflicts } = branches;

  describe('of unique values of many nodes', () => {
    const NODES = 300;
    const { property } = NodeRecord.prototype;
    afterEach(() => {
      NodeRecord.prototype.property = property;
    });

    it('are found without the records of all of them in memory', async () => {
      const [target, source] = await pair();
      const properties = [text('code')];
      for (const name of ['test:Base', 'test:Kid']) await define(target, name, { properties });
      const [first, ...others] = Array.from({ length: NODES }, (_, index) => String(index));
      await create(target, '/first', 'test:Kid', { code: first as string });
      await Promise.all(others.map((code) => create(target, `/n${code}`, 'test:Kid', { code })));
      await create(target, '/last', 'test:Kid', { code: first as string });
      await merge(source, target);
      await define(source, 'test:Base', { properties: [text('code', { unique: true })] });
      await define(target, 'test:Kid', { extends: 'test:Base', properties: [] });
      const before = queryObjects(NodeRecord, { format: 'count' });
      let reads = 0;
      let most = 0;
      // Not a spy, which keeps the records that it was called on.
      NodeRecord.prototype.property = function (this: NodeRecord, name) {
        reads += 1;
        // Each count collects garbage first.
        if (reads % (NODES - 1) === 0) most = Math.max(most, queryObjects(NodeRecord, { format: 'count' }));
        return property.call(this, name);
      };
      const { conflicts: listed } = await branches.family.query<ConflictList>(target, {
        type: 'ListConflicts',
        source: branches.family.actor(source),
      });
      expect(listed.map(({ node_id }) => node_id)).toEqual(['node_type:test:Base', 'node_type:test:Kid']);
      expect(listed[0]?.violations?.[0]?.message).toContain("'/first' and '/last' have the same value");
      expect(most).toBeGreaterThan(0);
      expect(most - before).toBeLessThan(NODES / 4);
    });
  });

  it('lists as many as fit, and counts all of them with the definition they do not suit', async () => {
    const [target, source] = await pair();
    const operations = Array.from({ length: 10_050 }, (_, index) => {
      const name = `n${String(index).padStart(5, '0')}`;
      const node = { name, id: name, nodeType: ARTICLE, properties: { title: name } };
      return { type: 'create', parentPath: '/', node } as const;
    });
    const commit = { message: 'many' };
    await branches.family.command(target, { type: 'CommitOperations', workspace, commit, operations });
    await define(source, ARTICLE, stricter);
    // What both sides changed differently counts as well.
    await update(source, '/old', { title: 'theirs', author: 'ada' });
    await update(target, '/old', { title: 'ours' });
    const query = { type: 'ListConflicts', source: branches.family.actor(source) } as const;
    const { conflicts: listed } = await branches.family.query<ConflictList>(target, query);
    expect(listed).toHaveLength(10_000);
    expect(listed[0]).toMatchObject({ node_id: articleId, violations: [{ count: 10_050 }] });
    expect(listed.at(-1)).toMatchObject({ node_id: 'old' });
    expect((await resolve(target, source, [])).conflicts).toEqual(listed);
    expect(await resolve(target, source, [ours(articleId), ours('old')])).toMatchObject({ success: true });
    expect(await conflicts(target, source)).toEqual([]);
  });
});
