import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type FileSystem, type OpenFile, realFileSystem } from '#runtime/base/files/file-system.ts';
import { surveyJournal } from '#runtime/embedded/recovery/journal-survey.ts';
import type { LogRecord } from '#runtime/log/log-entry.ts';
import { asNobody } from '#test/support/as-nobody.ts';
import { entriesOf, numberedEntry, numberOf } from '#test/support/log-entries.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';
import { openJournal } from '../journal/journal-harness.ts';

let folder: string;
let segment: string;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'journal-files-'));
  const { journal } = await openJournal(realFileSystem, { folder });
  await journal.append(numberedEntry('a', 1, 100));
  await journal.close();
  segment = join(folder, readdirSync(folder).find((name) => name.endsWith('.journal')) ?? '');
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function refusal(): Promise<unknown> {
  return openJournal(realFileSystem, { folder }).then(
    ({ journal }) => journal.close(),
    (error: unknown) => error,
  );
}

it('names a file that was stretched, before it is read', async () => {
  truncateSync(segment, 20 * 2 ** 30);
  expect(await refusal()).toMatchObject({
    code: 'DATA_CORRUPTED',
    message: expect.stringContaining(`Journal segment ${segment} at byte 0`),
  });
});

it('surveys a preallocated file without reading it whole, and reports that', async () => {
  truncateSync(segment, 20 * 2 ** 30);
  let read = 0;
  const files: FileSystem = {
    ...realFileSystem,
    async open(path, mode) {
      const file = await realFileSystem.open(path, mode);
      const reading: OpenFile = {
        write: (buffer, offset, length, position) => file.write(buffer, offset, length, position),
        read: (buffer, offset, length, position) => {
          expect(buffer.length).toBeLessThanOrEqual(1024 * 1024);
          // What would be read is zeros.
          if (position >= 4 * 1024 * 1024)
            return Promise.resolve(buffer.fill(0, offset, offset + length) && length);
          read += length;
          return file.read(buffer, offset, length, position);
        },
        datasync: () => file.datasync(),
        sync: () => file.sync(),
        truncate: (length) => file.truncate(length),
        size: () => file.size(),
        look: () => file.look(),
        close: () => file.close(),
      };
      return reading;
    },
  };
  const survey = await surveyJournal(files, folder);
  expect(survey.findings).toEqual([
    { file: segment, what: expect.stringContaining('a journal file has at most') },
  ]);
  expect([survey.records, survey.lastSequence, survey.lost]).toEqual([1, 1, []]);
  const records: LogRecord[] = [];
  for await (const record of survey.read()) records.push(record);
  expect(records).toHaveLength(1);
  expect(read).toBeGreaterThan(0);
});

it.each([
  ['a file', () => segment],
  ['its folder', () => folder],
])('names %s without write access, and the remedy', async (_, pathOf) => {
  const path = pathOf();
  // What a crash leaves, which is to be taken away.
  writeFileSync(join(folder, '0000000000000002.journal.new'), '');
  const refused = await asNobody(folder, async () => {
    chmodSync(path, 0o500);
    try {
      return await refusal();
    } finally {
      chmodSync(path, 0o700);
    }
  });
  expect(refused).toMatchObject({
    code: 'WRITES_STOPPED',
    message: expect.stringContaining(`${path} cannot be used (EACCES): give the user`),
  });
});

it('names a file of a number that no record has, as it is written', async () => {
  const stray = join(folder, '9999999999999999.journal');
  copyFileSync(segment, stray);
  expect(await refusal()).toMatchObject({
    code: 'DATA_CORRUPTED',
    message: expect.stringMatching(/9999999999999999\.journal at byte 0.*move it out of the folder/),
  });
  const { findings } = await surveyJournal(realFileSystem, folder);
  expect(findings).toEqual([{ file: stray, what: 'no file of a journal has so large a number' }]);
  rmSync(stray);
  const { journal } = await openJournal(realFileSystem, { folder });
  expect(await entriesOf(journal)).toHaveLength(1);
  await journal.close();
});

it('is there again with all its records when its folder was removed under it', async () => {
  const clock = new TestClock();
  const { journal } = await openJournal(realFileSystem, { clock, folder });
  await journal.append(numberedEntry('a', 2));
  journal.released('a', 1);
  rmSync(folder, { recursive: true });
  await journal.inspect();
  expect(journal.trouble).toMatchObject({ code: 'WRITES_STOPPED' });
  await until(() => {
    clock.advance(100);
    return journal.trouble === undefined;
  }, 'it goes on');
  await journal.append(numberedEntry('a', 3));
  await journal.close();
  const { journal: again } = await openJournal(realFileSystem, { folder });
  expect((await entriesOf(again)).map(numberOf)).toEqual([2, 3]);
  await again.close();
});
