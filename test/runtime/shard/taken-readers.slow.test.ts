import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import type { ShardSnapshot } from '#runtime/shard/shard.ts';

it('refuses to pin more states than it has readers for, and pins one again when one is closed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'taken-readers-'));
  const shard = new LmdbShard(folder, ['', 'one']);
  const pinned: ShardSnapshot[] = [];
  let sequence = 0;
  /** Pins a state of its own. */
  const pin = async (): Promise<void> => {
    sequence += 1;
    const write = { table: 1, key: 'key', value: Buffer.from(`${sequence}`) };
    await shard.apply([write], { sequence, clock: { ms: sequence, counter: 0 } }).committed;
    pinned.push(shard.snapshot());
  };
  try {
    const filling = async (): Promise<void> => {
      while (pinned.length < 2000) await pin();
    };
    await expect(filling()).rejects.toMatchObject({ code: 'OVERLOADED' });
    expect(pinned.length).toBeGreaterThan(1000);
    // Nothing was copied over it, although nothing can be read.
    expect(() => shard.get(1, 'key')).toThrow(expect.objectContaining({ code: 'OVERLOADED' }));
    expect(() => shard.requireUntouched()).not.toThrow();
    for (const one of pinned.splice(0, 2)) one.close();
    await pin();
    expect(Buffer.from(pinned.at(-1)?.get(1, 'key') ?? []).toString()).toBe(`${sequence}`);
  } finally {
    for (const one of pinned) one.close();
    await shard.close();
    rmSync(folder, { recursive: true });
  }
});
