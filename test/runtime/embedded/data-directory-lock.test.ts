import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { claimName } from '#server/host/claimed-name.ts';
import {
  acquireDataDirectory,
  acquireForReading,
  addressOfHolder,
  claimNothing,
  type HolderAddress,
  holderOf,
  isWrittenOnlyBy,
} from '#runtime/embedded/data-directory-lock.ts';
import { asNobody } from '#test/support/as-nobody.ts';

const holder = fileURLToPath(new URL('../../support/data-directory-holder.ts', import.meta.url));

describe('acquireDataDirectory', () => {
  let parent: string;
  let directory: string;
  let children: ChildProcess[];

  beforeEach(async () => {
    parent = await mkdtemp(join(tmpdir(), 'grove-lock-'));
    directory = join(parent, 'data');
    children = [];
  });

  afterEach(async () => {
    for (const child of children) child.kill('SIGKILL');
    await rm(parent, { recursive: true });
  });

  /** Starts a process that takes the directory. @returns it and what it said */
  async function startHolder(): Promise<{ child: ChildProcess; said: string }> {
    const child = spawn(process.execPath, [holder, directory], { stdio: ['ignore', 'pipe', 'inherit'] });
    children.push(child);
    const [text] = await once(child.stdout, 'data');
    return { child, said: String(text).trim() };
  }

  it('refuses a second process, naming the directory and the holder [DUR-006]', async () => {
    const { child, said } = await startHolder();
    expect(said).toBe('held');
    const expected = `The data directory ${directory} is in use by process ${child.pid}. `;
    await expect(acquireDataDirectory(directory, claimName)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining(expected),
      details: { directory, pid: child.pid },
    });
    expect((await startHolder()).said).toContain(`CONFLICT ${expected}`);
  });

  it('reports its holder and the address of the server without taking it', async () => {
    expect(holderOf(directory)).toBeUndefined();
    expect(existsSync(directory)).toBe(false);
    const lock = await acquireDataDirectory(directory, claimName);
    expect(holderOf(directory)).toEqual({ pid: process.pid, url: undefined });
    lock.announce('http://127.0.0.1:8080');
    expect(holderOf(directory)).toEqual({ pid: process.pid, url: 'http://127.0.0.1:8080' });
    lock.release();
    expect(holderOf(directory)).toBeUndefined();
    // One that was killed leaves its name in the file, and no lock.
    const { child } = await startHolder();
    expect(holderOf(directory)?.pid).toBe(child.pid);
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(holderOf(directory)).toBeUndefined();
  });

  it('is free again as soon as the holder is killed with SIGKILL', async () => {
    for (let round = 0; round < 2; round += 1) {
      const { child, said } = await startHolder();
      expect(said).toBe('held');
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
    const lock = await acquireDataDirectory(directory, claimName);
    const refused = await startHolder();
    expect(refused.said).toContain(`in use by process ${process.pid}`);
    lock.release();
    expect((await startHolder()).said).toBe('held');
  });

  it('refuses a second holder in the same process until the first has released', async () => {
    const first = await acquireDataDirectory(directory, claimName);
    await expect(acquireDataDirectory(directory, claimName)).rejects.toMatchObject({ code: 'CONFLICT' });
    first.release();
    first.release();
    const second = await acquireDataDirectory(directory, claimName);
    await expect(acquireDataDirectory(`${directory}/.`, claimName)).rejects.toMatchObject({
      code: 'CONFLICT',
    });
    second.release();
  });

  it('keeps others out when its file was removed', async () => {
    const { said } = await startHolder();
    expect(said).toBe('held');
    rmSync(join(directory, 'lock'));
    const expected = `The data directory ${directory} is in use by a process whose lock file in it was removed. `;
    expect((await startHolder()).said).toContain(`CONFLICT ${expected}`);
    await expect(acquireDataDirectory(join(parent, '.', 'data'), claimName)).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining(expected),
    });
  });

  it('names what has the name of the lock file and is no file', async () => {
    await mkdir(join(directory, 'lock'), { recursive: true });
    await expect(acquireDataDirectory(directory, claimName)).rejects.toMatchObject({
      code: 'WRITES_STOPPED',
      message: expect.stringMatching(/\/lock cannot be used \(EISDIR\): it must be a file: move/),
    });
    await rm(join(directory, 'lock'), { recursive: true });
    (await acquireDataDirectory(directory, claimName)).release();
  });

  it.each([
    ['/dev/null', 'EEXIST'],
    ['/dev/null/data', 'ENOTDIR'],
    ['/proc/x', 'ENOENT'],
    ['/proc', 'ENOENT'],
  ])('names what is no directory and can be none, and the option: %s', async (path, code) => {
    await expect(acquireDataDirectory(path, claimNothing)).rejects.toMatchObject({
      code: 'WRITES_STOPPED',
      message: expect.stringMatching(
        new RegExp(`^${path} cannot be used \\(${code}\\): it is not a folder.*set SVC_DATA_DIR`),
      ) as string,
    });
  });

  it('names a lock file, or a directory, without access rights, and the remedy', async () => {
    const lock = join(directory, 'lock');
    await mkdir(directory);
    writeFileSync(lock, '');
    chmodSync(lock, 0);
    const refused = (path: string) => ({
      code: 'WRITES_STOPPED',
      message: `${path} cannot be used (EACCES): give the user of the server the right to read and write it (chown, chmod), and start again`,
    });
    await asNobody(parent, async () => {
      await expect(acquireDataDirectory(directory, claimNothing)).rejects.toMatchObject(refused(lock));
      await expect(acquireForReading(directory, claimNothing)).rejects.toMatchObject(refused(lock));
      chmodSync(parent, 0o500);
      const missing = join(parent, 'missing');
      await expect(acquireDataDirectory(missing, claimNothing)).rejects.toMatchObject(refused(missing));
    });
  });

  it('is another lock for another directory in the same place', async () => {
    const first = await acquireDataDirectory(directory, claimName);
    renameSync(directory, join(parent, 'moved'));
    await mkdir(directory);
    const second = await acquireDataDirectory(directory, claimName);
    expect(() => first.requireHeld()).toThrow('replaced');
    second.requireHeld();
    first.release();
    second.release();
  });

  async function addressOf(announced: string, mode = 0o600): Promise<HolderAddress | undefined> {
    const held = await acquireDataDirectory(directory, claimName);
    held.announce(announced);
    chmodSync(join(directory, 'lock'), mode);
    const error = await acquireDataDirectory(directory, claimName).catch((refused: unknown) => refused);
    held.release();
    return addressOfHolder(error);
  }

  it('names an address as safe for a password only on this machine', async () => {
    for (const origin of [
      'http://127.0.0.1:8080',
      'http://127.9.9.9:1',
      'http://[::1]:8080',
      'http://localhost:8080',
    ])
      expect(await addressOf(origin)).toEqual({ text: origin, trustedUrl: origin });
    const foreign = [
      'http://10.0.0.1:8080',
      'http://127.0.0.1.example.com:80',
      'http://127.0.0.1:80@example.com',
      'http://[::2]:8080',
      'ftp://127.0.0.1',
      'not an address',
    ];
    for (const text of foreign) expect(await addressOf(text)).toEqual({ text, trustedUrl: undefined });
    expect(await addressOf('')).toBeUndefined();
    expect(addressOfHolder(new TypeError('another error'))).toBeUndefined();
  });

  it.each([0o620, 0o602, 0o666])('trusts no address in a lock file of mode %i', async (mode) => {
    const text = 'http://127.0.0.1:8080';
    expect(await addressOf(text, mode)).toEqual({ text, trustedUrl: undefined });
  });

  it('trusts files of this user or root only', () => {
    expect(isWrittenOnlyBy(1_000, { uid: 1_000, mode: 0o100644 })).toBe(true);
    expect(isWrittenOnlyBy(1_000, { uid: 0, mode: 0o100644 })).toBe(true);
    expect(isWrittenOnlyBy(1_000, { uid: 1_001, mode: 0o100600 })).toBe(false);
    expect(isWrittenOnlyBy(0, { uid: 1_001, mode: 0o100600 })).toBe(false);
    expect(isWrittenOnlyBy(undefined, { uid: 0, mode: 0o100600 })).toBe(false);
  });

  const hands: readonly [string, string, () => void][] = [
    ['removed', 'removed', () => rmSync(join(directory, 'lock'))],
    [
      'replaced by another file',
      'replaced',
      () => {
        writeFileSync(join(directory, 'other'), '');
        renameSync(join(directory, 'other'), join(directory, 'lock'));
      },
    ],
    ['renamed', 'removed', () => renameSync(join(directory, 'lock'), join(directory, 'lock.old'))],
    ['moved away with its directory', 'removed', () => renameSync(directory, join(parent, 'moved'))],
  ];

  it.each(hands)('is no longer sure of a directory whose lock file was %s', async (_, what, mishandle) => {
    const lock = await acquireDataDirectory(directory, claimName);
    lock.requireHeld();
    mishandle();
    const told = `the lock file ${join(directory, 'lock')} was ${what} under the running server`;
    expect(() => lock.requireHeld()).toThrow(told);
    await mkdir(directory, { recursive: true });
    writeFileSync(join(directory, 'lock'), '');
    // Whatever is there later: nobody knows who had the directory meanwhile.
    expect(() => lock.requireHeld()).toThrow(told);
    lock.release();
  });
});

