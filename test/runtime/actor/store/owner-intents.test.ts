import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { beginRemoval, OwnerIntentFiles } from '#runtime/actor/store/owner-intents.ts';
import { SmallVolume } from '#test/support/small-volume.ts';

let folder: string;
let unsettled: OwnerIntentFiles;

beforeEach(() => {
  folder = join(mkdtempSync(join(tmpdir(), 'unsettled-')), 'unsettled');
  unsettled = new OwnerIntentFiles(folder);
});

afterEach(() => rmSync(join(folder, '..'), { recursive: true, force: true }));

it('names every owner that is noted and not settled, and none without a note', async () => {
  expect(await unsettled.all()).toEqual([]);
  for (const owner of ['b/x~2', 'a/x~1', 'c/x~3']) await unsettled.begin(owner);
  await unsettled.settled('c/x~3');
  await unsettled.settled('never/noted~0');
  expect(await unsettled.all()).toEqual(['a/x~1', 'b/x~2']);
});

it('does not believe a note that was cut or holds another owner [DUR-024]', async () => {
  await unsettled.begin('a/blog~1');
  const note = join(folder, readdirSync(folder)[0] as string);
  // Cut by a power failure it names the tenant, with everything in it.
  for (const content of ['a', '', 'a/other~2']) {
    writeFileSync(note, content);
    expect(await unsettled.all()).toEqual([]);
  }
  writeFileSync(note, 'a/blog~1');
  expect(await unsettled.all()).toEqual(['a/blog~1']);
});

it('skips and reports what is no file [DUR-024]', async () => {
  await unsettled.begin('a/blog~1');
  mkdirSync(join(folder, 'lost+found'));
  expect(spawnSync('mkfifo', [join(folder, 'pipe')]).status).toBe(0);
  const told: [string, unknown][] = [];
  expect(
    await unsettled.all((path, cause) => void told.push([path, (cause as NodeJS.ErrnoException).code])),
  ).toEqual(['a/blog~1']);
  expect(told.sort()).toEqual([
    [join(folder, 'lost+found'), 'EISDIR'],
    [join(folder, 'pipe'), 'EFTYPE'],
  ]);
});

it('reports a folder of notes that is none, and refuses new notes until it is one [DUR-024]', async () => {
  writeFileSync(folder, 'no folder');
  const told: [string, unknown][] = [];
  expect(
    await unsettled.all((path, cause) => void told.push([path, (cause as NodeJS.ErrnoException).code])),
  ).toEqual([]);
  expect(told).toEqual([[folder, 'ENOTDIR']]);
  const refused = { code: 'WRITES_STOPPED', message: expect.stringContaining(folder) };
  await expect(unsettled.begin('a/x~1')).rejects.toMatchObject(refused);
  await expect(beginRemoval(unsettled, 'a/x~1')).rejects.toMatchObject(refused);
});

it('reports nothing where there is no folder of notes yet', async () => {
  const told: string[] = [];
  expect(await unsettled.all((path) => void told.push(path))).toEqual([]);
  expect(told).toEqual([]);
});

it('reports a lack of room for a note, without which a removal continues, and errors of the system', async () => {
  const volume = new SmallVolume(1024 * 1024);
  try {
    const notes = new OwnerIntentFiles(join(volume.path, 'unsettled'));
    await notes.begin('a/x~1');
    volume.fill(100);
    await expect(notes.begin('b/x~2')).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(readdirSync(join(volume.path, 'unsettled'))).toHaveLength(1);
    await beginRemoval(notes, 'b/x~2');
    spawnSync('mount', ['-o', 'remount,ro', volume.path]);
    const refused = { code: 'WRITES_STOPPED', message: expect.stringContaining('cannot be used (EROFS)') };
    await expect(notes.begin('b/x~2')).rejects.toMatchObject(refused);
    await expect(beginRemoval(notes, 'b/x~2')).rejects.toMatchObject(refused);
    // The folder cannot be made: a missing one would say nothing of the reason.
    const none = new OwnerIntentFiles(join(volume.path, 'other'));
    await expect(none.begin('b/x~2')).rejects.toMatchObject(refused);
    spawnSync('mount', ['-o', 'remount,rw', volume.path]);
    expect(await notes.all()).toEqual(['a/x~1']);
  } finally {
    volume.close();
  }
});
