import { describe, expect, it } from 'vitest';
import { FlushJournal, type FlushJournalOptions } from '#cluster/replica-durability/flush-journal.ts';
import { encodeVoters } from '#cluster/replica-durability/voters.ts';
import { type FoldState, foldStart } from '#cluster/replication/log-fold.ts';
import { chainStart, encodeRecord, RecordKind } from '#cluster/replication/record-format.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';
import { type CrashMode, FaultyFileSystem } from '#test/support/faulty-file-system.ts';

const FOLDER = '/journal';
const IDENTITY = 'LOG@1';

/** A message of the log with its state, of any size. */
function message(
  sequence: number,
  body: Buffer = Buffer.alloc(100, sequence),
  kind: RecordKind = RecordKind.noop,
) {
  const clock = { ms: 0, counter: 0 };
  const fields = { kind, partition: 3, entries: 0, epoch: 2, batch: sequence, clock };
  const { bytes, chain } = encodeRecord({ ...fields, previousChain: chainStart }, body);
  const state: FoldState = { ...foldStart, sequence, validSequence: sequence, epoch: 2, chain };
  return { message: { sequence, bytes }, state };
}

function open(files: FaultyFileSystem, options: Partial<FlushJournalOptions> = {}): Promise<FlushJournal> {
  return FlushJournal.open({
    files,
    folder: FOLDER,
    clock: systemClock,
    random: systemRandom,
    segmentBytesMax: 600,
    ...options,
  });
}

function add(journal: FlushJournal, first: number, last: number): void {
  for (let sequence = first; sequence <= last; sequence += 1) {
    const { message: stored, state } = message(sequence);
    journal.add(IDENTITY, stored, state);
  }
}

