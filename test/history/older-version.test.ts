import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { JOURNAL_FORMAT } from '#runtime/embedded/segments/journal-format.ts';
import { FOLDER, openJournal } from '#test/runtime/embedded/journal/journal-harness.ts';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { entriesOf, numberedEntry, numberOf } from '#test/support/log-entries.ts';
import { startServer } from '#test/support/server.ts';
import { packFolder, readRecording, recordingNames, unpackFolder } from './recording.ts';

let folder: string;

afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Format of the newest journal file: what an older version looks at before anything else. */
function newestFormat(): number {
  const newest = readdirSync(join(folder, 'journal')).sort().at(-1) as string;
  return readFileSync(join(folder, 'journal', newest)).readUInt32LE(8);
}

/** A recorded directory whose journal is of the first format. */
function unpackOldest(): void {
  folder = mkdtempSync(join(tmpdir(), 'grove-history-'));
  unpackFolder(readRecording(recordingNames()[0] as string).files, folder);
  expect(newestFormat()).toBe(1);
}

describe('a data directory of an older version', () => {
  it('is refused by that version from the first start of this one on, also when nothing was written', async () => {
    unpackOldest();
    // A login would be a write.
    const unasked = { dataDir: folder, env: { SVC_ADMIN_PASSWORD: undefined } };
    await (await startServer(unasked)).close();
    expect(newestFormat()).toBe(JOURNAL_FORMAT);
    const files = readdirSync(join(folder, 'journal'));
    const again = await startServer(unasked);
    await again.close();
    expect(readdirSync(join(folder, 'journal'))).toEqual(files);
  });

  it('takes writes behind what it had, and has all of it after another start', async () => {
    unpackOldest();
    const server = await startServer({ dataDir: folder });
    try {
      const repository = await server.createRepository();
      await server.restart();
      const { json } = await server.admin('GET', '/api/repositories');
      expect(json.map(({ repo_id: name }: { repo_id: string }) => name).sort()).toEqual(
        ['magazine', repository].sort(),
      );
    } finally {
      await server.close();
    }
  });

  it('is left as it is by a start that is refused', async () => {
    unpackOldest();
    rmSync(join(folder, 'actors/default/tenant'), { recursive: true });
    const before = readdirSync(join(folder, 'journal'));
    await expect(startServer({ dataDir: folder })).rejects.toThrow();
    expect([readdirSync(join(folder, 'journal')), newestFormat()]).toEqual([before, 1]);
  });

  it.each(recordingNames())('does not take a given key in place of the one it has: %s', async (name) => {
    folder = mkdtempSync(join(tmpdir(), 'grove-history-'));
    unpackFolder(readRecording(name).files, folder);
    const path = join(folder, 'secrets/master-key');
    const key = readFileSync(path, 'utf8').trim();
    const start = async (masterKey: string | undefined): Promise<void> => {
      const env = { SVC_ADMIN_PASSWORD: undefined, SVC_MASTER_KEY: masterKey };
      await (await startServer({ dataDir: folder, env })).close();
    };
    const other = randomBytes(32).toString('hex');
    const before = packFolder(folder);
    for (let times = 0; times < 2; times += 1)
      await expect(start(other)).rejects.toThrow(
        // A directory that does not say which key it was made with has it in the file alone.
        /SVC_MASTER_KEY is another key than (.*secrets\/master-key.*Unset|the one the data directory was made with)/s,
      );
    expect(packFolder(folder)).toEqual(before);
    await start(key);
    // It is known from then on, wherever it is.
    await start(undefined);
    await expect(start(other)).rejects.toThrow(/SVC_MASTER_KEY is another key than the one/);
    rmSync(path);
    await start(key);
  });

  it('takes a given key when the one it has was moved away', async () => {
    unpackOldest();
    rmSync(join(folder, 'secrets/master-key'));
    const env = { SVC_ADMIN_PASSWORD: undefined, SVC_MASTER_KEY: randomBytes(32).toString('hex') };
    for (let starts = 0; starts < 2; starts += 1) await (await startServer({ dataDir: folder, env })).close();
    await expect(startServer({ dataDir: folder })).rejects.toThrow(/master-key is missing/);
  });

  it.each([
    ['are appended while its journal is converted to this format', 0],
    ['were appended before', 1],
  ])('keeps writes that %s', async (_, before) => {
    unpackOldest();
    const files = new FaultyFileSystem();
    for (const name of readdirSync(join(folder, 'journal')))
      files.put(join(FOLDER, name), readFileSync(join(folder, 'journal', name)));
    const { journal } = await openJournal(files);
    const appended = Array.from({ length: before }, () => journal.append(numberedEntry('a', 6)));
    const claimed = journal.claimFormat();
    const sequence = await journal.append(numberedEntry('a', 7));
    await claimed;
    await Promise.all(appended);
    await journal.close();
    const { journal: again } = await openJournal(files.crash('drop-unsynced'));
    expect(again.lastSequence).toBe(sequence);
    expect((await entriesOf(again)).map(numberOf).at(-1)).toBe(7);
  });
});
