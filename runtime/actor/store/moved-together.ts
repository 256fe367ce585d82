import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
} from 'node:fs';
import { join } from 'node:path';

/** Names of the two folders inside the removal folder. */
const MOVING = 'moving';
const MOVED = 'moved';

/**
 * Moves several entries out of a folder atomically: one after the other into a folder that is renamed when it has all
 * of them. After a crash, entries under the first name are moved back; those under the second name were moved.
 *
 * All changes are on disk when a function returns. Errors are those of Node, with their `code`.
 */
export class MovedTogether {
  readonly #root: string;
  readonly #removed: string;
  readonly #moving: string;

  /** @param root folder of the entries @param removed target folder, created when missing */
  constructor(root: string, removed: string) {
    this.#root = root;
    this.#removed = removed;
    this.#moving = join(removed, MOVING);
  }

  /** Whether a name in the removal folder is one of the two. */
  static isName(name: string): boolean {
    return name === MOVING || name === MOVED;
  }

  /** The moved entries, until the caller moves them on; may be missing. */
  get folder(): string {
    return join(this.#removed, MOVED);
  }

  /** @param names in the root. {@link folder} must be empty. On an error all entries are where they were */
  move(names: readonly string[]): void {
    mkdirSync(this.#moving, { recursive: true, mode: 0o700 });
    try {
      flushFolder(this.#root);
      flushFolder(this.#removed);
      for (const name of names) renameSync(join(this.#root, name), join(this.#moving, name));
      flushFolder(this.#moving);
      flushFolder(this.#root);
      renameSync(this.#moving, this.folder);
    } catch (error) {
      this.undo();
      throw error;
    }
    flushFolder(this.#removed);
  }

  /** Moves back the entries of an unfinished move. */
  undo(): void {
    if (!existsSync(this.#moving)) return;
    for (const name of readdirSync(this.#moving))
      renameSync(join(this.#moving, name), join(this.#root, name));
    flushFolder(this.#root);
    rmdirSync(this.#moving);
  }
}

/** Flushes the entries of a folder. */
export function flushFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
