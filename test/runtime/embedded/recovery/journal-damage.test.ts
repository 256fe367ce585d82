import { beforeAll, describe, expect, it } from 'vitest';
import type { LogEntry } from '#runtime/log/log-entry.ts';
import { JOURNAL_FORMAT } from '#runtime/embedded/segments/journal-format.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { entriesOf, numberedEntry, plain, recordsOf } from '#test/support/log-entries.ts';
import { FOLDER, notableKinds, openJournal } from '../journal/journal-harness.ts';

const SEGMENT_BYTES = 4096;

/** A journal of several segments as a killed process leaves it: the newest has zeros behind its records. */
interface Sample {
  readonly files: FaultyFileSystem;
  readonly entries: readonly LogEntry[];
  /** Offset behind the last record of each segment, by path. */
  readonly ends: ReadonlyMap<string, number>;
  /** Offset of the last record in the newest segment. */
  readonly lastStart: number;
}

async function makeSample(records: number, valueBytes: number, segmentBytes: number): Promise<Sample> {
  const files = new FaultyFileSystem();
  const { journal } = await openJournal(files, { segmentBytes });
  const entries = Array.from({ length: records }, (_, index) =>
    numberedEntry(`a${index % 3}`, index + 1, valueBytes),
  );
  let lastStart = 0;
  for (const entry of entries) {
    lastStart = endOfRecords(files, files.paths().at(-1));
    await journal.append(entry);
    if (endOfRecords(files, files.paths().at(-1)) < lastStart) lastStart = 72;
  }
  const ends = new Map(files.paths().map((path) => [path, endOfRecords(files, path)]));
  return { files: files.crash('process-kill'), entries, ends, lastStart };
}

/** Records end with the footer, which has no zero byte. */
function endOfRecords(files: FaultyFileSystem, path: string | undefined): number {
  if (path === undefined) return 72;
  const content = files.content(path);
  let end = content.length;
  while (content[end - 1] === 0) end -= 1;
  return end;
}

interface Outcome {
  readonly refusal: ServiceError | null;
  readonly entries: readonly unknown[];
  readonly notable: readonly string[];
}

/** Opens and reads everything. Any other error than the one for damage fails the test. */
async function outcomeOf(files: FaultyFileSystem): Promise<Outcome> {
  const before = new Map(files.paths().map((path) => [path, files.content(path)]));
  try {
    const { journal, events } = await openJournal(files, { segmentBytes: SEGMENT_BYTES });
    const entries = (await entriesOf(journal)).map(plain);
    return { refusal: null, entries, notable: notableKinds(events) };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'DATA_CORRUPTED') throw error;
    for (const [path, content] of before) expect(files.content(path).equals(content)).toBe(true);
    return { refusal: error, entries: [], notable: [] };
  }
}

/** Returns the new content, or changes the one it gets. */
type Damage = (content: Buffer) => unknown;

function damaged(sample: Sample, path: string, change: Damage): FaultyFileSystem {
  const files = sample.files.copy();
  const content = files.content(path);
  const changed = change(content);
  files.put(path, changed instanceof Buffer ? changed : content);
  return files;
}

let sample: Sample;
let newest: string;
let oldest: string;

beforeAll(async () => {
  sample = await makeSample(9, 900, SEGMENT_BYTES);
  oldest = sample.files.paths()[0] as string;
  newest = sample.files.paths().at(-1) as string;
  expect(sample.files.paths().length).toBeGreaterThan(2);
  expect(sample.files.content(newest).length).toBeGreaterThan(sample.ends.get(newest) as number);
});