async function sequencesOf(journal: FlushJournal, first: number, last: number): Promise<number[]> {
  const found: number[] = [];
  for await (const { bytes, sequence } of journal.read(first, last)) {
    expect(bytes.equals(message(sequence).message.bytes)).toBe(true);
    found.push(sequence);
  }
  return found;
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

describe('a flush journal', () => {
  it('has every message byte by byte after it is reopened, over several segments', async () => {
    const files = new FaultyFileSystem();
    const journal = await open(files);
    for (let first = 5; first < 45; first += 4) {
      add(journal, first, first + 3);
      await journal.whenFlushed(first + 3);
    }
    await journal.close();
    expect(files.paths().length).toBeGreaterThan(5);
    const again = await open(files);
    expect([again.first, again.flushed]).toMatchObject([5, { sequence: 44, epoch: 2, validSequence: 44 }]);
    expect(again.flushed?.chain).toEqual(message(44).state.chain);
    expect(await sequencesOf(again, 5, 44)).toEqual(range(5, 44));
    expect(await sequencesOf(again, 17, 18)).toEqual([17, 18]);
    await expect(sequencesOf(again, 44, 45)).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
  });

  it('takes a message once that is read again', async () => {
    const files = new FaultyFileSystem();
    const journal = await open(files, { segmentBytesMax: 1 << 20 });
    add(journal, 1, 3);
    add(journal, 2, 4);
    await journal.whenFlushed(4);
    await journal.close();
    expect(files.paths()).toHaveLength(1);
    const again = await open(files);
    expect(again.first).toBe(1);
    expect(await sequencesOf(again, 1, 4)).toEqual(range(1, 4));
  });

  /** A journal of several segments, which is closed. */
  async function ofSegments(): Promise<FaultyFileSystem> {
    const files = new FaultyFileSystem();
    const journal = await open(files);
    for (let first = 1; first < 20; first += 4) {
      add(journal, first, first + 3);
      await journal.whenFlushed(first + 3);
    }
    await journal.close();
    expect(files.paths().length).toBeGreaterThan(3);
    return files;
  }

  it('reports nothing behind a missing segment', async () => {
    const files = await ofSegments();
    const [, second] = files.paths() as [string, string];
    const journal = await open(files);
    files.remove(second);
    const again = await open(files);
    const found: number[] = [];
    const read = async (): Promise<void> => {
      for await (const { sequence } of again.read(1, 20)) found.push(sequence);
    };
    await expect(read()).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    expect(found).toEqual(range(1, found.length));
    expect(found.length).toBeLessThan(10);
    await journal.close();
  });

  it('distinguishes damage from the beginning of a segment', async () => {
    const files = await ofSegments();
    const file = await files.open(files.paths()[1] as string, 'read-write');
    await file.write(Buffer.alloc(16), 0, 16, 0);
    await file.close();
    await expect(open(files)).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
  });

  it('flushes what many messages of one turn bring at once', async () => {
    const files = new FaultyFileSystem();
    const journal = await open(files, { segmentBytesMax: 1 << 20 });
    add(journal, 1, 200);
    await journal.whenFlushed(200);
    await journal.close();
    // The beginning of the segment, the messages, and what is taken ahead.
    expect(files.calls.get('write')).toBe(3);
  });

  it('takes space ahead, less where there is none, and leaves none of it behind', async () => {
    const files = new FaultyFileSystem();
    const journal = await open(files, { segmentBytesMax: 1 << 20 });
    // The third write is the first one ahead.
    files.fail('write', 'ENOSPC', { after: 2, partialBytes: 4096 });
    for (let sequence = 1; sequence <= 20; sequence += 1) {
      add(journal, sequence, sequence);
      await journal.whenFlushed(sequence);
    }
    expect(files.calls.get('write')).toBe(1 + 20 + 1);
    await journal.close();
    const fresh = new FaultyFileSystem();
    const ahead = await open(fresh, { segmentBytesMax: 1 << 20 });
    for (let sequence = 1; sequence <= 20; sequence += 1) {
      add(ahead, sequence, sequence);
      await ahead.whenFlushed(sequence);
    }
    await ahead.close();
    const sizes = [files, fresh].map((each) =>
      Promise.all(each.paths().map(async (path) => (await each.stat(path)).size)),
    );
    for (const size of (await Promise.all(sizes)).flat()) expect(size).toBeLessThan(8 * 1024);
    expect(await sequencesOf(await open(files), 1, 20)).toEqual(range(1, 20));
  });

  it.each<CrashMode>(['drop-unsynced', 'torn', 'process-kill'])(
    'loses nothing that it reported as flushed in a power failure (%s), at any point',
    async (mode) => {
      for (let at = 1; at < 40; at += 1) {
        const files = new FaultyFileSystem();
        const told: number[] = [];
        const journal = await open(files, { onFlush: ({ sequence }) => told.push(sequence) });
        files.freezeAfter(at);
        const write = async (): Promise<void> => {
          for (let first = 1; first < 30; first += 3) {
            add(journal, first, first + 2);
            await journal.whenFlushed(first + 2);
          }
        };
        await Promise.race([files.frozen, write()]);
        let dice = at / 40;
        const after = files.crash(mode, () => (dice = (dice * 7.31) % 1));
        const again = await open(after);
        const reached = again.flushed?.sequence ?? 0;
        expect(reached).toBeGreaterThanOrEqual(told.at(-1) ?? 0);
        if (reached > 0) expect(await sequencesOf(again, 1, reached)).toEqual(range(1, reached));
        // And it goes on from there.
        add(again, reached + 1, reached + 5);
        await again.whenFlushed(reached + 5);
        expect(await sequencesOf(again, 1, reached + 5)).toEqual(range(1, reached + 5));
      }
    },
  );

  it('distinguishes damage from an unfinished write', async () => {
    const files = new FaultyFileSystem();
    const journal = await open(files, { segmentBytesMax: 1 << 20 });
    for (let sequence = 1; sequence <= 5; sequence += 1) {
      add(journal, sequence, sequence);
      await journal.whenFlushed(sequence);
    }
    await journal.close();
    const [path] = files.paths() as [string];
    const file = await files.open(path, 'read-write');
    const size = await file.size();
    await file.write(Buffer.from([0xff]), 0, 1, size - 10);
    expect((await open(files)).flushed?.sequence).toBe(4);
    await file.write(Buffer.from([0xff]), 0, 1, Math.floor(size / 3));
    await expect(open(files)).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
  });

  it('reports nothing more after a disk failure, and does not rely later on what may be lost', async () => {
    const files = new FaultyFileSystem();
    const failures: unknown[] = [];
    const journal = await open(files, {
      onFailure: (cause) => failures.push(cause),
      segmentBytesMax: 1 << 20,
    });
    add(journal, 1, 3);
    await journal.whenFlushed(3);
    // What it takes ahead is not to be what fails.
    await settle(50);
    files.fail('datasync', 'EIO');
    add(journal, 4, 6);
    await expect(journal.whenFlushed(6)).rejects.toMatchObject({ code: 'EIO' });
    expect(failures).toHaveLength(1);
    expect(() => add(journal, 7, 7)).toThrow();
    let refusal: unknown;
    journal.whenFlushed(5).catch((error: unknown) => {
      refusal = error;
    });
    await settle();
    expect(refusal).toMatchObject({ code: 'EIO' });
    expect(journal.flushed?.sequence).toBe(3);
    const again = await open(files, { trustedUpTo: 3 });
    expect(again.flushed?.sequence).toBe(3);
    add(again, 4, 6);
    await again.whenFlushed(6);
    expect(await sequencesOf(again, 1, 6)).toEqual(range(1, 6));
  });

  const newest = (files: FaultyFileSystem): string => files.paths().at(-1) as string;

  it.each<[string, (files: FaultyFileSystem) => void]>([
    ['removed', (files) => files.remove(newest(files))],
    ['replaced', (files) => files.put(newest(files), files.content(newest(files)))],
    ['emptied', (files) => files.cut(newest(files), 0)],
    ['cut', (files) => files.cut(newest(files), 200)],
  ])('reports nothing that was written to a file that was %s', async (_, change) => {
    const files = new FaultyFileSystem();
    const failures: unknown[] = [];
    // Its clock stands still: what is looked at now and then is not looked at again.
    const clock = new TestClock();
    const onFailure = (cause: unknown): void => void failures.push(cause);
    const journal = await open(files, { clock, onFailure, segmentBytesMax: 1 << 20 });
    add(journal, 1, 3);
    await journal.whenFlushed(3);
    // What is taken ahead behind it is written as well.
    await settle();
    change(files);
    add(journal, 4, 4);
    await expect(journal.whenFlushed(4)).rejects.toMatchObject({ name: 'FlushSegmentLostError' });
    expect([failures.length, journal.flushed?.sequence]).toEqual([1, 3]);
    await journal.close();
    // What is left is whole as far as it goes, or refused.
    const left = await open(files, { trustedUpTo: 3 }).then(
      ({ flushed }) => flushed?.sequence ?? 0,
      (error: { readonly code: string }) => error.code,
    );
    expect([0, 1, 2, 3, 'DATA_CORRUPTED']).toContain(left);
  });

  it('reports nothing from a file that was removed while it was written', async () => {
    let during = (): void => {};
    const files = new FaultyFileSystem(async () => {
      await new Promise((resolve) => setImmediate(resolve));
      during();
    });
    const journal = await open(files, { clock: new TestClock(), segmentBytesMax: 1 << 20 });
    add(journal, 1, 3);
    await journal.whenFlushed(3);
    await settle();
    during = () => {
      during = () => {};
      files.remove(newest(files));
    };
    add(journal, 4, 4);
    await expect(journal.whenFlushed(4)).rejects.toMatchObject({ name: 'FlushSegmentLostError' });
  });

  it.each<[string, (files: FaultyFileSystem, path: string) => void]>([
    ['renamed', (files, path) => files.move(path, `${FOLDER}/elsewhere`)],
    ['cut', (files, path) => files.cut(path, 100)],
  ])('notices within a second of messages that a file, an older one as well, was %s', async (_, change) => {
    for (const which of [0, -1]) {
      const files = new FaultyFileSystem();
      const clock = new TestClock();
      const journal = await open(files, { clock });
      for (let sequence = 1; sequence <= 12; sequence += 1) {
        add(journal, sequence, sequence);
        await journal.whenFlushed(sequence);
      }
      const paths = files.paths();
      expect(paths.length).toBeGreaterThan(2);
      change(files, paths.at(which) as string);
      clock.advance(1_000);
      add(journal, 13, 13);
      await expect(journal.whenFlushed(13)).rejects.toMatchObject({ name: 'FlushSegmentLostError' });
    }
  });

  it('keeps its window even if records were released, and unreleased records beyond its window', async () => {
    const files = new FaultyFileSystem();
    let nowMs = 1_000_000;
    let wallMs = nowMs;
    const clock = { ...systemClock, monotonicMs: () => nowMs, wallMs: () => wallMs };
    const window = { keepMs: 60_000, keepBytesMin: 1000, keepBytesMax: 1 << 20 };
    const journal = await open(files, { clock, window });
    const write = async (first: number, last: number): Promise<void> => {
      for (let sequence = first; sequence <= last; sequence += 1) {
        add(journal, sequence, sequence);
        await journal.whenFlushed(sequence);
      }
    };
    await write(1, 40);
    // A clock that is set forward makes nothing older.
    wallMs += 3_600_000;
    journal.release(30);
    await write(41, 41);
    expect(journal.first).toBe(1);
    nowMs += 120_000;
    await write(42, 44);
    expect(journal.first).toBeGreaterThan(10);
    expect(journal.first).toBeLessThanOrEqual(31);
    const before = journal.first;
    await write(45, 90);
    journal.release(90);
    // They are young.
    await write(91, 92);
    expect(journal.first).toBeGreaterThan(before);
    expect(journal.first).toBeLessThanOrEqual(42);
    expect(await sequencesOf(journal, journal.first, 92)).toEqual(range(journal.first, 92));
    nowMs += 120_000;
    await write(93, 93);
    for (let turn = 0; turn < 100 && journal.first < 80; turn += 1) await settle();
    await settle(50);
    // One of them is as old as can be, and the newest alone is not enough.
    expect(files.paths().length).toBeGreaterThan(1);
    expect(journal.first).toBeGreaterThan(80);
    await journal.close();
  });

  it('drops no recent records at any size, reports that it is full, and no longer when they are old', async () => {
    let nowMs = 0;
    const clock = { ...systemClock, monotonicMs: () => nowMs };
    const window = { keepMs: 60_000, keepBytesMin: 0, keepBytesMax: 3000 };
    const journal = await open(new FaultyFileSystem(), { clock, window });
    add(journal, 1, 5);
    journal.release(5);
    await journal.whenFlushed(5);
    expect(journal.isFull).toBe(false);
    for (let sequence = 6; sequence <= 40; sequence += 1) {
      add(journal, sequence, sequence);
      journal.release(sequence);
      await journal.whenFlushed(sequence);
    }
    journal.trim();
    for (let turn = 0; turn < 100 && !journal.isFull; turn += 1) await settle();
    expect([journal.isFull, journal.first]).toEqual([true, 1]);
    nowMs += 60_000;
    journal.trim();
    for (let turn = 0; turn < 100 && journal.isFull; turn += 1) await settle();
    expect(journal.isFull).toBe(false);
    expect(journal.first).toBeGreaterThan(30);
    await journal.close();
  });

  it('starts again behind a gap, and only then no longer knows the voters of the partition', async () => {
    const files = new FaultyFileSystem();
    const journal = await open(files);
    const voters = { old: ['a', 'b'], new: ['a', 'b'] };
    const { message: stored, state } = message(1, encodeVoters(voters));
    journal.add(IDENTITY, stored, state);
    add(journal, 2, 30);
    await journal.whenFlushed(30);
    await journal.close();
    const again = await open(files);
    expect(again.voters).toEqual(voters);
    add(again, 40, 42);
    await again.whenFlushed(42);
    expect([again.first, again.voters]).toEqual([40, undefined]);
    await again.close();
    const third = await open(files);
    expect([third.first, third.flushed?.sequence, third.voters]).toEqual([40, 42, undefined]);
  });

  it('takes messages of both sides of a gap in one turn for what they are', async () => {
    const files = new FaultyFileSystem();
    const journal = await open(files, { segmentBytesMax: 1 << 20 });
    add(journal, 1, 3);
    add(journal, 10, 12);
    await journal.whenFlushed(12);
    await journal.close();
    const again = await open(files);
    expect(again.first).toBe(10);
    expect(await sequencesOf(again, 10, 12)).toEqual(range(10, 12));
  });

  it('has nothing from before a gap after a power failure during its removal', async () => {
    let left = 0;
    for (let at = 1; at < 30; at += 1) {
      const files = new FaultyFileSystem();
      const journal = await open(files);
      for (let first = 1; first < 20; first += 3) {
        add(journal, first, first + 2);
        await journal.whenFlushed(first + 2);
      }
      await settle(50);
      files.freezeAfter(at);
      add(journal, 40, 42);
      await Promise.race([files.frozen, journal.whenFlushed(42).then(() => settle(50))]);
      const after = files.crash('process-kill');
      const names = after.paths().length;
      const again = await open(after);
      const last = again.first === 1 ? 21 : 42;
      expect(again.flushed?.sequence).toBe(last);
      expect((await sequencesOf(again, again.first, last)).at(-1)).toBe(last);
      if (last === 42 && names > 1) left += 1;
    }
    expect(left).toBeGreaterThan(0);
  });

  it('has what it reports after an opening on its disk, including what the previous process had not flushed', async () => {
    const files = new FaultyFileSystem();
    const journal = await open(files, { segmentBytesMax: 1 << 20 });
    add(journal, 1, 3);
    await journal.close();
    const [path] = files.paths() as [string];
    const whole = files.content(path);
    const before = new FaultyFileSystem();
    before.put(path, whole.subarray(0, whole.length - 60));
    const file = await before.open(path, 'read-write');
    await file.write(whole, whole.length - 60, 60, whole.length - 60);
    expect((await open(before)).flushed?.sequence).toBe(3);
    expect((await open(before.crash('drop-unsynced'))).flushed?.sequence).toBe(3);
  });

  it('knows voters, and the end of what counts, by records that count alone', async () => {
    const files = new FaultyFileSystem();
    const journal = await open(files);
    const voters = { old: ['a', 'b'], new: ['a', 'b'] };
    const { message: named, state: counted } = message(1, encodeVoters(voters));
    journal.add(IDENTITY, named, counted);
    const strangers = { old: ['x', 'y'], new: ['x', 'y'] };
    const { message: late } = message(2, encodeVoters(strangers));
    // It does not count: the state stays at the one before.
    journal.add(IDENTITY, late, { ...counted, sequence: 2 });
    await journal.whenFlushed(2);
    const { flushed } = journal;
    expect([journal.voters, flushed]).toMatchObject([voters, { sequence: 2, validSequence: 1 }]);
    await journal.close();
    const again = await open(files);
    expect([again.voters, again.flushed]).toEqual([voters, flushed]);
    expect(again.flushed?.chain).toEqual(counted.chain);
  });
});
