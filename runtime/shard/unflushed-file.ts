import { existsSync, writeFileSync } from 'node:fs';
import { copyFile, open, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Name of the file that says that a shard's data must not be trusted. */
const UNSOUND = 'unsound';

/**
 * Goes back to what was flushed, after a flush failed.
 *
 * What the operating system could not write it counts as clean from then on: asked again, it says that all is
 * well although the pages never arrived. LMDB asks again when it closes an environment, and would then mark the
 * newest root as flushed. So the pages are read once more, which still works, and written to a new file that
 * takes the place of the old one. In it the newest root is marked as not flushed, as it is in the old one before
 * that is closed, and whoever opens it takes the root before. Nothing of that root was changed since.
 *
 * @param folder of the shard, whose environment is still open
 * @param file name of its data file
 * @throws {ServiceError} `WRITES_STOPPED` when that fails too; then the shard is marked and never opened again
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

/** @throws {ServiceError} `DATA_CORRUPTED` when nobody knows what of a shard is on its disk */
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
