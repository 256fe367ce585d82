import { constants } from 'node:fs';
import { mkdtemp, readdir, readFile, readlink, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { realFileSystem } from '#runtime/base/files/file-system.ts';

describe('realFileSystem', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'grove-files-'));
  });

  afterEach(() => rm(folder, { recursive: true }));

  it('writes and reads at positions, reading less only at the end', async () => {
    const path = join(folder, 'file');
    const file = await realFileSystem.open(path, 'create');
    await file.write(Buffer.from('..hello..'), 2, 5, 3);
    await file.datasync();
    await file.sync();
    const buffer = Buffer.alloc(20, '.');
    expect(await file.read(buffer, 1, 19, 0)).toBe(8);
    expect(buffer.toString('latin1', 0, 10)).toBe('.\0\0\0hello.');
    await file.truncate(4);
    expect(await file.size()).toBe(4);
    await file.truncate(6);
    expect(await file.read(buffer, 0, 20, 3)).toBe(3);
    expect(buffer.toString('latin1', 0, 3)).toBe('h\0\0');
    await file.close();
  });

  it('makes a new file whose writes are flushed, as any other file else', async () => {
    const path = join(folder, 'file');
    await writeFile(path, 'older and longer');
    const file = await realFileSystem.open(path, 'create-synced');
    await file.write(Buffer.from('..hello..'), 2, 5, 3);
    await file.write(Buffer.from('HE'), 0, 2, 3);
    await file.datasync();
    await file.truncate(7);
    await file.sync();
    const buffer = Buffer.alloc(20, '.');
    expect(await file.read(buffer, 0, 20, 0)).toBe(7);
    expect(buffer.toString('latin1', 0, 8)).toBe('\0\0\0HEll.');
    await file.close();
  });

  it('leaves the flush of such a file to the system, which is Linux where tests run', async () => {
    const path = join(folder, 'file');
    const file = await realFileSystem.open(path, 'create-synced');
    const open = await readdir('/proc/self/fd');
    const names = await Promise.all(open.map((each) => readlink(`/proc/self/fd/${each}`).catch(() => '')));
    const descriptor = open[names.indexOf(path)];
    const info = await readFile(`/proc/self/fdinfo/${descriptor}`, 'utf8');
    const flags = Number.parseInt(/flags:\s*(\d+)/.exec(info)?.[1] ?? '', 8);
    expect(flags & constants.O_DSYNC).toBe(constants.O_DSYNC);
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await file.close();
  });

  it('creates a file empty and private to its user, and opens an existing one unchanged', async () => {
    const path = join(folder, 'file');
    for (const text of ['first', 'x']) {
      const file = await realFileSystem.open(path, 'create');
      await file.write(Buffer.from(text), 0, text.length, 0);
      await file.close();
    }
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const file = await realFileSystem.open(path, 'read-write');
    expect(await file.size()).toBe(1);
    await file.write(Buffer.from('y'), 0, 1, 0);
    await file.close();
    const reader = await realFileSystem.open(path, 'read');
    await expect(reader.write(Buffer.from('z'), 0, 1, 0)).rejects.toMatchObject({ code: 'EBADF' });
    await reader.close();
    await expect(realFileSystem.open(join(folder, 'none'), 'read-write')).rejects.toMatchObject({
      code: 'ENOENT',
    });
  });

  it('lists, renames over and removes names', async () => {
    for (const name of ['b', 'a']) await (await realFileSystem.open(join(folder, name), 'create')).close();
    expect(await realFileSystem.readdir(folder)).toEqual(['a', 'b']);
    await realFileSystem.rename(join(folder, 'a'), join(folder, 'b'));
    expect(await realFileSystem.readdir(folder)).toEqual(['b']);
    await realFileSystem.unlink(join(folder, 'b'));
    await realFileSystem.syncDirectory(folder);
    expect(await realFileSystem.readdir(folder)).toEqual([]);
  });

  it('makes a folder with those above it, once', async () => {
    const path = join(folder, 'x', 'y', 'z');
    await realFileSystem.makeDirectory(path);
    await realFileSystem.makeDirectory(path);
    expect(await realFileSystem.readdir(path)).toEqual([]);
    expect((await stat(path)).mode & 0o777).toBe(0o700);
  });

  it('reports that it cannot make a folder, because of an existing file or an error of the system', async () => {
    const file = join(folder, 'file');
    await (await realFileSystem.open(file, 'create')).close();
    const refused: readonly (readonly [string, string])[] = [
      [file, 'EEXIST'],
      [join(file, 'x'), 'ENOTDIR'],
      // Linux says that what is above is missing, and it is there.
      ['/proc/x/y', 'ENOENT'],
    ];
    for (const [path, code] of refused)
      await expect(realFileSystem.makeDirectory(path)).rejects.toMatchObject({ code });
  });

  it('reports the free space', async () => {
    const { freeBytes, usedBytes } = await realFileSystem.statfs(folder);
    expect(freeBytes).toBeGreaterThan(0);
    expect(usedBytes).toBeGreaterThan(0);
  });
});
