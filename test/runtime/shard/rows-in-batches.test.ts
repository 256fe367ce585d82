import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';

describe('rows in batches', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rows-'));
  let shard: LmdbShard;
  const keys = Array.from({ length: 700 }, (_, index) => `k${String(index).padStart(4, '0')}`);

  beforeAll(async () => {
    shard = new LmdbShard(folder, ['a']);
    // A few values fill a batch by their size alone.
    const writes = keys.map((key, index) => ({
      table: 0,
      key,
      value: Buffer.alloc(index % 100 === 0 ? 300_000 : 3, index % 251),
    }));
    await shard.apply(writes, { sequence: 1, clock: revisionZero }).flushed;
  });
  afterAll(async () => {
    await shard.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it('are the rows of the range, in either direction, as many as are wanted', () => {
    const bound = fc.nat({ max: 720 }).map((index) => `k${String(index).padStart(4, '0')}`);
    const most = fc.oneof(fc.nat({ max: 800 }), fc.constant(Number.POSITIVE_INFINITY));
    fc.assert(
      fc.property(bound, bound, fc.boolean(), most, (start, end, reverse, wanted) => {
        const inside = keys.filter((key) => key >= start && key < end);
        const rows = [...rowsInBatches(shard, 0, { start, end, reverse }, wanted)];
        const expected = (reverse ? inside.reverse() : inside).slice(0, Math.min(wanted, inside.length));
        expect(rows.map((row) => row.key)).toEqual(expected);
        for (const { key, value } of rows) expect(value[0]).toBe(Number(key.slice(1)) % 251);
      }),
      { numRuns: 60 },
    );
  });
});