describe('Journal damage', () => {
  it('refuses a flipped bit in any header, record or footer, with nothing changed on the disk [DUR-009]', async () => {
    for (const [path, end] of sample.ends) {
      for (let at = 0; at < end; at += at % 900 < 120 ? 1 : 29) {
        const files = damaged(sample, path, (content) => {
          content[at] = (content[at] as number) ^ (1 << (at % 8));
        });
        const { refusal } = await outcomeOf(files);
        expect(refusal?.message, `${path} byte ${at}`).toContain(path);
      }
    }
  });

  it('reads the same with a flipped bit in the space taken ahead', async () => {
    const end = sample.ends.get(newest) as number;
    for (const at of [end, end + 3, end + 83, end + 84, end + 600, sample.files.content(newest).length - 1]) {
      const files = damaged(sample, newest, (content) => {
        content[at] = 0x10;
      });
      const { refusal, entries } = await outcomeOf(files);
      if (refusal === null) expect(entries).toEqual(sample.entries.map(plain));
    }
  });

  it('names the file, the byte, the sequence and the remedy', async () => {
    const files = damaged(sample, oldest, (content) => {
      content[300] = (content[300] as number) ^ 4;
    });
    const { refusal } = await outcomeOf(files);
    expect(refusal?.message).toMatch(/^Journal segment \/journal\/0{15}1\.journal at byte 72, sequence 1: /);
    expect(refusal?.message).toContain('restore the data directory from a backup');
    expect(refusal?.details).toEqual({ segment: oldest, offset: 72, sequence: 1 });
  });

  it('cuts an unfinished last record at any length, and keeps all before it [DUR-007]', async () => {
    const end = sample.ends.get(newest) as number;
    const before = sample.entries.slice(0, -1).map(plain);
    const shortened = (cut: number) => (content: Buffer) => content.subarray(0, cut);
    const zeroed = (cut: number) => (content: Buffer) => void content.fill(0, cut);
    for (let cut = sample.lastStart; cut < end; cut += 1) {
      for (const change of [shortened(cut), zeroed(cut)]) {
        const files = damaged(sample, newest, change);
        const { refusal, entries, notable } = await outcomeOf(files);
        expect(refusal, `cut at ${cut}`).toBeNull();
        expect(entries).toEqual(before);
        expect(notable).toEqual(cut === sample.lastStart ? [] : ['tail-discarded']);
        expect(files.content(newest).length).toBe(sample.lastStart);
      }
    }
  });

  it('takes the place of a cut record with a new one that survives', async () => {
    const files = damaged(sample, newest, (content) => content.subarray(0, sample.lastStart + 300));
    const { journal } = await openJournal(files);
    expect(await journal.append(numberedEntry('a', 77))).toBe(9);
    const { entries, notable } = await outcomeOf(files.crash('drop-unsynced'));
    expect(entries).toEqual([...sample.entries.slice(0, -1), numberedEntry('a', 77)].map(plain));
    expect(notable).toEqual([]);
  });

  it('cuts a last record of which any sectors never arrived, also the first', async () => {
    const end = sample.ends.get(newest) as number;
    const firstSector = Math.floor(sample.lastStart / 512);
    const sectors = Math.ceil(end / 512) - firstSector;
    for (let kept = 0; kept < 2 ** sectors - 1; kept += 1) {
      const files = damaged(sample, newest, (content) => {
        for (let sector = 0; sector < sectors; sector += 1) {
          const start = (firstSector + sector) * 512;
          if ((kept & (1 << sector)) === 0)
            content.fill(0, Math.max(start, sample.lastStart), Math.min(start + 512, end));
        }
      });
      const { refusal, entries } = await outcomeOf(files);
      expect(refusal).toBeNull();
      expect(entries).toEqual(sample.entries.slice(0, -1).map(plain));
    }
  });

  it('refuses a damaged last record that holds zero sectors by right', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files);
    const zeros = { table: 1, key: 'zeros', value: new Uint8Array(3000) };
    await journal.append({
      ...numberedEntry('a', 1),
      writes: [zeros, { ...zeros, key: 'more', value: Buffer.from('x') }],
    });
    const left = files.crash('process-kill');
    const path = left.paths()[0] as string;
    expect((await outcomeOf(left.copy())).refusal).toBeNull();
    const content = left.content(path);
    content[200] = 1;
    left.put(path, content);
    expect((await outcomeOf(left)).refusal?.message).toContain('all of it was written');
  });

  it('refuses a record cut short or wiped out in the middle, instead of dropping what is behind it [DUR-008]', async () => {
    const second = sample.lastStart;
    const end = sample.ends.get(newest) as number;
    const single = await makeSample(6, 900, 1024 * 1024);
    const path = single.files.paths()[0] as string;
    const length = end - second;
    const changes: Damage[] = [
      (content) => Buffer.concat([content.subarray(0, 72 + length + 500), content.subarray(72 + 2 * length)]),
      (content) => Buffer.concat([content.subarray(0, 72 + length), content.subarray(72 + 2 * length)]),
      (content) => void content.fill(0, 72 + length, 72 + 2 * length),
      (content) => void content.fill(0, 1024, 1536),
      (content) => void content.fill(0xff, 1024, 1536),
    ];
    for (const change of changes) {
      const { refusal } = await outcomeOf(damaged(single, path, change));
      expect(refusal).not.toBeNull();
    }
    for (const older of sample.files.paths().slice(0, -1)) {
      for (const bytes of [1, 500, sample.files.content(older).length - 72]) {
        const files = damaged(sample, older, (content) => content.subarray(0, content.length - bytes));
        expect((await outcomeOf(files)).refusal).not.toBeNull();
      }
    }
  });

  it('refuses a missing, doubled or foreign segment', async () => {
    const paths = sample.files.paths();
    const missing = sample.files.copy();
    missing.remove(paths[1] as string);
    expect((await outcomeOf(missing)).refusal?.message).toContain('missing');
    const doubled = damaged(sample, newest, () => sample.files.content(paths[1] as string));
    expect((await outcomeOf(doubled)).refusal?.message).toContain('the file holds the segment of sequence');
    const other = await makeSample(9, 900, SEGMENT_BYTES);
    const foreign = damaged(sample, newest, () => other.files.content(newest));
    expect((await outcomeOf(foreign)).refusal?.message).toContain('does not continue the chain');
  });

  it('opens without the oldest segments, which is what removal leaves', async () => {
    const files = sample.files.copy();
    files.remove(oldest);
    const { refusal, entries } = await outcomeOf(files);
    expect(refusal).toBeNull();
    expect(entries).toEqual(sample.entries.map(plain).slice(-entries.length));
    expect(entries.length).toBeGreaterThan(3);
  });

  it('refuses a newer format by name and leaves it alone', async () => {
    const files = damaged(sample, newest, (content) => {
      content.writeUInt32LE(JOURNAL_FORMAT + 1, 8);
      // Laid out in another way; where the number alone is another one, it is damaged.
      content.writeUInt32LE(96, 12);
    });
    const { refusal } = await outcomeOf(files);
    expect(refusal?.message).toContain(
      `format ${JOURNAL_FORMAT + 1}, this version reads up to ${JOURNAL_FORMAT}`,
    );
    expect(refusal?.message).toContain('Start the version that wrote it');
  });

  it('is not misled by a journal inside a value of an unfinished record', async () => {
    const inner = sample.files.content(oldest);
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files);
    await journal.append(numberedEntry('a', 1));
    await journal.append({ ...numberedEntry('a', 2), writes: [{ table: 1, key: 'backup', value: inner }] });
    const left = files.crash('process-kill');
    const path = `${FOLDER}/0000000000000001.journal`;
    left.put(path, left.content(path).subarray(0, endOfRecords(left, path) - 1));
    const { entries, notable } = await outcomeOf(left);
    expect(entries).toEqual([plain(numberedEntry('a', 1))]);
    expect(notable).toEqual(['tail-discarded']);
  });

  it('stops writing when a record that was whole no longer verifies while it is read', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files);
    for (let number = 1; number <= 3; number += 1) await journal.append(numberedEntry('a', number));
    const path = files.paths()[0] as string;
    const content = files.content(path);
    content[250] = (content[250] as number) ^ 1;
    files.put(path, content);
    await expect(recordsOf(journal)).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    await expect(journal.append(numberedEntry('a', 4))).rejects.toMatchObject({ code: 'WRITES_STOPPED' });
  });

  it('forgets, in class relaxed, an unflushed record that never arrived with the ones behind it', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, { durability: 'relaxed' });
    await journal.append(numberedEntry('a', 1, 900));
    await journal.flush();
    for (const number of [2, 3, 4]) await journal.append(numberedEntry('a', number, 900));
    const left = files.crash('process-kill');
    const path = left.paths()[0] as string;
    const length = (endOfRecords(left, path) - 72) / 4;
    const content = left.content(path);
    content.fill(0, 72 + length + 300, 72 + 2 * length);
    left.put(path, content);
    expect((await openJournal(left)).journal.lastSequence).toBe(1);
  });

  it('refuses, in class relaxed too, the loss of a record that was flushed', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, { durability: 'relaxed' });
    for (const number of [1, 2]) await journal.append(numberedEntry('a', number, 900));
    await journal.flush();
    await journal.append(numberedEntry('a', 3, 900));
    const left = files.crash('process-kill');
    const path = left.paths()[0] as string;
    const length = (endOfRecords(left, path) - 72) / 3;
    const content = left.content(path);
    content.fill(0, 72 + length, 72 + 2 * length);
    left.put(path, content);
    expect((await outcomeOf(left)).refusal?.message).toContain('later records show that it was flushed');
  });
});
