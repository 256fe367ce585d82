import { mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '#runtime/base/time/clock.ts';
import { type FileSystem, realFileSystem } from '#runtime/base/files/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { FileBlobs } from '#runtime/embedded/file-blobs.ts';
import { type CrashMode, FaultyFileSystem } from '#test/support/faulty-file-system.ts';
import { blobsConformance, bytesOf, hashOf, readAll } from '../blobs/blobs-conformance.ts';

const openOver = (folder: string, files: FileSystem = realFileSystem): Promise<FileBlobs> =>
  FileBlobs.open({ folder, files, clock: systemClock, random: systemRandom });

blobsConformance('files', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'blobs-'));
  const blobs = await openOver(folder);
  return {
    blobs,
    elsewhere: await openOver(folder),
    damage: async (hash, how) => {
      const path = join(folder, hash.slice(0, 2), hash);
      const bytes = readFileSync(path);
      if (how === 'truncate') return truncateSync(path, bytes.length - 100);
      bytes[bytes.length >> 1] = (bytes[bytes.length >> 1] as number) ^ 1;
      writeFileSync(path, bytes);
    },
    close: async () => rmSync(folder, { recursive: true }),
  };
});

describe('blobs in files', () => {
  const bytes = bytesOf(600_000);
  const hash = hashOf(bytes);

  it.each<CrashMode>(['process-kill', 'drop-unsynced', 'torn'])(
    'are there whole or not at all after a crash at any moment (%s)',
    async (mode) => {
      for (let changes = 1; ; changes++) {
        const files = new FaultyFileSystem();
        const blobs = await openOver('/blobs', files);
        files.freezeAfter(changes);
        let isStored = false;
        const putting = blobs.put([bytes], { bytesMax: 1_000_000 }).then(() => {
          isStored = true;
        });
        await Promise.race([files.frozen, putting]);
        for (let dice = 0; dice < 3; dice++) {
          const after = await openOver(
            '/blobs',
            files.crash(mode, () => ((dice * 7 + changes * 3) % 10) / 10),
          );
          const info = await after.info(hash);
          if (isStored) expect(info?.size).toBe(bytes.length);
          if (info !== undefined) expect((await readAll(await after.get(hash))).equals(bytes)).toBe(true);
        }
        if (isStored) return expect(changes).toBeGreaterThan(4);
      }
    },
  );

  it('leave nothing behind that a crash cut short, once they are opened again', async () => {
    const files = new FaultyFileSystem();
    const blobs = await openOver('/blobs', files);
    files.freezeAfter(3);
    void blobs.put([bytes], { bytesMax: 1_000_000 });
    await files.frozen;
    const after = files.crash('process-kill');
    expect(after.paths()).toHaveLength(1);
    await openOver('/blobs', after);
    expect(after.paths()).toEqual([]);
  });

  it('report a full disk, and keep nothing of what did not fit', async () => {
    const files = new FaultyFileSystem();
    const blobs = await openOver('/blobs', files);
    files.freeBytes = 300_000;
    await expect(blobs.put([bytes], { bytesMax: 1_000_000 })).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(files.paths()).toEqual([]);
    files.freeBytes = 1_000_000;
    expect((await blobs.put([bytes], { bytesMax: 1_000_000 })).hash).toBe(hash);
  });

  it('do not count as stored when a flush failed', async () => {
    for (const operation of ['sync', 'rename', 'syncDirectory'] as const) {
      const files = new FaultyFileSystem();
      const blobs = await openOver('/blobs', files);
      files.fail(operation, 'EIO');
      await expect(blobs.put([bytes], { bytesMax: 1_000_000 })).rejects.toMatchObject({ code: 'EIO' });
    }
  });

  it('that are under way are not swept away', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'blobs-'));
    const blobs = await openOver(folder);
    const gate = Promise.withResolvers<void>();
    const slow = async function* (): AsyncGenerator<Uint8Array, void> {
      yield bytes;
      await gate.promise;
    };
    const putting = blobs.put(slow(), { bytesMax: 1_000_000 });
    while (readdirSync(join(folder, 'incoming')).length === 0)
      await new Promise((next) => setImmediate(next));
    expect(await blobs.sweep(60_000)).toBe(0);
    gate.resolve();
    expect((await putting).hash).toBe(hash);
    rmSync(folder, { recursive: true });
  });
});
