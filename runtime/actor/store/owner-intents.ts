import { createHash } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readRegularSync } from '#runtime/base/files/regular-file.ts';
import { unstorable } from '#runtime/errors/refused-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * Records of owners whose actors are being created or removed. A creation or removal takes several commits, so a crash
 * in between leaves actors that no registry lists. The next start may remove only owners with such a record: a missing
 * registry entry alone does not show why it is missing.
 *
 * @see docs/decisions/0030-nothing-is-removed-by-inference.md
 */
export interface OwnerIntents {
  /**
   * Records that an owner is about to be registered or unregistered. Must be called before the first change.
   *
   * @throws {ServiceError} `STORAGE_FULL`; `WRITES_STOPPED` naming the file that the system refuses
   */
  begin(owner: string): Promise<void>;
  /** Records that the registry and the actors under an owner agree. No error when there is no record. */
  settled(owner: string): Promise<void>;
  /**
   * Every recorded owner that is not settled, sorted.
   *
   * @param onUnread called for entries, or the folder, that cannot be read; the owners they name are unknown
   */
  all(onUnread?: (path: string, cause: unknown) => void): Promise<readonly string[]>;
}

/** For processes that never remove leftovers, because they do not have all actors. */
export const noOwnerIntents: OwnerIntents = Object.freeze({
  begin: () => Promise.resolve(),
  settled: () => Promise.resolve(),
  all: () => Promise.resolve([]),
});

/**
 * Records a removal, if there is disk space: a removal must work without it, because it frees space. Without the
 * record, a crash in the middle only leaves files that are never removed.
 *
 * @throws {ServiceError} `WRITES_STOPPED` naming the file that the system refuses
 */
export async function beginRemoval(unsettled: OwnerIntents, owner: string): Promise<void> {
  await unsettled.begin(owner).catch((error: unknown) => {
    if (!(error instanceof ServiceError) || error.code !== 'STORAGE_FULL') throw error;
  });
}

/**
 * One small file per record. They are not flushed: a power failure may lose the newest ones, which only leaves files
 * that are never removed.
 */
export class OwnerIntentFiles implements OwnerIntents {
  readonly #folder: string;

  /** @param folder created with the first record */
  constructor(folder: string) {
    this.#folder = folder;
  }

  async begin(owner: string): Promise<void> {
    try {
      await mkdir(this.#folder, { mode: 0o700 }).catch((cause: unknown) => {
        // It exists. With a file in its place, the write below fails with a code that names this.
        if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
      });
      await writeFile(this.#fileOf(owner), owner, { mode: 0o600 });
    } catch (cause) {
      // Remove a partly written record.
      await this.settled(owner).catch(() => undefined);
      throw unstorable(this.#fileOf(owner), cause);
    }
  }

  async settled(owner: string): Promise<void> {
    await rm(this.#fileOf(owner), { force: true });
  }

  async all(onUnread: (path: string, cause: unknown) => void = () => {}): Promise<readonly string[]> {
    const names = await readdir(this.#folder).catch((cause: unknown): string[] => {
      // Without the records nothing is removed: content can be served.
      if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') onUnread(this.#folder, cause);
      return [];
    });
    const owners: string[] = [];
    for (const name of names) {
      const path = join(this.#folder, name);
      try {
        const owner = readRegularSync(path);
        // Truncated by a power failure or damaged: it may name another owner than its file name.
        if (fileName(owner) === name) owners.push(owner);
      } catch (cause) {
        // An unrelated folder or file: it must not make the start fail.
        onUnread(path, cause);
      }
    }
    return owners.sort();
  }

  #fileOf(owner: string): string {
    return join(this.#folder, fileName(owner));
  }
}

/** A hash, because ids may exceed the length of a file name. Also serves as the checksum of the content. */
function fileName(owner: string): string {
  return createHash('sha256').update(owner).digest('hex').slice(0, 32);
}
