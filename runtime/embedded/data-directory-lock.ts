import { closeSync, ftruncateSync, openSync, readFileSync, writeSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { tryLock } from 'fs-native-extensions';
import { realFileSystem } from '#runtime/base/file-system.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** The lock file in a data directory. It stays there: removing it would let two processes lock two files. */
export const LOCK_FILE_NAME = 'lock';

/** A held data directory. */
export interface DataDirectoryLock {
  /** Lets others have the directory. Idempotent. */
  release(): void;
}

/**
 * Makes this process the only one that uses a data directory. Two would write one journal and tear each
 * other's shards.
 *
 * The lock is one of the operating system on the open file, so it ends with the process however that dies,
 * also by SIGKILL; no stale lock is ever left behind, and no process id is ever trusted. The id in the file
 * only tells a person who holds it.
 *
 * @param path of the data directory; made when it is not there
 * @throws {ServiceError} `CONFLICT` naming the directory and the process that holds it, when there is one;
 *   `INTERNAL_SERVER_ERROR` when the file system has no locks
 */
export async function acquireDataDirectory(path: string): Promise<DataDirectoryLock> {
  const directory = resolve(path);
  await realFileSystem.makeDirectory(directory);
  // A plain descriptor: an object of Node that holds it could be collected, and the lock would go with it.
  const descriptor = openSync(join(directory, LOCK_FILE_NAME), 'a+', 0o600);
  try {
    if (!lock(descriptor, directory)) throw heldBy(directory, descriptor);
    ftruncateSync(descriptor, 0);
    writeSync(descriptor, `${process.pid}\n`);
  } catch (error) {
    closeSync(descriptor);
    throw error;
  }
  let isHeld = true;
  return {
    release() {
      if (!isHeld) return;
      isHeld = false;
      closeSync(descriptor);
    },
  };
}

function lock(descriptor: number, directory: string): boolean {
  try {
    return tryLock(descriptor);
  } catch (cause) {
    throw new ServiceError(
      'INTERNAL_SERVER_ERROR',
      `The data directory ${directory} cannot be locked; network file systems are not supported. Use a local disk.`,
      { cause },
    );
  }
}

function heldBy(directory: string, descriptor: number): ServiceError {
  const written = Number.parseInt(readFileSync(descriptor, 'latin1'), 10);
  const pid = Number.isNaN(written) ? null : written;
  const holder = pid === null ? 'another process' : `process ${pid}`;
  return new ServiceError(
    'CONFLICT',
    `The data directory ${directory} is in use by ${holder}. Stop that one, or start this one with another SVC_DATA_DIR.`,
    { details: { directory, pid } },
  );
}
