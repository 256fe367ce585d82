import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogEntry } from '#runtime/log/log-entry.ts';
import type { Journal } from '#runtime/embedded/journal/journal.ts';
import { FaultyFileSystem, type CrashMode, type FileOperation } from '#test/support/faulty-file-system.ts';
import { entriesOf, numberedEntry, numberOf, plain } from '#test/support/log-entries.ts';
import { FOLDER, notableKinds, openJournal } from './journal-harness.ts';

const SEGMENT_BYTES = 8192;

/** A repeatable dice. */
function diceOf(seed: number): () => number {
  let state = seed | 1;
  return () => {
    state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9;
    return ((state ^ (state >>> 12)) >>> 0) / 2 ** 32;
  };
}

/** Entries in the order they were appended, and what became of them. */
class History {
  readonly appended: LogEntry[] = [];
  readonly acknowledged = new Set<number>();
  readonly refused = new Map<number, string>();

  async append(journal: Journal, actor: string, valueBytes: number): Promise<number | undefined> {
    const entry = numberedEntry(actor, this.appended.length + 1, valueBytes);
    const number = this.appended.push(entry);
    try {
      const sequence = await journal.append(entry);
      this.acknowledged.add(number);
      return sequence;
    } catch (error) {
      this.refused.set(number, (error as { code: string }).code);
      return undefined;
    }
  }

  get newestAcknowledged(): number {
    return Math.max(0, ...this.acknowledged);
  }
}

/** Several actors append at the same time until a number of entries is reached or the world stops. */
async function load(journal: Journal, history: History, entries: number, dice: () => number): Promise<void> {
  const until = history.appended.length + entries;
  const work = async (actor: string): Promise<void> => {
    while (history.appended.length < until) {
      await history.append(journal, actor, 4 + Math.floor(dice() * dice() * 3000));
    }
  };
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map(work));
}

