import { createHash } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readRegularSync } from '#runtime/base/regular-file.ts';
import { unstorable } from '#runtime/errors/refused-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/**
 * Notes of owners of actors that are being made or removed. Making and removing takes several commits, so a process
 * that dies in between leaves actors that no registry lists. Only what has such a note may be removed by the next
 * start: that a registry does not list something says nothing about why.
 *
 * @see docs/decisions/0030-nothing-is-removed-by-inference.md
 */
export interface OwnerIntents {
  /**
   * Notes that an owner is going to be listed, or not listed any more. To be called before anything is done.
   *
   * @throws {ServiceError} `STORAGE_FULL`; `WRITES_STOPPED` naming the file that the system refuses
   */
  begin(owner: string): Promise<void>;
  /** Notes that the registry and the actors under an owner agree. No error when nothing was noted. */
  settled(owner: string): Promise<void>;
  /**
   * Every owner noted and not settled, sorted.
   *
   * @param onUnread told of what is among the notes and cannot be read as one: nothing is known of what it names
   */
  all(onUnread?: (path: string, cause: unknown) => void): Promise<readonly string[]>;
}

/** For processes that never remove what is left over, because they do not have all actors. */
export const noOwnerIntents: OwnerIntents = Object.freeze({
  begin: () => Promise.resolve(),
  settled: () => Promise.resolve(),
  all: () => Promise.resolve([]),
});

/**
 * Notes that an owner is going to be removed, where there is room for it: a removal frees space. Without the note a crash
 * in the middle leaves files that nobody removes, and no more.
 *
 * @throws {ServiceError} `WRITES_STOPPED` naming the file that the system refuses
 */
export async function beginRemoval(unsettled: OwnerIntents, owner: string): Promise<void> {
  await unsettled.begin(owner).catch((error: unknown) => {
    if (!(error instanceof ServiceError) || error.code !== 'STORAGE_FULL') throw error;
  });
}

/**
 * One small file for each note. They are not flushed: a power cut may lose the newest ones, which leaves something
 * over that nobody removes, and no more.
 */
export class OwnerIntentFiles implements OwnerIntents {
  readonly #folder: string;

  /** @param folder made when the first note is */
  constructor(folder: string) {
    this.#folder = folder;
  }

  async begin(owner: string): Promise<void> {
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      await writeFile(this.#fileOf(owner), owner, { mode: 0o600 });
    } catch (cause) {
      // A part of a note says nothing.
      await this.settled(owner).catch(() => undefined);
      throw unstorable(this.#fileOf(owner), cause);
    }
  }

  async settled(owner: string): Promise<void> {
    await rm(this.#fileOf(owner), { force: true });
  }

  async all(onUnread: (path: string, cause: unknown) => void = () => {}): Promise<readonly string[]> {
    const names = await readdir(this.#folder).catch(noneWhenMissing);
    const owners: string[] = [];
    for (const name of names) {
      const path = join(this.#folder, name);
      try {
        const owner = readRegularSync(path);
        // Cut by a power failure, or damaged: it may name another owner than the one it was made for.
        if (fileName(owner) === name) owners.push(owner);
      } catch (cause) {
        // A folder that a tool made, a file of somebody else: what nobody can read must not keep all from being served.
        onUnread(path, cause);
      }
    }
    return owners.sort();
  }

  #fileOf(owner: string): string {
    return join(this.#folder, fileName(owner));
  }
}

/** Ids may be longer than a file name may be. It is the checksum of the content as well. */
function fileName(owner: string): string {
  return createHash('sha256').update(owner).digest('hex').slice(0, 32);
}

function noneWhenMissing(error: unknown): string[] {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
  throw error;
}
