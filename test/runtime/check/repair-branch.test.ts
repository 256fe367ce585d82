import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { repairBranch } from '#runtime/check/repair-branch.ts';
import {
  compareRevisions,
  decodeRevisionDescending,
  parseRevision,
  REVISION_BYTES,
} from '#runtime/content/revision.ts';
import { BranchTable, nodeVersionsUpTo } from '#runtime/shard/key-layout.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { type BranchFixture, openBranch, WORKSPACE as workspace } from '#test/support/branch-fixture.ts';

const nodeType = 'svc:Folder';
let branch: BranchFixture;

beforeEach(async () => {
  branch = await openBranch();
});

afterEach(() => branch.close());

describe('the former place of a node', () => {
  it.each([
    ['of which no state is left', () => true],
    ['of which only deletions are left', (_: boolean, length: number) => length > 0],
    ['of which only a later state is left', (isLater: boolean, length: number) => !isLater && length > 0],
  ])('%s is empty after a repair, and does not show again what it had replaced', async (_, isLost) => {
    await branch.create('/parent');
    await branch.create('/other');
    const { id: nodeId } = await branch.create('/parent/place');
    // Its id was there before, and was deleted.
    await branch.command({
      type: 'CommitOperations',
      workspace,
      commit: { message: 'first' },
      operations: [
        { type: 'create', parentPath: '/other', node: { id: 'b', name: 'first', nodeType, properties: {} } },
      ],
    });
    await branch.command({ type: 'DeleteNode', workspace, place: { id: 'b' } });
    const { revision } = await branch.command({
      type: 'CommitOperations',
      workspace,
      commit: { message: 'replaced' },
      operations: [
        { type: 'move', nodeId, newPath: '/other/moved' },
        { type: 'create', parentPath: '/parent', node: { id: 'b', name: 'place', nodeType, properties: {} } },
      ],
    });
    await branch.command({ type: 'UpdateNode', workspace, place: { id: 'b' }, properties: { later: true } });
    await branch.command({ type: 'DeleteNode', workspace, place: { id: 'b' } });
    const at = parseRevision(revision as string);
    const place = { path: '/parent' };
    const children = async () => {
      const listed = await branch.query({ type: 'ListChildren', workspace, place, scope: '', at });
      return (listed as { path: string }[]).map(({ path }) => path);
    };
    expect(await branch.inspect((reader) => [...repairBranch(reader, () => {})])).toEqual([]);
    expect(await children()).toEqual(['/parent/place']);
    const table = BranchTable.nodeVersions;
    const states = await branch.inspect((reader) => [
      ...reader.range(table, nodeVersionsUpTo(workspace, 'b')),
    ]);
    expect(states).toHaveLength(5);
    const lost = states.filter(({ key, value }) => {
      const written = decodeRevisionDescending(key, key.length - REVISION_BYTES);
      return isLost(compareRevisions(written, at) > 0, value.length);
    });
    expect(lost).not.toEqual([]);
    await branch.rewrite(lost.map(({ key }) => ({ table, key, value: null })));
    await branch.rewrite(await branch.inspect((reader) => [...repairBranch(reader, () => {})]));
    expect(await children()).toEqual([]);
    expect(await branch.isMissing('/parent/place', at)).toBe(true);
    expect((await branch.read('/other/moved', at)).id).toBe(nodeId);
    expect(await branch.inspect((reader) => [...repairBranch(reader, () => {})])).toEqual([]);
    expect(await branch.inspect(findDamage)).toEqual([]);
  });
});