/** Opens what a crash left and demands: everything acknowledged, in order, byte by byte, no hole. */
async function checkAfterCrash(
  files: FaultyFileSystem,
  history: History,
  oldestNeeded: number,
): Promise<Journal> {
  const { journal } = await openJournal(files, { segmentBytes: SEGMENT_BYTES });
  const found = await entriesOf(journal);
  const numbers = found.map(numberOf);
  const first = numbers[0] ?? oldestNeeded;
  expect(first).toBeLessThanOrEqual(oldestNeeded);
  expect(numbers).toEqual(numbers.map((_, index) => first + index));
  expect(numbers.at(-1) ?? oldestNeeded - 1).toBeGreaterThanOrEqual(history.newestAcknowledged);
  expect(found.map(plain)).toEqual(numbers.map((number) => plain(history.appended[number - 1] as LogEntry)));
  return journal;
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

const crashModes = fc.constantFrom<CrashMode>('process-kill', 'drop-unsynced', 'torn');

describe('Journal crash', () => {
  it('keeps every acknowledged entry through a crash at any point, with phantoms only at the end', async () => {
    await fc.assert(
      fc.asyncProperty(
        crashModes,
        fc.integer({ min: 1, max: 120 }),
        fc.nat(),
        async (mode, changes, seed) => {
          const dice = diceOf(seed);
          const history = new History();
          let files = new FaultyFileSystem();
          const { journal } = await openJournal(files, { segmentBytes: SEGMENT_BYTES });
          files.freezeAfter(changes);
          await Promise.race([files.frozen, load(journal, history, 60, dice)]);
          files = files.crash(mode, dice);
          // A second crash while opening, and opening again.
          const opening = files.copy();
          opening.freezeAfter(1 + Math.floor(dice() * 4));
          await Promise.race([opening.frozen, openJournal(opening)]);
          await checkAfterCrash(opening.crash(mode, dice), history, 1);
          const reopened = await checkAfterCrash(files, history, 1);
          // What the second process writes continues what it found, also after its own crash.
          const survivors = (await entriesOf(reopened)).length;
          history.appended.length = survivors;
          history.acknowledged.clear();
          files.freezeAfter(changes);
          await Promise.race([files.frozen, load(reopened, history, 20, dice)]);
          await checkAfterCrash(files.crash(mode, dice), history, 1);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('keeps a prefix of what was acknowledged through a power cut in class relaxed', async () => {
    await fc.assert(
      fc.asyncProperty(crashModes, fc.integer({ min: 1, max: 80 }), fc.nat(), async (mode, changes, seed) => {
        const dice = diceOf(seed);
        const history = new History();
        const files = new FaultyFileSystem();
        const { journal } = await openJournal(files, { segmentBytes: SEGMENT_BYTES, durability: 'relaxed' });
        files.freezeAfter(changes);
        const flushed = { number: 0 };
        const work = async (): Promise<void> => {
          await load(journal, history, 20, dice);
          await journal.flush();
          flushed.number = history.newestAcknowledged;
          await load(journal, history, 20, dice);
        };
        await Promise.race([files.frozen, work()]);
        const { journal: reopened } = await openJournal(files.crash(mode, dice));
        const numbers = (await entriesOf(reopened)).map(numberOf);
        expect(numbers).toEqual(numbers.map((_, index) => index + 1));
        const promised = mode === 'process-kill' ? history.newestAcknowledged : flushed.number;
        expect(numbers.length).toBeGreaterThanOrEqual(promised);
      }),
      { numRuns: 200 },
    );
  });

  it('keeps everything not released through a crash while segments are removed [DUR-018]', async () => {
    await fc.assert(
      fc.asyncProperty(crashModes, fc.integer({ min: 1, max: 60 }), fc.nat(), async (mode, changes, seed) => {
        const dice = diceOf(seed);
        const history = new History();
        const files = new FaultyFileSystem();
        const { journal } = await openJournal(files, { segmentBytes: SEGMENT_BYTES });
        await load(journal, history, 60, dice);
        const keepFrom = 1 + Math.floor(dice() * journal.lastSequence);
        const needed = await entriesOf(journal, keepFrom);
        files.freezeAfter(changes);
        for (const actor of journal.pending().keys()) journal.released(actor, keepFrom);
        await Promise.race([files.frozen, load(journal, history, 10, dice)]);
        await checkAfterCrash(
          files.crash(mode, dice),
          history,
          needed[0] === undefined ? 61 : numberOf(needed[0]),
        );
      }),
      { numRuns: 150 },
    );
  });
});

describe('Journal on a full volume', () => {
  it('refuses with STORAGE_FULL, keeps nothing of what it refused, and resumes when there is space', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 20_000 }), fc.nat(), async (freeBytes, seed) => {
        const dice = diceOf(seed);
        const history = new History();
        const files = new FaultyFileSystem();
        const { journal, events } = await openJournal(files, { segmentBytes: SEGMENT_BYTES });
        files.freeBytes = freeBytes;
        await load(journal, history, 60, dice);
        expect(new Set(history.refused.values())).toEqual(new Set(['STORAGE_FULL']));
        expect(notableKinds(events)).toContain('storage-full');
        expect(notableKinds(events)).not.toContain('writes-stopped');
        files.freeBytes = 1_000_000;
        await turn();
        const refused = history.refused.size;
        await load(journal, history, 10, dice);
        expect(history.refused.size).toBe(refused);
        for (const mode of ['process-kill', 'drop-unsynced', 'torn'] satisfies CrashMode[]) {
          const { journal: reopened } = await openJournal(files.crash(mode, dice));
          expect((await entriesOf(reopened)).map(numberOf)).toEqual(
            [...history.acknowledged].sort((a, b) => a - b),
          );
        }
      }),
      { numRuns: 40 },
    );
  });

  it('survives a power cut at any point after it was full', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 20_000 }),
        fc.integer({ min: 1, max: 12 }),
        fc.nat(),
        async (freeBytes, changes, seed) => {
          const dice = diceOf(seed);
          const history = new History();
          const files = new FaultyFileSystem();
          const { journal } = await openJournal(files, { segmentBytes: SEGMENT_BYTES });
          files.freeBytes = freeBytes;
          await load(journal, history, 40, dice);
          files.freeBytes = 1_000_000;
          await turn();
          files.freezeAfter(changes);
          await Promise.race([files.frozen, load(journal, history, 20, dice)]);
          const { journal: reopened } = await openJournal(files.crash('torn', dice));
          const numbers = (await entriesOf(reopened)).map(numberOf);
          const kept = new Set(numbers);
          expect([...history.acknowledged].filter((number) => !kept.has(number))).toEqual([]);
          expect(numbers.filter((number) => history.refused.has(number))).toEqual([]);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('never mixes the remains of a refused record with the next one', async () => {
    await fc.assert(
      fc.asyncProperty(
        crashModes,
        fc.nat(15_000),
        fc.nat(2),
        fc.nat(),
        async (mode, bytes, changes, seed) => {
          const files = new FaultyFileSystem();
          const { journal } = await openJournal(files);
          files.freeBytes = 10_000;
          const refused = journal.append(numberedEntry('a', 0xffffffff, 30_000));
          await expect(refused).rejects.toMatchObject({ code: 'STORAGE_FULL' });
          files.freeBytes = 1_000_000;
          await turn();
          if (changes > 0) files.freezeAfter(changes);
          await Promise.race([files.frozen, journal.append(numberedEntry('a', 1, 4 + bytes))]);
          const { journal: reopened } = await openJournal(files.crash(mode, diceOf(seed)));
          const numbers = (await entriesOf(reopened)).map(numberOf);
          expect([[], [1]]).toContainEqual(numbers);
          if (changes === 0) expect(numbers).toEqual([1]);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('leaves the last free bytes to others', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files);
    files.freeBytes = 50_000;
    await journal.append(numberedEntry('a', 1));
    expect(files.freeBytes).toBeGreaterThan(49_000);
    await journal.append(numberedEntry('a', 2));
    expect(files.freeBytes).toBeGreaterThan(48_000);
  });

  it('refuses everything that was waiting behind a refused entry, because it may build on it', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files);
    await journal.append(numberedEntry('a', 1));
    files.freeBytes = 0;
    const large = journal.append(numberedEntry('a', 2, 9 * 1024 * 1024));
    const behind = journal.append(numberedEntry('a', 3));
    const inTheSameTurn = large.catch(() => journal.append(numberedEntry('a', 4)));
    const results = await Promise.allSettled([large, behind, inTheSameTurn]);
    expect(results.map((result) => result.status === 'rejected' && result.reason.code)).toEqual(
      Array.from({ length: 3 }, () => 'STORAGE_FULL'),
    );
    await turn();
    expect(await journal.append(numberedEntry('a', 5))).toBe(2);
    expect((await entriesOf(journal)).map(numberOf)).toEqual([1, 5]);
  });

  it('opens and reads', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files);
    await journal.append(numberedEntry('a', 1));
    await journal.close();
    files.freeBytes = 0;
    const { journal: reopened } = await openJournal(files);
    expect((await entriesOf(reopened)).map(numberOf)).toEqual([1]);
    await expect(reopened.append(numberedEntry('a', 2))).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(files.paths()).toHaveLength(1);
    files.freeBytes = 1_000_000;
    await turn();
    expect(await reopened.append(numberedEntry('a', 3))).toBe(2);
  });
});

