import { describe, expect, it } from 'vitest';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { JournalOptions } from '#runtime/embedded/journal/journal-options.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { entriesOf, numberedEntry, numberOf } from '#test/support/log-entries.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { notableKinds, openJournal } from './journal-harness.ts';

/** A folder that another process takes at a chosen moment. */
class TakenFolder {
  isTaken = false;
  /** Records that are written before it is taken, then it is taken while one is written. */
  looksLeft = Number.POSITIVE_INFINITY;

  readonly requireHeld = (): void => {
    this.looksLeft -= 1;
    if (this.looksLeft < 0) this.isTaken = true;
    if (this.isTaken) throw new ServiceError('CONFLICT', 'the lock file was removed');
  };
}

async function openHeld(options: Partial<JournalOptions> = {}) {
  const clock = new TestClock();
  const files = new FaultyFileSystem();
  const folder = new TakenFolder();
  const opened = await openJournal(files, { clock, requireHeld: folder.requireHeld, ...options });
  return { ...opened, clock, files, folder };
}

describe('a journal whose folder another process may have', () => {
  it('acknowledges nothing that was written after the other may have read it', async () => {
    const { files, folder, journal } = await openHeld();
    expect(await journal.append(numberedEntry('a', 1))).toBe(1);
    // Asked once before the record is written, and found taken after it.
    folder.looksLeft = 1;
    await expect(journal.append(numberedEntry('a', 2))).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    // The record stays: taken away, it would be missing to the other, which may have answered for it.
    const { journal: other } = await openJournal(files.copy());
    expect((await entriesOf(other)).map(numberOf)).toEqual([1, 2]);
  });

  it('changes no file any more, neither for shards nor at its end, and does not resume by itself', async () => {
    const { clock, events, files, folder, journal } = await openHeld({ segmentBytes: 4_096 });
    for (let number = 1; number <= 4; number += 1) await journal.append(numberedEntry('a', number, 3_000));
    folder.isTaken = true;
    await journal.inspect();
    const before = files.paths().map((path) => files.content(path));
    expect(journal.trouble).toMatchObject({ code: 'WRITES_STOPPED', cause: { code: 'CONFLICT' } });
    await expect(journal.append(numberedEntry('a', 5))).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    await expect(journal.flush()).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    journal.released('a', 4);
    folder.isTaken = false;
    clock.advance(60_000);
    await new Promise((resolve) => setImmediate(resolve));
    expect(journal.heals).toBe(false);
    await journal.close();
    expect(files.paths().map((path) => files.content(path))).toEqual(before);
    expect(notableKinds(events)).toEqual(['writes-stopped']);
  });

  it('lets no shard continue with a flush during which another process may have taken the folder', async () => {
    let disk = Promise.resolve();
    const files = new FaultyFileSystem(() => disk);
    const folder = new TakenFolder();
    const options = {
      clock: new TestClock(),
      durability: 'relaxed',
      requireHeld: folder.requireHeld,
    } as const;
    const { journal } = await openJournal(files, options);
    await journal.append(numberedEntry('a', 1));
    const flush = Promise.withResolvers<void>();
    disk = flush.promise;
    const flushed = journal.flush();
    folder.isTaken = true;
    await journal.inspect();
    flush.resolve();
    await expect(flushed).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
  });

  it('removes no segment once another may have the folder', async () => {
    const { files, folder, journal } = await openHeld({ segmentBytes: 4_096 });
    for (let number = 1; number <= 3; number += 1) await journal.append(numberedEntry('a', number, 3_000));
    const before = files.paths();
    folder.isTaken = true;
    // Nobody has looked since.
    journal.released('a', 3);
    for (let turns = 0; turns < 50; turns += 1) await new Promise((resolve) => setImmediate(resolve));
    expect(files.paths()).toEqual(before);
    expect(journal.trouble).toMatchObject({ code: 'WRITES_STOPPED', cause: { code: 'CONFLICT' } });
  });

  it('finds out when it is closed, before it cuts its newest file', async () => {
    const { files, folder, journal } = await openHeld();
    await journal.append(numberedEntry('a', 1));
    folder.isTaken = true;
    const before = files.paths().map((path) => files.content(path));
    await journal.close();
    expect(files.paths().map((path) => files.content(path))).toEqual(before);
  });

  it('does not resume by itself when the folder was taken while it was stopped', async () => {
    const { clock, files, folder, journal } = await openHeld();
    await journal.append(numberedEntry('a', 1));
    files.fail('datasync', 'EIO');
    await expect(journal.append(numberedEntry('a', 2))).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    expect(journal.heals).toBe(true);
    folder.isTaken = true;
    const before = files.paths().map((path) => files.content(path));
    for (let round = 0; journal.heals && round < 100; round += 1) {
      clock.advance(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(journal.trouble).toMatchObject({ code: 'WRITES_STOPPED', cause: { code: 'CONFLICT' } });
    expect(files.paths().map((path) => files.content(path))).toEqual(before);
  });

  it('resumes after the lock could not be checked for some time', async () => {
    const clock = new TestClock();
    let cause: Error | undefined;
    const { journal } = await openJournal(new FaultyFileSystem(), {
      clock,
      requireHeld: () => {
        if (cause !== undefined) throw cause;
      },
    });
    cause = Object.assign(new Error('EIO: stat'), { code: 'EIO' });
    await journal.inspect();
    clock.advance(10_000);
    await new Promise((resolve) => setImmediate(resolve));
    await expect(journal.append(numberedEntry('a', 1))).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
    cause = undefined;
    for (let round = 0; journal.trouble !== undefined && round < 1_000; round += 1) {
      clock.advance(1_000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await journal.append(numberedEntry('a', 2))).toBe(1);
  });
});
