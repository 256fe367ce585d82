import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { OpenFile, OpenMode } from '#runtime/base/files/file-system.ts';
import { UNFINISHED_SUFFIX } from '#runtime/embedded/segments/journal-format.ts';
import type { Journal } from '#runtime/embedded/journal/journal.ts';
import { type CrashMode, FaultyFileSystem, type FileOperation } from '#test/support/faulty-file-system.ts';
import { entriesOf, numberedEntry, numberOf } from '#test/support/log-entries.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { notableKinds, openJournal } from './journal-harness.ts';

const SEGMENT_BYTES = 8_192;

const codeOf = (appended: Promise<number>): Promise<string> =>
  appended.then(
    () => 'done',
    (error: { code: string }) => error.code,
  );

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Lets time pass until the journal takes entries again. */
async function healed(journal: Journal, clock: TestClock, isOver = () => false): Promise<void> {
  for (let round = 0; journal.trouble !== undefined && !isOver(); round += 1) {
    if (round > 2_000) throw new Error('the journal does not heal');
    clock.advance(100);
    await turn();
  }
}

describe('a journal that stopped', () => {
  it('resumes by itself when the cause is gone, with what was acknowledged and without what was refused [DUR-011]', async () => {
    const clock = new TestClock();
    const files = new FaultyFileSystem();
    const { journal, events } = await openJournal(files, { clock });
    await journal.append(numberedEntry('a', 1));
    files.fail('datasync', 'EIO');
    expect(await codeOf(journal.append(numberedEntry('a', 2)))).toBe('WRITES_STOPPED');
    expect(await codeOf(journal.append(numberedEntry('a', 3)))).toBe('WRITES_STOPPED');
    await healed(journal, clock);
    expect(await journal.append(numberedEntry('a', 4))).toBe(2);
    expect(notableKinds(events)).toEqual(['writes-stopped', 'writes-resumed']);
    expect((await entriesOf(journal)).map(numberOf)).toEqual([1, 4]);
    const { journal: reopened } = await openJournal(files.crash('drop-unsynced'));
    expect((await entriesOf(reopened)).map(numberOf)).toEqual([1, 4]);
  });

  it('never flushes the file that failed again: what the system calls clean may not be there', async () => {
    const clock = new TestClock();
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, { clock });
    await journal.append(numberedEntry('a', 1));
    // The write fails, its pages count as clean, and nothing can be taken away: the record is there for readers.
    files.fail('datasync', 'EIO');
    files.fail('truncate', 'EIO');
    expect(await codeOf(journal.append(numberedEntry('a', 2)))).toBe('WRITES_STOPPED');
    await healed(journal, clock);
    await journal.append(numberedEntry('a', 3));
    const { journal: reopened } = await openJournal(files.crash('process-kill'));
    expect((await entriesOf(reopened)).map(numberOf)).toEqual([1, 3]);
  });

  it('waits for as long as the cause lasts, and is there at once afterwards', async () => {
    const clock = new TestClock();
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, { clock, segmentBytes: SEGMENT_BYTES });
    await journal.append(numberedEntry('a', 1, 4_000));
    // No open files left: the next segment cannot be made.
    for (let index = 0; index < 40; index += 1) files.fail('open', 'EMFILE');
    expect(await codeOf(journal.append(numberedEntry('a', 2, 6_000)))).toBe('WRITES_STOPPED');
    for (let round = 0; round < 20; round += 1) {
      clock.advance(400);
      await turn();
    }
    expect(journal.trouble).toMatchObject({ code: 'WRITES_STOPPED', cause: { code: 'EMFILE' } });
    files.disarm();
    await healed(journal, clock);
    await journal.append(numberedEntry('a', 3, 6_000));
    expect((await entriesOf(journal)).map(numberOf)).toEqual([1, 3]);
  });

  it('in class relaxed keeps what was answered before the flush that failed', async () => {
    const clock = new TestClock();
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, { clock, durability: 'relaxed' });
    await journal.append(numberedEntry('a', 1));
    await journal.append(numberedEntry('a', 2));
    files.fail('datasync', 'EIO');
    await expect(journal.flush()).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    await healed(journal, clock);
    expect(journal.flushedSequence).toBe(2);
    const { journal: reopened } = await openJournal(files.crash('drop-unsynced'));
    expect((await entriesOf(reopened)).map(numberOf)).toEqual([1, 2]);
  });

  describe('does not resume before pending work has ended', () => {
    /** Holds one operation until the test says so. */
    class Holding extends FaultyFileSystem {
      readonly gate = Promise.withResolvers<void>();
      isHeld = false;
      next: 'write' | 'datasync' | 'unlink' | undefined;

      async #pass(operation: 'write' | 'datasync' | 'unlink'): Promise<void> {
        if (this.next !== operation) return;
        this.next = undefined;
        this.isHeld = true;
        await this.gate.promise;
      }

      override async open(path: string, mode: OpenMode): Promise<OpenFile> {
        const file = await super.open(path, mode);
        return {
          ...file,
          write: async (...bytes) => {
            await this.#pass('write');
            await file.write(...bytes);
          },
          datasync: async () => {
            await this.#pass('datasync');
            await file.datasync();
          },
        };
      }

      override async unlink(path: string): Promise<void> {
        await this.#pass('unlink');
        await super.unlink(path);
      }
    }

    async function held(files: Holding): Promise<void> {
      while (!files.isHeld) await turn();
    }

    /** As much time as a heal takes many times over. */
    async function passing(clock: TestClock): Promise<void> {
      for (let round = 0; round < 100; round += 1) {
        clock.advance(200);
        await turn();
      }
    }

    it('a write: it would be answered, and is not in the file any more', async () => {
      const clock = new TestClock();
      const files = new Holding();
      const { journal } = await openJournal(files, { clock, durability: 'relaxed' });
      await journal.append(numberedEntry('a', 1));
      files.next = 'write';
      const second = codeOf(journal.append(numberedEntry('a', 2)));
      await held(files);
      files.fail('datasync', 'EIO');
      await expect(journal.flush()).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
      await passing(clock);
      expect(journal.trouble).toMatchObject({ code: 'WRITES_STOPPED' });
      files.gate.resolve();
      expect(await second).toBe('WRITES_STOPPED');
      await healed(journal, clock);
      await journal.append(numberedEntry('a', 3));
      expect((await entriesOf(journal)).map(numberOf)).toEqual([1, 3]);
    });

    it('a flush: it would stop the resumed journal', async () => {
      const clock = new TestClock();
      const files = new Holding();
      const { journal, events } = await openJournal(files, { clock, durability: 'relaxed' });
      await journal.append(numberedEntry('a', 1));
      files.next = 'datasync';
      const flushed = codeOf(journal.flush());
      await held(files);
      files.fail('write', 'EIO');
      expect(await codeOf(journal.append(numberedEntry('a', 2)))).toBe('WRITES_STOPPED');
      await passing(clock);
      expect(journal.trouble).toMatchObject({ code: 'WRITES_STOPPED' });
      files.fail('datasync', 'EIO');
      files.gate.resolve();
      expect(await flushed).toBe('WRITES_STOPPED');
      await healed(journal, clock);
      await passing(clock);
      expect(notableKinds(events)).toEqual(['writes-stopped', 'writes-resumed']);
    });

    it('a flush that succeeds: it does not confirm records of a journal that was stopped meanwhile', async () => {
      const clock = new TestClock();
      const files = new Holding();
      const { journal } = await openJournal(files, { clock, durability: 'relaxed' });
      await journal.append(numberedEntry('a', 1));
      files.next = 'datasync';
      const flushed = codeOf(journal.flush());
      await held(files);
      files.fail('write', 'EIO');
      expect(await codeOf(journal.append(numberedEntry('a', 2)))).toBe('WRITES_STOPPED');
      files.gate.resolve();
      expect([await flushed, journal.flushedSequence]).toEqual(['WRITES_STOPPED', 0]);
      await healed(journal, clock);
      expect(journal.flushedSequence).toBe(1);
    });

    it('a flush that fails: the file is not flushed once more to make it final', async () => {
      const clock = new TestClock();
      const files = new Holding();
      const options = { clock, durability: 'relaxed', segmentBytes: SEGMENT_BYTES } as const;
      const { journal } = await openJournal(files, options);
      await journal.append(numberedEntry('a', 1, 6_000));
      const syncs = files.calls.get('sync');
      files.next = 'datasync';
      const flushed = codeOf(journal.flush());
      await held(files);
      // It belongs into another segment.
      const second = codeOf(journal.append(numberedEntry('a', 2, 6_000)));
      for (let round = 0; round < 20; round += 1) await turn();
      files.fail('datasync', 'EIO');
      files.gate.resolve();
      expect([await flushed, await second]).toEqual(['WRITES_STOPPED', 'WRITES_STOPPED']);
      expect(files.calls.get('sync')).toBe(syncs);
    });

    it('a removal: the next one must not overtake it', async () => {
      const clock = new TestClock();
      const files = new Holding();
      const { journal, events } = await openJournal(files, { clock, segmentBytes: SEGMENT_BYTES });
      for (const number of [1, 2, 3]) await journal.append(numberedEntry('a', number, 6_000));
      files.next = 'unlink';
      journal.released('a', 2);
      await held(files);
      files.fail('datasync', 'EIO');
      expect(await codeOf(journal.append(numberedEntry('a', 4)))).toBe('WRITES_STOPPED');
      await passing(clock);
      expect(journal.trouble).toMatchObject({ code: 'WRITES_STOPPED' });
      files.gate.resolve();
      await healed(journal, clock);
      await journal.append(numberedEntry('a', 5));
      expect((await entriesOf(journal)).map(numberOf)).toEqual([3, 5]);
      const removed = events.filter(({ kind }) => kind === 'segment-removed');
      expect(removed).toMatchObject([{ lastSequence: 1 }, { lastSequence: 2 }]);
    });
  });

  it('does not resume when stored bytes do not verify', async () => {
    const clock = new TestClock();
    const files = new FaultyFileSystem();
    const { journal, events } = await openJournal(files, { clock });
    await journal.append(numberedEntry('a', 1, 2_000));
    const path = files.paths()[0] as string;
    const bytes = files.content(path);
    bytes[500] = (bytes[500] as number) ^ 0x04;
    files.alter(path, bytes);
    files.fail('datasync', 'EIO');
    expect(await codeOf(journal.append(numberedEntry('a', 2)))).toBe('WRITES_STOPPED');
    for (let round = 0; round < 100; round += 1) {
      clock.advance(100);
      await turn();
    }
    expect(journal.trouble?.cause).toMatchObject({ code: 'DATA_CORRUPTED' });
    expect(events.filter(({ kind }) => kind === 'writes-stopped')).toMatchObject([
      { heals: true },
      { heals: false },
    ]);
    expect(files.paths()).toEqual([path]);
  });

  it('does not resume when its file verifies but has another end, after a replacement of the file', async () => {
    const clock = new TestClock();
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, { clock });
    const others = new FaultyFileSystem();
    const { journal: other } = await openJournal(others);
    await journal.append(numberedEntry('a', 1));
    await other.append(numberedEntry('a', 2));
    const path = files.paths()[0] as string;
    files.alter(path, others.content(path));
    files.fail('datasync', 'EIO');
    expect(await codeOf(journal.append(numberedEntry('a', 3)))).toBe('WRITES_STOPPED');
    for (let round = 0; round < 100; round += 1) {
      clock.advance(100);
      await turn();
    }
    expect(journal.trouble?.cause).toMatchObject({ code: 'DATA_CORRUPTED' });
    expect(files.paths()).toEqual([path]);
  });

  it('does not resume when damage is found while it is being healed', async () => {
    const clock = new TestClock();
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, { clock, segmentBytes: SEGMENT_BYTES });
    await journal.append(numberedEntry('a', 1, 6_000));
    await journal.append(numberedEntry('a', 2, 6_000));
    const path = files.paths().sort()[0] as string;
    const bytes = files.content(path);
    bytes[500] = (bytes[500] as number) ^ 0x04;
    files.put(path, bytes);
    files.fail('datasync', 'EIO');
    expect(await codeOf(journal.append(numberedEntry('a', 3)))).toBe('WRITES_STOPPED');
    clock.advance(500);
    await expect(entriesOf(journal)).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    for (let round = 0; round < 100; round += 1) await turn();
    expect(journal.trouble?.cause).toMatchObject({ code: 'DATA_CORRUPTED' });
    expect(await codeOf(journal.append(numberedEntry('a', 4)))).toBe('WRITES_STOPPED');
  });

  it('leaves the old file when the copy of it does not verify', async () => {
    /** Flips a bit of what is copied. */
    class Flipping extends FaultyFileSystem {
      override async open(path: string, mode: OpenMode): Promise<OpenFile> {
        const file = await super.open(path, mode);
        if (!path.endsWith(UNFINISHED_SUFFIX) || this.calls.get('datasync') === undefined) return file;
        return {
          ...file,
          write: (buffer, offset, length, position) => {
            const bytes = Buffer.from(buffer);
            bytes[500] = (bytes[500] as number) ^ 0x04;
            return file.write(bytes, offset, length, position);
          },
        };
      }
    }
    const clock = new TestClock();
    const files = new Flipping();
    const { journal } = await openJournal(files, { clock });
    await journal.append(numberedEntry('a', 1, 2_000));
    files.fail('datasync', 'EIO');
    expect(await codeOf(journal.append(numberedEntry('a', 2)))).toBe('WRITES_STOPPED');
    for (let round = 0; round < 100; round += 1) {
      clock.advance(100);
      await turn();
    }
    expect(journal.trouble?.cause).toMatchObject({ code: 'DATA_CORRUPTED' });
    const { journal: reopened } = await openJournal(files.crash('process-kill'));
    expect((await entriesOf(reopened)).map(numberOf)).toEqual([1]);
  });

  it('in class relaxed keeps what was answered when the end of its segment could not be flushed', async () => {
    const clock = new TestClock();
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, {
      clock,
      durability: 'relaxed',
      segmentBytes: SEGMENT_BYTES,
    });
    await journal.append(numberedEntry('a', 1, 6_000));
    files.fail('sync', 'EIO');
    expect(await codeOf(journal.append(numberedEntry('a', 2, 6_000)))).toBe('WRITES_STOPPED');
    await healed(journal, clock);
    expect(journal.flushedSequence).toBe(1);
    const { journal: reopened } = await openJournal(files.crash('drop-unsynced'));
    expect((await entriesOf(reopened)).map(numberOf)).toEqual([1]);
  });

  it('removes no segment while it is stopped, and does when it resumes', async () => {
    const clock = new TestClock();
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, { clock, segmentBytes: SEGMENT_BYTES });
    await journal.append(numberedEntry('a', 1, 6_000));
    await journal.append(numberedEntry('b', 2, 6_000));
    const path = files.paths().sort()[0] as string;
    files.fail('datasync', 'EIO');
    expect(await codeOf(journal.append(numberedEntry('b', 3)))).toBe('WRITES_STOPPED');
    journal.released('a', 1);
    for (let round = 0; round < 50; round += 1) await turn();
    expect(files.paths()).toContain(path);
    await healed(journal, clock);
    for (let round = 0; round < 50; round += 1) await turn();
    expect(files.paths()).not.toContain(path);
  });

  it('closes while it waits', async () => {
    const clock = new TestClock();
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, { clock });
    files.fail('open', 'EMFILE');
    expect(await codeOf(journal.append(numberedEntry('a', 1)))).toBe('WRITES_STOPPED');
    await journal.close();
    clock.advance(60_000);
    await turn();
    expect(files.paths()).toEqual([]);
  });

  it('holds exactly what was acknowledged after any failures, healing and a crash [DUR-012]', async () => {
    const operations: FileOperation[] = [
      'write',
      'datasync',
      'sync',
      'truncate',
      'rename',
      'syncDirectory',
      'open',
      'read',
    ];
    const faults = fc.array(
      fc.record({
        operation: fc.constantFrom(...operations),
        after: fc.nat(20),
        partialBytes: fc.nat(3_000),
        code: fc.constantFrom('EIO', 'EMFILE', 'ENOSPC'),
      }),
      { minLength: 1, maxLength: 4 },
    );
    const crashes = fc.constantFrom<CrashMode>('process-kill', 'drop-unsynced', 'torn');
    await fc.assert(
      fc.asyncProperty(faults, crashes, async (planned, mode) => {
        const clock = new TestClock();
        const files = new FaultyFileSystem();
        const { journal } = await openJournal(files, { clock, segmentBytes: SEGMENT_BYTES });
        const acknowledged: number[] = [];
        const append = async (number: number): Promise<void> => {
          const outcome = await codeOf(journal.append(numberedEntry('a', number, (number * 977) % 3_000)));
          if (outcome === 'done') acknowledged.push(number);
          // A refusal counts for everybody who asks before it was heard of.
          await turn();
        };
        for (const { operation, after, partialBytes, code } of planned)
          files.fail(operation, code, { after, partialBytes: operation === 'write' ? partialBytes : 0 });
        for (let number = 1; number <= 30; number += 1) {
          await append(number);
          if (number % 5 === 0) await healed(journal, clock);
        }
        await healed(journal, clock);
        files.disarm();
        await append(1_000);
        const { journal: reopened } = await openJournal(files.crash(mode), { segmentBytes: SEGMENT_BYTES });
        expect((await entriesOf(reopened)).map(numberOf)).toEqual(acknowledged);
        expect(acknowledged.at(-1)).toBe(1_000);
      }),
      { numRuns: 150 },
    );
  });

  it('keeps what was acknowledged through a crash at any moment of healing', async () => {
    const crashes = fc.constantFrom<CrashMode>('process-kill', 'drop-unsynced', 'torn');
    const operations = fc.constantFrom<FileOperation>('datasync', 'write', 'sync', 'rename');
    await fc.assert(
      fc.asyncProperty(
        operations,
        fc.nat(12),
        fc.nat(40),
        crashes,
        async (operation, after, changes, mode) => {
          const clock = new TestClock();
          const files = new FaultyFileSystem();
          const { journal } = await openJournal(files, { clock, segmentBytes: SEGMENT_BYTES });
          files.fail(operation, 'EIO', { after });
          let isFrozen = false;
          const frozen = files.frozen.then(() => {
            isFrozen = true;
          });
          const acknowledged: number[] = [];
          const work = async (): Promise<void> => {
            for (let number = 1; number <= 20 && !isFrozen; number += 1) {
              const entry = numberedEntry('a', number, (number * 977) % 3_000);
              if ((await codeOf(journal.append(entry))) === 'done') acknowledged.push(number);
              else {
                files.freezeAfter(changes);
                await healed(journal, clock, () => isFrozen);
              }
            }
          };
          await Promise.race([work(), frozen]);
          const { journal: reopened } = await openJournal(files.crash(mode), { segmentBytes: SEGMENT_BYTES });
          const found = (await entriesOf(reopened)).map(numberOf);
          expect(found.slice(0, acknowledged.length)).toEqual(acknowledged);
          // At most the write that was under way when the world stopped.
          expect(found.length - acknowledged.length).toBeLessThanOrEqual(1);
        },
      ),
      { numRuns: 100 },
    );
  });
});