describe('Journal on failing storage', () => {
  it('stops at a failed flush, reports it, acknowledges nothing more and still reads [DUR-011]', async () => {
    const files = new FaultyFileSystem();
    const { journal, events } = await openJournal(files);
    await journal.append(numberedEntry('a', 1));
    files.fail('datasync', 'EIO');
    const lost = [journal.append(numberedEntry('a', 2)), journal.append(numberedEntry('b', 3))];
    for (const result of await Promise.allSettled(lost)) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: { code: 'WRITES_STOPPED', cause: { code: 'EIO' } },
      });
    }
    const flushes = files.calls.get('datasync');
    await expect(journal.append(numberedEntry('a', 4))).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    expect(files.calls.get('datasync')).toBe(flushes);
    expect(notableKinds(events)).toEqual(['writes-stopped']);
    expect((await entriesOf(journal)).map(numberOf)).toEqual([1]);
    await journal.close();
  });

  it('holds exactly the acknowledged entries after any failed operation and a restart [DUR-012]', async () => {
    const operations: FileOperation[] = [
      'write',
      'datasync',
      'sync',
      'truncate',
      'rename',
      'syncDirectory',
      'open',
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...operations),
        fc.nat(12),
        fc.nat(3000),
        fc.nat(),
        async (operation, after, partialBytes, seed) => {
          const dice = diceOf(seed);
          const history = new History();
          const files = new FaultyFileSystem();
          const { journal, events } = await openJournal(files, { segmentBytes: SEGMENT_BYTES });
          files.fail(operation, 'EIO', { after, partialBytes: operation === 'write' ? partialBytes : 0 });
          await load(journal, history, 80, dice);
          const stopped = notableKinds(events).includes('writes-stopped');
          expect(history.refused.size > 0).toBe(stopped);
          await journal.close().catch(() => {});
          files.disarm();
          const { journal: reopened } = await openJournal(files);
          expect((await entriesOf(reopened)).map(numberOf)).toEqual([...history.acknowledged]);
          await reopened.append(numberedEntry('a', 1000));
          await reopened.close();
        },
      ),
      { numRuns: 150 },
    );
  });

  it('stops in class relaxed when the later flush fails', async () => {
    const files = new FaultyFileSystem();
    const { journal, events } = await openJournal(files, { durability: 'relaxed' });
    await journal.append(numberedEntry('a', 1));
    files.fail('datasync', 'EIO');
    await expect.poll(() => notableKinds(events)).toEqual(['writes-stopped']);
    await expect(journal.append(numberedEntry('a', 2))).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    await expect(journal.flush()).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
  });

  it('never serves after reopening what a failed flush had lost behind its back', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files);
    await journal.append(numberedEntry('a', 1));
    // The flush fails, its pages count as clean, and the record cannot even be taken away.
    files.fail('datasync', 'EIO');
    files.fail('truncate', 'EIO');
    await expect(journal.append(numberedEntry('a', 2))).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    const { journal: reopened } = await openJournal(files);
    const served = (await entriesOf(reopened)).map(numberOf);
    expect(served).toEqual([1, 2]);
    const { journal: afterPowerCut } = await openJournal(files.crash('drop-unsynced'));
    expect((await entriesOf(afterPowerCut)).map(numberOf)).toEqual(served);
  });

  it('leaves the old segments in peace when a new one cannot be made', async () => {
    const files = new FaultyFileSystem();
    files.fail('rename', 'EIO');
    const { journal } = await openJournal(files);
    await expect(journal.append(numberedEntry('a', 1))).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    expect(files.paths()).toEqual([`${FOLDER}/0000000000000001.journal.new`]);
    const { journal: reopened } = await openJournal(files);
    expect(files.paths()).toEqual([]);
    expect(await reopened.append(numberedEntry('a', 1))).toBe(1);
  });
});
