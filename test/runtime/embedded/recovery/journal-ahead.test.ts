import { describe, expect, it } from 'vitest';
import { FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { entriesOf, numberedEntry, numberOf } from '#test/support/log-entries.ts';
import { notableKinds, openJournal } from '../journal/journal-harness.ts';

/** A closed journal of three segments, and the numbers of its entries. */
async function threeSegments(): Promise<{ files: FaultyFileSystem; paths: string[]; numbers: number[] }> {
  const files = new FaultyFileSystem();
  const numbers: number[] = [];
  for (let part = 0; part < 3; part += 1) {
    const { journal } = await openJournal(files);
    for (let index = 0; index < 3; index += 1) {
      numbers.push(numbers.length);
      await journal.append(numberedEntry('a', numbers.length - 1, 700));
    }
    await journal.close();
  }
  return { files, paths: files.paths(), numbers };
}

describe('space taken ahead that came back behind an older segment', () => {
  it('is ignored: the next segment names the record it continues', async () => {
    const { files, paths, numbers } = await threeSegments();
    expect(paths).toHaveLength(3);
    for (const path of paths.slice(0, 2))
      files.put(path, Buffer.concat([files.content(path), Buffer.alloc(5000)]));
    const { journal, events } = await openJournal(files);
    expect(notableKinds(events)).toEqual([]);
    expect((await entriesOf(journal)).map(numberOf)).toEqual(numbers);
    await journal.append(numberedEntry('a', 100));
    await journal.close();
    const again = await openJournal(files.crash('drop-unsynced'));
    expect((await entriesOf(again.journal)).map(numberOf)).toEqual([...numbers, 100]);
    await again.journal.close();
  });

  it('is damage when records are missing in front of it [DUR-008]', async () => {
    const { files, paths } = await threeSegments();
    const path = paths[1] as string;
    const content = files.content(path);
    const lastRecord = content.lastIndexOf('JREC', content.length - 100);
    files.put(path, Buffer.from(content).fill(0, lastRecord));
    await expect(openJournal(files)).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    expect(files.content(path).length).toBe(content.length);
  });

  it('is damage when it contains anything but zeros', async () => {
    const { files, paths } = await threeSegments();
    const path = paths[0] as string;
    files.put(path, Buffer.concat([files.content(path), Buffer.alloc(600), Buffer.from([1])]));
    await expect(openJournal(files)).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
  });

  it('reappears when the flush of the cut failed and the power failed later', async () => {
    const files = new FaultyFileSystem();
    const { journal } = await openJournal(files, { segmentBytes: 4096 });
    await journal.append(numberedEntry('a', 1, 3000));
    files.fail('sync', 'EIO');
    await expect(journal.append(numberedEntry('a', 2, 3000))).rejects.toMatchObject({
      code: 'WRITES_STOPPED',
    });
    await journal.close();
    const second = await openJournal(files, { segmentBytes: 4096 });
    await second.journal.append(numberedEntry('a', 3, 3000));
    const third = await openJournal(files.crash('drop-unsynced'), { segmentBytes: 4096 });
    expect((await entriesOf(third.journal)).map(numberOf)).toEqual([1, 3]);
    await third.journal.close();
  });
});
