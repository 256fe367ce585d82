import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { realFileSystem } from '#runtime/base/files/file-system.ts';
import type { JournalDurability } from '#runtime/embedded/journal/journal-options.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { encodeLargeEntry } from '#runtime/log/entry-codec.ts';
import { entriesOf, numberedEntry, numberOf, plain, recordsOf } from '#test/support/log-entries.ts';
import { logConformance } from '../../log/log-conformance.ts';
import { FOLDER, openJournal } from './journal-harness.ts';

const SEGMENT_BYTES = 4096;

for (const durability of ['local', 'relaxed'] satisfies JournalDurability[]) {
  for (const segmentBytes of [64 * 1024 * 1024, SEGMENT_BYTES]) {
    logConformance(`journal, ${durability}, segments of ${segmentBytes} bytes`, async () => {
      const parent = await mkdtemp(join(tmpdir(), 'grove-journal-'));
      const folder = join(parent, 'data', 'journal');
      return {
        open: async () => (await openJournal(realFileSystem, { folder, durability, segmentBytes })).journal,
        dispose: () => rm(parent, { recursive: true }),
      };
    });
  }
}

/** Appends one after another, each a record of its own. */
async function appendAll(
  journal: { append: (entry: ReturnType<typeof numberedEntry>) => Promise<number> },
  actor: string,
  from: number,
  to: number,
): Promise<void> {
  for (let number = from; number <= to; number += 1) await journal.append(numberedEntry(actor, number, 900));
}

