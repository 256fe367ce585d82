import { spawnSync } from 'node:child_process';
import { constants, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OpenMode, realFileSystem } from '#runtime/base/files/file-system.ts';
import { openRegularSync, readRegularSync } from '#runtime/base/files/regular-file.ts';
import { copyFileDurably } from '#runtime/shard/file-copy.ts';

let folder: string;
let socket: Server | undefined;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'grove-regular-'));
});

afterEach(() => {
  socket?.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Something at a path that is no file. */
const others: readonly [string, string, (path: string) => Promise<void> | void][] = [
  ['a pipe', 'EFTYPE', (path) => void spawnSync('mkfifo', [path])],
  ['a folder', 'EISDIR', (path) => mkdirSync(path)],
  [
    'a socket',
    'ENXIO',
    (path) =>
      new Promise((resolve) => {
        socket = createServer().listen(path, resolve);
      }),
  ],
];

describe.each(others)('%s in place of a file', (_, code, make) => {
  it.each<OpenMode>(['read', 'read-write', 'create', 'create-synced'])(
    'is not opened to %s',
    async (mode) => {
      const path = join(folder, 'it');
      await make(path);
      await expect(realFileSystem.open(path, mode)).rejects.toMatchObject({ code });
    },
  );

  it('is not opened by what waits for the system', async () => {
    const path = join(folder, 'it');
    await make(path);
    expect(() => readRegularSync(path)).toThrow(code);
    expect(() => openRegularSync(path, constants.O_RDWR)).toThrow(code);
    await expect(copyFileDurably(path, join(folder, 'copy'))).rejects.toMatchObject({
      code: code === 'ENXIO' ? 'EFTYPE' : code,
    });
  });
});

it('opens no devices', () => {
  expect(() => readRegularSync('/dev/zero')).toThrow(
    '/dev/zero is no file: it is a pipe, a socket or a device',
  );
});

it('opens files as ever', async () => {
  const path = join(folder, 'it');
  writeFileSync(path, 'text');
  expect(readRegularSync(path)).toBe('text');
  const file = await realFileSystem.open(path, 'read-write');
  await file.write(Buffer.from('T'), 0, 1, 0);
  await file.close();
  await copyFileDurably(path, join(folder, 'copy'));
  expect(readFileSync(join(folder, 'copy'), 'utf8')).toBe('Text');
});
