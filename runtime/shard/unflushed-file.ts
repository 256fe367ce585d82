import { existsSync, writeFileSync } from 'node:fs';
import { copyFile, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Name of the marker file of a shard whose data must not be trusted. */
const UNSOUND = 'unsound';

/**
 * Reverts a shard to its flushed state after a failed flush.
 *
 * The operating system treats pages that it could not write as clean: a second flush succeeds although the pages never
 * reached the disk. LMDB flushes again when it closes an environment, and would then mark the newest root as flushed.
 * Therefore the pages are read once more, which still works, and written to a new file that replaces the old one. The
 * newest root is marked as not flushed in it (and in the old file until it is closed), so an open uses the
 * previous root. No page of that root was changed since.
 *
 * @param folder of the shard, whose environment is still open
 * @param file name of its data file
 * @throws {ServiceError} `WRITES_STOPPED` when this fails too; the shard is then marked and never opened again
 */
export async function goBackToFlushed(folder: string, file: string): Promise<void> {
  const fresh = join(folder, `${file}.new`);
  try {
    await rm(fresh, { force: true });
    await copyFile(join(folder, file), fresh);
    await flush(fresh);
    await rename(fresh, join(folder, file));
    await flush(folder);
  } catch (cause) {
    writeFileSync(
      join(folder, UNSOUND),
      'A flush failed, and the data could not be copied. Restore a backup.\n',
      {
        flush: true,
      },
    );
    throw new ServiceError('WRITES_STOPPED', undefined, { cause });
  }
}

/** @throws {ServiceError} `DATA_CORRUPTED` when the on-disk state of a shard is unknown */
export function requireSound(folder: string): void {
  if (!existsSync(join(folder, UNSOUND))) return;
  throw new ServiceError(
    'DATA_CORRUPTED',
    `the disk under ${folder} failed while data was brought to it, and what is there is not known; restore a backup`,
  );
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}
