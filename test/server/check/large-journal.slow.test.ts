import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contentOf, discard, filesIn } from '#test/support/damaged-directory.ts';
import { LARGE_KEYS, largeActor, makeLargeJournal } from '#test/support/large-journal.ts';
import { runProgram } from '#test/support/run-program.ts';
import { statSync } from 'node:fs';

/** Heap of the programs, in MiB. */
const HEAP_MB = 64;

/** The objects of as many writes do not fit into that heap, nor does the journal. */
const WRITES = 1_200_000;

const node = [`--max-old-space-size=${HEAP_MB}`];

let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'grove-large-'));
  await makeLargeJournal(join(folder, 'data'), WRITES);
});

afterAll(() => discard(folder));

describe('a journal that does not fit into the heap', () => {
  it('is compared with the shards by check-data [CHK-009]', async () => {
    const data = join(folder, 'data');
    const bytes = filesIn(join(data, 'journal'), '.journal').reduce(
      (sum, path) => sum + statSync(path).size,
      0,
    );
    expect(bytes).toBeGreaterThan(HEAP_MB * 1024 * 1024);
    const { stderr, stdout } = await runProgram(
      'server/check/check-data.ts',
      ['--data-dir', data, '--json'],
      {},
      node,
    );
    const report = JSON.parse(stdout) as { damage: { actor?: string }[]; journal: { records: number } };
    expect(stderr).not.toContain('heap');
    expect(report.journal.records).toBeGreaterThan(WRITES / 1_000);
    expect(report.damage.filter(({ actor }) => actor === largeActor)).toEqual([]);
  });

  it('is brought over by salvage, to the last write of each key [CHK-009]', async () => {
    const into = join(folder, 'salvaged');
    const { code, stderr } = await runProgram(
      'server/salvage/salvage.ts',
      ['--from', join(folder, 'data'), '--into', into],
      {},
      node,
    );
    expect([code, stderr]).toEqual([3, '']);
    const rows = [...contentOf(into, largeActor)];
    expect(rows).toHaveLength(LARGE_KEYS);
    const last = rows.map((row) => Number(/"written":(\d+)/.exec(row)?.[1]));
    expect(Math.min(...last)).toBe(WRITES - LARGE_KEYS);
  });
});
