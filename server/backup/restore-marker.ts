import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Name of the marker file: the data directory is being filled from a backup. */
export const RESTORE_MARKER = 'restoring';

/** Returns whether a restore into a data directory has begun and not finished. */
export function isBeingRestored(dataDir: string): boolean {
  return existsSync(join(dataDir, RESTORE_MARKER));
}

/** @throws {ServiceError} `CONFLICT` when a data directory contains a partial restore */
export function requireFinishedRestore(dataDir: string): void {
  if (!isBeingRestored(dataDir)) return;
  throw new ServiceError(
    'CONFLICT',
    `A restore into ${dataDir} did not finish, so it has a part of the backup only. Run it again: npm run restore -- --from … --into ${dataDir}`,
  );
}

/** Marks the begin of a restore; on the disk when it resolves. */
export async function markRestore(dataDir: string, files: FileSystem): Promise<void> {
  await writeFile(join(dataDir, RESTORE_MARKER), 'A restore has begun and not finished.\n', { flush: true });
  await files.syncDirectory(dataDir);
}

/** Marks the end of a restore; on the disk when it resolves. */
export async function unmarkRestore(dataDir: string, files: FileSystem): Promise<void> {
  await rm(join(dataDir, RESTORE_MARKER));
  await files.syncDirectory(dataDir);
}