describe('acquireForReading', () => {
  let directory: string;
  let file: string;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'grove-lock-'));
    file = join(directory, 'lock');
    writeFileSync(file, '');
  });

  afterEach(() => rm(directory, { recursive: true }));

  /** Does something as a user who may only read the directory. */
  function reading<Result>(work: () => Promise<Result>): Promise<Result> {
    return asNobody(directory, async () => {
      if (existsSync(file)) chmodSync(file, 0o444);
      chmodSync(directory, 0o555);
      try {
        return await work();
      } finally {
        chmodSync(directory, 0o755);
        if (existsSync(file)) chmodSync(file, 0o644);
      }
    });
  }

  it('blocks a writer with a lock that readers share, in a read-only directory', async () => {
    const readers = await reading(async () => [
      await acquireForReading(directory, claimNothing),
      await acquireForReading(directory, claimNothing),
    ]);
    for (const reader of readers) {
      expect(reader.hasFile).toBe(true);
      await expect(acquireDataDirectory(directory, claimNothing)).rejects.toMatchObject({ code: 'CONFLICT' });
      reader.release();
    }
    const writer = await acquireDataDirectory(directory, claimNothing);
    const refused = reading(() => acquireForReading(directory, claimNothing));
    await expect(refused).rejects.toThrow(`in use by process ${process.pid}`);
    writer.release();
  });

  it('refuses a path that is no directory, as one that writes does', async () => {
    await expect(acquireForReading(file, claimName)).rejects.toMatchObject({
      code: 'WRITES_STOPPED',
      message: expect.stringContaining('it is not a folder') as string,
    });
  });

  it('reads nothing under a writer whose lock file was removed, where nothing may be written', async () => {
    const writer = await acquireDataDirectory(directory, claimName);
    rmSync(file);
    const refused = reading(() => acquireForReading(directory, claimName));
    await expect(refused).rejects.toThrow('in use by a process whose lock file in it was removed');
    writer.release();
    const reader = await reading(() => acquireForReading(directory, claimName));
    expect(reader.hasFile).toBe(false);
    await expect(acquireDataDirectory(directory, claimName)).rejects.toMatchObject({ code: 'CONFLICT' });
    reader.release();
  });
});
