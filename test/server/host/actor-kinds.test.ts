import { describe, expect, it } from 'vitest';
import { commitNodesMax } from '#server/host/actor-kinds.ts';

const MIB = 1024 * 1024;

describe('the nodes of one commit', () => {
  it('are as many as configured where the heap has room for them', () => {
    expect(commitNodesMax(100_000, 4_096 * MIB)).toBe(100_000);
    expect(commitNodesMax(500, 64 * MIB)).toBe(500);
  });

  it('are fewer in a small heap, of which they take a third beside what an idle process needs', () => {
    expect(commitNodesMax(100_000, 1_024 * MIB)).toBe(63_351);
    expect(commitNodesMax(100_000, 160 * MIB)).toBe(4_369);
    expect(commitNodesMax(100_000, 1)).toBe(546);
  });
});
