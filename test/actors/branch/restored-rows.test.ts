import { describe, expect, it } from 'vitest';
import { restoredBranchRow } from '#actors/branch/restored-rows.ts';
import { CommonTable } from '#runtime/commit/behaviour.ts';
import { encodeJsonRow } from '#runtime/shard/json-row.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';

const restore = restoredBranchRow((actor) => actor);

describe('a row of a restored branch', () => {
  it('stays, but for jobs that are enqueued again', () => {
    const value = encodeJsonRow({ id: 'x' });
    const meta = CommonTable.meta;
    expect(restore({ table: meta, key: 'outbox\0id', value })).toBeNull();
    expect(restore({ table: meta, key: 'outbox_known', value })).toBe(value);
    expect(restore({ table: meta, key: 'other', value })).toBe(value);
    expect(restore({ table: BranchTable.nodes, key: 'outbox\0id', value })).toBe(value);
  });

  it('of a consumer stays when its effects are rows of the branch', () => {
    const table = BranchTable.consumers;
    for (const [effects, isKept] of [
      ['shard', true],
      ['elsewhere', false],
    ] as const) {
      const value = encodeJsonRow(['name', effects, [7, 0], null]);
      expect(restore({ table, key: 'name', value })).toBe(isKept ? value : null);
    }
  });
});
