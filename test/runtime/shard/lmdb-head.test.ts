import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { inspectHead } from '#runtime/shard/lmdb-head.ts';
import {
  DAMAGED_ROWS,
  type DamagedShardReport,
  damagedRow,
  damagedTables,
  damagedValue,
} from '#test/support/damaged-shards.ts';

const PAGE = 4096;

let folder: string;
let whole: Buffer;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lmdb-head-'));
  const shard = new LmdbShard(join(folder, 'whole'), damagedTables);
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
  // The roots wander to the front, where pages have become free.
  for (let round = 0; round < 20; round += 1) await apply(rows.slice(round * 10, round * 10 + 10));
  await shard.close();
  whole = readFileSync(join(folder, 'whole', 'data.mdb'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Bytes that mean nothing, the same each time. */
function noise(length: number): Buffer {
  const blocks = Array.from({ length: Math.ceil(length / 64) }, (_, block) =>
    createHash('sha512').update(`${length}/${block}`).digest(),
  );
  return Buffer.concat(blocks).subarray(0, length);
}

/** Reads each file as a shard, all in one process that has to survive it. */
function readAll(files: readonly Buffer[]): DamagedShardReport[] {
  const folders = files.map((bytes, index) => {
    const each = join(folder, `damaged-${index}`);
    mkdirSync(each, { recursive: true });
    writeFileSync(join(each, 'data.mdb'), bytes);
    return each;
  });
  const script = join(import.meta.dirname, '../../support/damaged-shards.ts');
  const told = execFileSync(process.execPath, [script, ...folders], { encoding: 'utf8' });
  for (const each of folders) rmSync(each, { recursive: true });
  return told
    .trim()
    .split('\n')
    .map((line): DamagedShardReport => JSON.parse(line));
}

function overwritten(at: number, bytes: Buffer): Buffer {
  const file = Buffer.from(whole);
  bytes.copy(file, at);
  return file;
}

const refused = expect.objectContaining({ refused: 'DATA_CORRUPTED' });

describe('a shard whose file', () => {
  it('is whole is opened, and what LMDB left free at its end is not asked for', () => {
    expect(readAll([whole])).toEqual([expect.objectContaining({ right: DAMAGED_ROWS, refused: null })]);
    expect(inspectHead(join(folder, 'whole', 'data.mdb'))).toEqual({ isSound: true, missingBytes: 0 });
  });

  it('has another head than LMDB wrote is refused, and ends no process', () => {
    const damaged = [
      overwritten(0, noise(2 * PAGE)),
      overwritten(0, noise(PAGE)),
      overwritten(PAGE, noise(PAGE)),
      overwritten(PAGE / 2, noise(PAGE / 2)),
      overwritten(0, noise(24)),
      overwritten(24, noise(200)),
      overwritten(0, Buffer.alloc(2 * PAGE)),
      overwritten(0, Buffer.from('text '.repeat(2000))),
      overwritten(48, Buffer.alloc(4, 0xff)),
    ];
    expect(readAll(damaged)).toEqual(damaged.map(() => refused));
  });

  it('lost its end is refused, or has what is there right and nothing of what is not, and ends no process', () => {
    const pages = whole.length / PAGE;
    const cuts = [
      1,
      2,
      3,
      4,
      ...Array.from({ length: 24 }, (_, part) => Math.floor((pages * (part + 1)) / 25)),
    ];
    const lengths = [...cuts.map((cut) => cut * PAGE), whole.length - PAGE, whole.length - 100, 100];
    const reports = readAll(lengths.map((length) => whole.subarray(0, length)));
    for (const report of reports) expect(report.wrong).toBe(0);
    // Both kinds.
    expect(reports.slice(0, 2)).toEqual([refused, refused]);
    const opened = reports.filter((report) => report.refused === null);
    expect(opened.length).toBeGreaterThan(0);
    expect(opened.some(({ missing, right }) => right > 0 && missing > 0)).toBe(true);
  });
});
