import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, describe } from 'vitest';
import { readRecording, recordingNames, unpackFolder } from '#test/history/recording.ts';
import { type FileSystem, realFileSystem } from '#runtime/base/files/file-system.ts';
import { expectStatus } from '#test/support/content-client.ts';
import { startServer } from '#test/support/server.ts';
import { SmallVolume } from '#test/support/small-volume.ts';

let volume: SmallVolume;
let dataDir: string;
let removed: string;

/** Nobody logs in: that is a write. */
function start(files: FileSystem = realFileSystem): ReturnType<typeof startServer> {
  const config = '[limits]\njournal_segment_bytes = 4_194_304\nbatch_bytes_max = 1_048_576\n';
  return startServer({ dataDir, config, files, env: { SVC_ADMIN_PASSWORD: undefined } });
}

/** Puts something of so many bytes into the folder of what is being made or removed. */
function leave(name: string, bytes: number): string {
  const folder = join(removed, name);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'data.mdb'), Buffer.alloc(bytes, 1));
  return folder;
}

beforeEach(() => {
  volume = new SmallVolume(32 * 1024 * 1024);
  dataDir = join(volume.path, 'data');
  removed = join(dataDir, 'actors/.removed');
  // It has a write that is not in its shard yet: a start puts it there, which needs room.
  unpackFolder(readRecording(recordingNames()[0] as string).files, dataDir);
});

afterEach(() => volume.close());

describe('a start on a volume without room', () => {
  it('removes what interrupted work left before anything needs room', async () => {
    const half = leave('0'.repeat(32), 4096);
    // The journal has no room for as long as it is there.
    const files: FileSystem = {
      ...realFileSystem,
      makeDirectory(path) {
        if (!existsSync(half)) return realFileSystem.makeDirectory(path);
        return Promise.reject(
          Object.assign(new Error('ENOSPC: no space left on device, mkdir'), { code: 'ENOSPC' }),
        );
      },
    };
    const server = await start(files);
    try {
      expect(existsSync(half)).toBe(false);
      expectStatus(await server.request('GET', '/ready'), 200);
    } finally {
      await server.close();
    }
  });

  it('names the directory and what may be deleted when nothing could be removed, except damaged files set aside', async () => {
    // Its time is not over.
    const damaged = join(leave(`${Date.now()}-${'0'.repeat(32)}`, 4096), 'damaged');
    mkdirSync(damaged);
    writeFileSync(join(damaged, 'data.mdb'), 'all there is');
    volume.fill(100);
    await expect(start()).rejects.toMatchObject({
      code: 'STORAGE_FULL',
      message: expect.stringMatching(new RegExp(`${dataDir}, .*Free some.*${removed}`, 's')) as string,
    });
    expect(readFileSync(join(damaged, 'data.mdb'), 'utf8')).toBe('all there is');
    volume.free();
    await (await start()).close();
  });

  it('serves a directory that requires no writes, and names its holder as far as possible', async () => {
    await (await start()).close();
    volume.fill(100);
    const server = await start();
    try {
      expectStatus(await server.request('GET', '/ready'), 200);
      await expect(start()).rejects.toThrow(/is in use by/);
    } finally {
      await server.close();
    }
  });
});
