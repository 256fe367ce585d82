import { createHash, timingSafeEqual } from 'node:crypto';
import { closeSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '#runtime/base/random.ts';
import { readRegularSync } from '#runtime/base/files/regular-file.ts';
import { refusedFile } from '#runtime/errors/refused-file.ts';

/** The file in a data directory that contains the access key of the running process. */
export const LOCAL_ACCESS_FILE_NAME = 'local-access';

/** Random bytes of a key. */
const KEY_BYTES = 32;

/** Readable only by the user of the process and root. */
const FILE_MODE = 0o600;

/**
 * A key that proves access to the files of a running process. It is generated at each start, stored in the data
 * directory for the user of the process and root, and removed at the end. A key in a copy of the directory is invalid.
 *
 * @see docs/decisions/0044-password-reset.md
 */
export class LocalAccess {
  readonly #path: string;
  readonly #key: string;
  readonly #digest: Buffer;
  #isStored = false;

  constructor(dataDir: string, random: Random) {
    this.#path = join(dataDir, LOCAL_ACCESS_FILE_NAME);
    this.#key = Buffer.from(random.bytes(KEY_BYTES)).toString('hex');
    this.#digest = digestOf(this.#key);
  }

  /**
   * Writes the key to the data directory, replacing that of a killed process.
   *
   * @throws the error of the system
   */
  store(): void {
    const temporary = `${this.#path}.new`;
    rmSync(temporary, { force: true });
    const file = openSync(temporary, 'wx', FILE_MODE);
    try {
      writeSync(file, `${this.#key}\n`);
    } finally {
      closeSync(file);
    }
    renameSync(temporary, this.#path);
    this.#isStored = true;
  }

  /** Whether a text is the key. Takes constant time. */
  isKey(text: string): boolean {
    return timingSafeEqual(digestOf(text), this.#digest);
  }

  /** Removes the key from the data directory, if it was stored. */
  remove(): void {
    if (this.#isStored) rmSync(this.#path, { force: true });
  }
}

/**
 * Reads the key in a data directory.
 *
 * @returns undefined when there is none
 * @throws {ServiceError} `WRITES_STOPPED` naming the file when the system refuses the read
 */
export function readLocalAccess(dataDir: string): string | undefined {
  const path = join(dataDir, LOCAL_ACCESS_FILE_NAME);
  try {
    return readRegularSync(path).trim();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw refusedFile(path, error) ?? error;
  }
}

function digestOf(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
