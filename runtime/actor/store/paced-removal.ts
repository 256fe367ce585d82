import { type FileHandle, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';

/**
 * Bytes of a file freed at a time. If the file system reports freed blocks to the disk, the disk does nothing else
 * until it has processed them: 300 ms for the 271 MB of 100,000 nodes, during which no write became durable.
 */
export const SLICE_BYTES: number = 8 * 1024 * 1024;

/**
 * Removes a folder with its content. Large files are truncated in slices, with a pause after each slice as long as the
 * slice took, so that other writers to the same disk wait for at most one slice.
 *
 * The files must not be open or mapped. No error when the folder does not exist.
 *
 * @throws {Error} of Node, with its `code`
 */
export async function removePaced(folder: string, clock: Clock): Promise<void> {
  for (const path of await filesUnder(folder)) {
    // Another removal of the same folder may be under way.
    await unlessGone(async () => {
      const { size } = await stat(path);
      if (size > SLICE_BYTES) await shorten(path, size, clock);
    });
  }
  await rm(folder, { recursive: true, force: true });
}

async function filesUnder(folder: string): Promise<readonly string[]> {
  const entries = await unlessGone(() => readdir(folder, { recursive: true, withFileTypes: true }));
  return (entries ?? [])
    .filter((entry) => entry.isFile())
    .map(({ name, parentPath }) => join(parentPath, name));
}

/** @returns undefined when what is worked on does not exist */
async function unlessGone<Result>(work: () => Promise<Result>): Promise<Result | undefined> {
  try {
    return await work();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

async function shorten(path: string, size: number, clock: Clock): Promise<void> {
  const file: FileHandle = await open(path, 'r+');
  try {
    for (let left = size - SLICE_BYTES; left > 0; left -= SLICE_BYTES) {
      const startMs = clock.monotonicMs();
      await file.truncate(left);
      // The blocks are freed by the flush, not before.
      await file.sync();
      await sleep(clock, clock.monotonicMs() - startMs);
    }
  } finally {
    await file.close();
  }
}
