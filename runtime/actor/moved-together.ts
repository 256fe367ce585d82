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

/** Names of the two folders, in the one of what was removed. */
const MOVING = 'moving';
const MOVED = 'moved';

/**
 * Moves several things out of a folder, all of them or none: one after the other into a folder that gets another name when it
 * has all of them. What a crash leaves under the first name goes back, and what lies under the second one was moved.
 *
 * Everything is on the disk when a function returns. Errors are those of Node, with their `code`.
 */
export class MovedTogether {
  readonly #root: string;
  readonly #removed: string;
  readonly #moving: string;

  /** @param root has the things @param removed the folder they are moved to, which is made when it is missing */
  constructor(root: string, removed: string) {
    this.#root = root;
    this.#removed = removed;
    this.#moving = join(removed, MOVING);
  }

  /** Whether a name in the folder of what was removed belongs here. */
  static isName(name: string): boolean {
    return name === MOVING || name === MOVED;
  }

  /** Has what was moved, until somebody puts it elsewhere; may not be there. */
  get folder(): string {
    return join(this.#removed, MOVED);
  }

  /** @param names in the root. Nothing may be in {@link folder}. When it throws all of them are where they were */
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

  /** Moves back what did not get its other name. */
  undo(): void {
    if (!existsSync(this.#moving)) return;
    for (const name of readdirSync(this.#moving))
      renameSync(join(this.#moving, name), join(this.#root, name));
    flushFolder(this.#root);
    rmdirSync(this.#moving);
  }
}

/** Brings the names in a folder to the disk. */
export function flushFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
