import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { unusableFile } from '#runtime/errors/refused-file.ts';

/** Files LMDB opens for one environment: the reader table, the data, and the data again for flushes; one spare. */
const FILES_OPENED = 4;

const { O_RDONLY, R_OK, W_OK, X_OK } = constants;

/**
 * Checks that LMDB can open its files, because it crashes the process (measured with 3.5: a segmentation fault) when it
 * can open one of them but not the next.
 *
 * An existing lock file is checked without opening it: closing it would release the locks of LMDB on it.
 *
 * @param data path of the data file; it may be missing
 * @param lock path of the lock file, which LMDB creates when it is missing
 * @throws {ServiceError} `WRITES_STOPPED` naming a file that cannot be used
 * @throws the error of the system when no more files can be opened or created
 */
export function requireOpenable(data: string, lock: string): void {
  requireUsable(data, 'bring it back from a copy');
  requireUsable(lock, 'it holds no data: remove it while the server is stopped');
  const opened: number[] = [];
  try {
    for (let count = 0; count < FILES_OPENED; count += 1) opened.push(openSync(dirname(data), O_RDONLY));
    // Created here to check that it can be created.
    if (statSync(lock, { throwIfNoEntry: false }) === undefined) closeSync(openSync(lock, 'a', 0o600));
  } finally {
    for (const descriptor of opened) closeSync(descriptor);
  }
}

function requireUsable(path: string, remedy: string): void {
  let what: string | undefined;
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) accessSync(dirname(path), R_OK | W_OK | X_OK);
    else if (found.isFile()) accessSync(path, R_OK | W_OK);
    else what = 'it is no file';
    if (what === undefined) return;
  } catch (cause) {
    const { code = cause } = cause as NodeJS.ErrnoException;
    what = String(code);
  }
  const rights = 'the user of the server must be able to read and write it';
  throw unusableFile(path, what, `${rights}; else ${remedy}`);
}
