import { mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { trustedRoot } from '#runtime/shard/lmdb-head.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { verifyShard } from '#runtime/shard/verify-shard.ts';
import { DAMAGED_ROWS, damagedRow, damagedTables, damagedValue } from '#test/support/damaged-shards.ts';

const PAGE = 4096;

let folder: string;
let path: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'verify-shard-'));
  path = join(folder, 'data.mdb');
  const shard = new LmdbShard(folder, damagedTables);
  const rows = Array.from({ length: DAMAGED_ROWS }, (_, row) => ({
    ...damagedRow(row),
    value: damagedValue(row),
  }));
  let sequence = 0;
  const apply = (writes: typeof rows): Promise<void> => {
    sequence += 1;
    return shard.apply(writes, { sequence, clock: { ms: 1_700_000_000_000, counter: 0 } }).flushed;
  };
  await apply(rows);
  for (let round = 0; round < 20; round += 1) await apply(rows.slice(round * 10, round * 10 + 10));
  await shard.close();
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function verify(): string | undefined {
  const work = verifyShard(path);
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

function change(how: (bytes: Buffer) => void): void {
  const bytes = readFileSync(path);
  how(bytes);
  writeFileSync(path, bytes);
}

/** The first page of the list of free pages that has lists itself. */
function freeLeaf(bytes: Buffer): number {
  let page = Number(trustedRoot(path)?.free.root);
  while ((bytes.readUInt16LE(page * PAGE + 18) & 2) === 0)
    page = bytes.readUInt32LE(page * PAGE + 24 + bytes.readUInt16LE(page * PAGE + 24));
  return page * PAGE;
}

describe('the verification of all pages of a shard', () => {
  it('finds nothing in a whole file, in none, and in one that was never written to', async () => {
    expect(verify()).toBeUndefined();
    truncateSync(path, 0);
    expect(verify()).toBeUndefined();
    rmSync(path);
    expect(verify()).toBeUndefined();
    await new LmdbShard(folder, []).close();
    expect(verify()).toBeUndefined();
  });

  it('finds nothing after large values were overwritten, shortened and removed, also under a reader', async () => {
    const shard = new LmdbShard(folder, damagedTables);
    const reader = shard.snapshot();
    const at = (sequence: number) => ({ sequence, clock: { ms: 1_700_000_000_000, counter: 0 } });
    for (let round = 0; round < 30; round += 1) {
      const large = (bytes: number) => ({
        table: 0,
        key: `large ${round % 7}`,
        value: Buffer.alloc(bytes, round),
      });
      // In one transaction LMDB leaves a shorter value in the pages of the longer one.
      const writes = [large(60_000), large(20_000), { table: 1, key: `row ${round * 6 + 1}`, value: null }];
      await shard.apply(writes, at(100 + round)).flushed;
      if (round === 20) reader.close();
      if (round % 5 === 0) expect(verify()).toBeUndefined();
    }
    await shard.close();
    expect(verify()).toBeUndefined();
  });

  it('finds a value that is longer than its page', () => {
    change((bytes) => {
      const at = bytes.indexOf('position');
      for (let each = at; each >= 0; each = bytes.indexOf('position', each + 1)) bytes[each - 6] = 0xff;
    });
    expect(verify()).toMatch(/_shard: page \d+ has a value that is longer than it/);
  });

  it('finds a file without its end', () => {
    truncateSync(path, Math.floor(readFileSync(path).length / 2 / PAGE) * PAGE);
    expect(verify()).toBeDefined();
  });

  it('finds a free page that is no page, is used, or is free twice', () => {
    const whole = readFileSync(path);
    const root = trustedRoot(path);
    const used = root?.root as bigint;
    for (const wrong of [2n ** 40n, 1n, used]) {
      writeFileSync(path, whole);
      change((bytes) => {
        const leaf = freeLeaf(bytes);
        const node = leaf + 24 + bytes.readUInt16LE(leaf + 24);
        const value = node + 8 + bytes.readUInt16LE(node + 6);
        // What counts as the first page of all that are free.
        bytes.writeBigInt64LE(1n, value);
        bytes.writeBigInt64LE(wrong, value + 8);
      });
      expect(verify(), String(wrong)).toMatch(/^free pages: pages? \d+/);
    }
  });

  it('finds what is wrong with any page that is overwritten and has a use', () => {
    const whole = readFileSync(path);
    const root = Number(trustedRoot(path)?.root);
    for (const page of [root, Number(trustedRoot(path)?.free.root)]) {
      writeFileSync(path, whole);
      change((bytes) => bytes.fill(0xa5, page * PAGE, (page + 1) * PAGE));
      expect(verify()).toBeDefined();
    }
  });
});
