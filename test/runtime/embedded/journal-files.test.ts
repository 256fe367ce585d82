import { copyFileSync, mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { realFileSystem } from '#runtime/base/file-system.ts';
import { surveyJournal } from '#runtime/embedded/journal-survey.ts';
import { entriesOf, numberedEntry } from '#test/support/log-entries.ts';
import { openJournal } from './journal-harness.ts';

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
