import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { exportSides } from '#cluster/replica-durability/export-sides.ts';
import { FlushJournal } from '#cluster/replica-durability/flush-journal.ts';
import { foldStart } from '#cluster/replication/log-fold.ts';
import { chainStart, encodeRecord, RecordKind } from '#cluster/replication/record-format.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';

it('writes both sides of a regressed log, message by message', async () => {
  const stream = new MemoryStream();
  const files = new FaultyFileSystem();
  const journal = await FlushJournal.open({
    files,
    folder: '/journal',
    clock: systemClock,
    random: systemRandom,
  });
  const folder = mkdtempSync(join(tmpdir(), 'sides-'));
  try {
    for (let sequence = 1; sequence <= 5; sequence += 1) {
      const clock = { ms: 0, counter: 0 };
      const { bytes, chain } = encodeRecord(
        {
          kind: RecordKind.noop,
          partition: 0,
          entries: 0,
          epoch: 1,
          batch: sequence,
          clock,
          previousChain: chainStart,
        },
        Buffer.alloc(0),
      );
      journal.add('memory', { sequence, bytes }, { ...foldStart, sequence, validSequence: sequence, chain });
      if (sequence <= 3) stream.append(sequence - 1, bytes);
    }
    await journal.whenFlushed(5);
    expect(await exportSides(stream.link(), journal, folder)).toEqual({ stream: 3, journal: 5 });
    const linesOf = (name: string) =>
      readFileSync(join(folder, name), 'utf8')
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { sequence: number; epoch: number; bytes: string });
    expect(linesOf('journal.jsonl').slice(0, 3)).toEqual(linesOf('stream.jsonl'));
    expect(linesOf('journal.jsonl').at(-1)).toMatchObject({ sequence: 5, epoch: 1 });
  } finally {
    await journal.close();
    rmSync(folder, { recursive: true });
  }
});
