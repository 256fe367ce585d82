import { describe, expect, it } from 'vitest';
import { actorNumber, LastWrites } from '#server/check/last-writes.ts';

interface Made {
  readonly actor: number;
  readonly table: number;
  readonly key: string;
}

/** Writes of some actors to some keys, each several times. */
const writes: readonly Made[] = Array.from({ length: 3_000 }, (_, index) => ({
  actor: actorNumber(`actor ${index % 3}`),
  table: index % 2,
  key: `key ${(index * 7) % 500}`,
}));

describe('the last write of each key', () => {
  it.each([writes.length, 400, 64])('is found with %i keys remembered at a time', (keysPerPassMax) => {
    const wanted = new Map<string, number>();
    for (const [index, { actor, key, table }] of writes.entries())
      wanted.set(`${actor} ${table} ${key}`, index + 1);
    const last = new LastWrites(writes.length, keysPerPassMax);
    expect(last.passes).toBe(Math.ceil(writes.length / keysPerPassMax));
    const found: number[] = [];
    for (let pass = 0; pass < last.passes; pass += 1) {
      last.begin(pass);
      for (const [index, { actor, key, table }] of writes.entries()) last.note(actor, table, key, index + 1);
      for (const [index, { actor, key, table }] of writes.entries())
        if (last.isLast(actor, table, key, index + 1)) found.push(index + 1);
    }
    expect(found.sort((a, b) => a - b)).toEqual([...wanted.values()].sort((a, b) => a - b));
  });
});
