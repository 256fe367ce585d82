import { describe, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import { partitionOf } from '#runtime/directory/partition.ts';

describe('the partition of an actor', () => {
  it('never changes: stored data rests on it', () => {
    const actors = [
      actorId('default', 'tenant'),
      actorId('default', 'blog~1', 'repository'),
      actorId('default', 'blog~1', 'main~1', 'branch'),
      actorId('acme', 'blog~1', 'main~1', 'locks'),
    ];
    expect(actors.map((actor) => partitionOf(actor, 32))).toEqual([17, 30, 30, 16]);
  });

  it('spreads repositories, and keeps tenants apart from them', () => {
    const partitions = new Set<number>();
    for (let index = 0; index < 500; index++)
      partitions.add(partitionOf(actorId('default', `r${index}~1`, 'jobs'), 32));
    expect(partitions.size).toBe(32);
  });

  it('refuses a number of partitions no cluster has', () => {
    for (const count of [0, 257]) expect(() => partitionOf('a/tenant', count)).toThrow('1 to 256');
  });
});