/** Lets the event loop turn, longer than any removal takes. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise<void>((resolve) => setImmediate(resolve));
}

describe('Journal group commit', () => {
  it('acknowledges only after the flush of the record [DUR-014]', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files);
    for (let number = 1; number <= 5; number += 1) {
      await journal.append(numberedEntry('a', number));
      const { journal: lost } = await openJournal(files.crash('drop-unsynced'));
      expect((await entriesOf(lost)).map(numberOf)).toHaveLength(number);
    }
  });

  it('flushes once for the entries of all actors that arrive together', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files);
    await journal.append(numberedEntry('a', 0));
    const before = files.calls.get('datasync') ?? 0;
    await Promise.all(
      Array.from({ length: 64 }, (_, number) => journal.append(numberedEntry(`actor${number}`, number))),
    );
    expect((files.calls.get('datasync') ?? 0) - before).toBe(1);
  });

  it('splits what arrives together when it is more than one record may hold', async () => {
    const { journal } = await openJournal(new FaultyFileSystem());
    await Promise.all(
      Array.from({ length: 5000 }, (_, number) => journal.append(numberedEntry('a', number))),
    );
    const records = await recordsOf(journal);
    expect(records.map(({ entries }) => entries.length)).toEqual([4096, 904]);
  });

  it('acknowledges before the flush in class relaxed, and flushes by itself soon after', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, { durability: 'relaxed' });
    await journal.append(numberedEntry('a', 1));
    expect(journal.flushedSequence).toBe(0);
    const { journal: lost } = await openJournal(files.crash('drop-unsynced'));
    expect(lost.lastSequence).toBe(0);
    await expect.poll(() => journal.flushedSequence).toBe(1);
    const { journal: kept } = await openJournal(files.crash('drop-unsynced'));
    expect(kept.lastSequence).toBe(1);
  });

  it('acknowledges nothing that was written while a flush of class relaxed failed', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, { durability: 'relaxed' });
    await journal.append(numberedEntry('a', 1));
    files.fail('datasync', 'EIO');
    const results = await Promise.allSettled([journal.flush(), journal.append(numberedEntry('a', 2))]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    const { journal: reopened } = await openJournal(files);
    expect((await entriesOf(reopened)).map(numberOf)).toEqual([1]);
  });

  it('in class relaxed never calls flushed what a failed flush was of, also when the next segment is due', async () => {
    const turns = async (): Promise<void> => {
      for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    };
    const files = new FaultyFileSystem(turns);
    const { journal } = await openJournal(files, {
      clock: new TestClock(),
      durability: 'relaxed',
      segmentBytes: SEGMENT_BYTES,
    });
    await journal.append(numberedEntry('a', 1));
    files.fail('datasync', 'EIO');
    const next = journal.append(numberedEntry('a', 2, SEGMENT_BYTES));
    const results = await Promise.allSettled([journal.flush(), next]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    await expect(journal.flush()).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    const { journal: reopened } = await openJournal(files.crash('drop-unsynced'));
    expect(journal.flushedSequence).toBe(reopened.lastSequence);
    await journal.close();
  });

  it('flushes everything acknowledged to the disk on request in class relaxed', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, { durability: 'relaxed', segmentBytes: SEGMENT_BYTES });
    await appendAll(journal, 'a', 1, 20);
    expect(await journal.flush()).toBe(20);
    const { journal: kept } = await openJournal(files.crash('drop-unsynced'));
    expect(kept.lastSequence).toBe(20);
  });

  it('takes the memory of an entry that was encoded before, and reads back the same', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files);
    const before = numberedEntry('t/a/branch', 1);
    const { actor, clock, writes } = numberedEntry('t/b/branch', 2);
    const bytes = writes.reduce((sum, { key, value }) => sum + key.length + (value?.length ?? 0), 0);
    const steps = encodeLargeEntry({ actor, count: writes.length, bytes, writes }, () => clock);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    const encoded = { actor, clock, writes: [], encoded: step.value };
    const second = { ...encoded, encoded: Buffer.from(step.value) };
    const asEncoded = Buffer.from(step.value);
    // Alone in its record, behind another one in the same, and with one behind it.
    await journal.append(encoded);
    await Promise.all([journal.append(before), journal.append(second)]);
    // Whoever has the entry may look at it later: later records are not written over it.
    expect(step.value).toEqual(asEncoded);
    await journal.close();
    const again = await openJournal(files);
    expect((await entriesOf(again.journal)).map(plain)).toEqual([
      plain({ actor, clock, writes }),
      plain(before),
      plain({ actor, clock, writes }),
    ]);
    await again.journal.close();
  });
});

describe('Journal segments', () => {
  it('starts a new segment when one is full, and gives a larger record one of its own', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, { segmentBytes: SEGMENT_BYTES });
    await appendAll(journal, 'a', 1, 9);
    await journal.append(numberedEntry('a', 10, 3 * SEGMENT_BYTES));
    await appendAll(journal, 'a', 11, 12);
    await journal.close();
    const sizes = files.paths().map((path) => files.content(path).length);
    expect(sizes.filter((size) => size > SEGMENT_BYTES)).toHaveLength(1);
    expect(files.paths().length).toBeGreaterThan(3);
    const { journal: again } = await openJournal(files);
    expect((await entriesOf(again)).map(numberOf)).toEqual(
      Array.from({ length: 12 }, (_, index) => index + 1),
    );
  });

  it('removes a segment only when every actor in it has released all of it, oldest first [DUR-018]', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, { segmentBytes: SEGMENT_BYTES });
    await appendAll(journal, 'a', 1, 2);
    await appendAll(journal, 'b', 3, 3);
    await appendAll(journal, 'a', 4, 12);
    const all = files.paths();
    expect(all.length).toBeGreaterThan(2);
    journal.released('a', 12);
    await turns(30);
    expect(files.paths()).toEqual(all);
    journal.released('b', 2);
    await turns(30);
    expect(files.paths()).toEqual(all);
    journal.released('b', 3);
    await expect.poll(() => files.paths()).toEqual(all.slice(-1));
    expect(journal.firstSequence).toBeGreaterThan(1);
    await journal.close();
    const { journal: again } = await openJournal(files);
    expect(again.lastSequence).toBe(12);
    expect(again.lastClock).toEqual({ ms: 1012, counter: 0 });
  });

  it('keeps what a running reader still needs, and removes it afterwards', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, { segmentBytes: SEGMENT_BYTES });
    await appendAll(journal, 'a', 1, 12);
    const segments = files.paths().length;
    const seen: number[] = [];
    for await (const { sequence } of journal.read(0)) {
      if (seen.push(sequence) === 1) journal.released('a', 12);
      await turns(10);
    }
    expect(seen).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
    expect(segments).toBeGreaterThan(2);
    await expect.poll(() => files.paths().length).toBe(1);
  });

  it('reports a segment that cannot be removed and removes it with a later release', async () => {
    const files = new FaultyFileSystem();
    const { journal, events } = await openJournal(files, { segmentBytes: SEGMENT_BYTES });
    await appendAll(journal, 'a', 1, 12);
    files.fail('unlink', 'EIO');
    journal.released('a', 11);
    await expect.poll(() => events.map(({ kind }) => kind)).toContain('removal-failed');
    files.fail('syncDirectory', 'EIO');
    journal.released('a', 11);
    await expect.poll(() => events.filter(({ kind }) => kind === 'removal-failed')).toHaveLength(2);
    journal.released('a', 12);
    await expect.poll(() => files.paths()).toHaveLength(1);
    await journal.append(numberedEntry('a', 13));
  });

  it('keeps sequence and clock in the newest segment alone, also when nothing is in it', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, { segmentBytes: SEGMENT_BYTES });
    await appendAll(journal, 'a', 1, 3);
    // Room for the header of the next segment, not for its first record.
    files.freeBytes = 100;
    const rejections = await Promise.allSettled([journal.append(numberedEntry('a', 4, 3000))]);
    expect(rejections).toMatchObject([{ status: 'rejected', reason: { code: 'STORAGE_FULL' } }]);
    journal.released('a', 3);
    await expect.poll(() => files.paths()).toEqual([`${FOLDER}/0000000000000004.journal`]);
    await journal.close();
    const { journal: again } = await openJournal(files);
    expect(again.lastSequence).toBe(3);
    expect(again.lastClock).toEqual({ ms: 1003, counter: 0 });
    files.freeBytes = 1_000_000;
    expect(await again.append(numberedEntry('a', 4))).toBe(4);
  });

  it('never leaves a gap when segments are removed after a restart and the power fails', async () => {
    const files = new FaultyFileSystem();
    const { journal, events } = await openJournal(files, { segmentBytes: SEGMENT_BYTES });
    await appendAll(journal, 'a', 1, 12);
    const [first, second] = files.paths();
    // The first process removes one segment, and dies before the folder is flushed.
    files.fail('syncDirectory', 'EIO');
    journal.released('a', 12);
    await expect.poll(() => events.map(({ kind }) => kind)).toContain('removal-failed');
    expect(files.paths()).not.toContain(first);
    // The next one removes the second segment; the power goes before the folder is flushed.
    const { journal: next } = await openJournal(files, { segmentBytes: SEGMENT_BYTES });
    files.freezeAfter(1);
    next.released('a', 12);
    await files.frozen;
    expect(files.paths()).not.toContain(second);
    // The disk kept the last change of names and lost the one before.
    const kept = [0.1, 0.9];
    const left = files.crash('torn', () => kept.shift() ?? 0.9);
    expect((await openJournal(left)).journal.lastSequence).toBe(12);
  });

  it('writes nothing until the first entry, and never into a file of an earlier process', async () => {
    const files = new FaultyFileSystem();
    for (let round = 0; round < 3; round += 1) await (await openJournal(files)).journal.close();
    expect(files.paths()).toEqual([]);
    for (let number = 1; number <= 3; number += 1) {
      const { journal } = await openJournal(files);
      const before = new Map(files.paths().map((path) => [path, files.content(path)]));
      await journal.append(numberedEntry('a', number));
      for (const [path, content] of before) expect(files.content(path)).toEqual(content);
      await journal.close();
    }
    expect(files.paths()).toEqual([1, 2, 3].map((number) => `${FOLDER}/000000000000000${number}.journal`));
  });

  it('refuses a release of what was never appended', async () => {
    const { journal } = await openJournal(new FaultyFileSystem());
    await journal.append(numberedEntry('a', 1));
    expect(() => journal.released('a', 2)).toThrow('released 2');
  });
});
