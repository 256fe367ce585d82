import { createHash } from 'node:crypto';
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readdirSync, renameSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '#runtime/base/clock.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { removePaced } from './paced-removal.ts';
import type { ActorId } from './ports.ts';

/** Folder for what is being made or removed; no actor id begins like this. */
const REMOVED = '.removed';

/**
 * The folders of the actors of this process. An actor exists when its folder does, so whatever makes or removes
 * one is on the disk before it returns, and nothing half made ever has an actor's name.
 */
export class ActorFolders {
  readonly #root: string;
  readonly #clock: Clock;

  /** @param clock paces the removal of what is large */
  constructor(root: string, clock: Clock) {
    this.#root = root;
    this.#clock = clock;
  }

  of(actor: ActorId): string {
    return join(this.#root, ...actor.split('/'));
  }

  exists(actor: ActorId): boolean {
    return existsSync(this.of(actor));
  }

  /** Whether the folder of an actor has nothing in it. */
  isBare(actor: ActorId): boolean {
    return readdirSync(this.of(actor)).length === 0;
  }

  /** The parts that follow `owner` in the ids of existing actors, decoded, each once. */
  namesUnder(owner: string): readonly string[] {
    const folder = this.of(owner);
    return existsSync(folder) ? readdirSync(folder).map(decodeURIComponent) : [];
  }

  /**
   * Every actor there is, sorted.
   *
   * @param isKind whether a name is the last part of ids: folders of owners that have nothing any more are no actors
   */
  async all(isKind: (name: string) => boolean): Promise<readonly ActorId[]> {
    const found: ActorId[] = [];
    const visit = async (parts: readonly string[]): Promise<void> => {
      const entries = await readdir(join(this.#root, ...parts), { withFileTypes: true }).catch(noneWhenGone);
      const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
      const kind = parts.at(-1);
      if (folders.length === 0 && parts.length >= 2 && kind !== undefined && isKind(decodeURIComponent(kind)))
        found.push(parts.join('/'));
      for (const { name } of folders) await visit([...parts, name]);
    };
    await visit([]);
    return found.sort();
  }

  /** Makes the empty folder of an actor. Without its name on disk a power cut would take acknowledged writes away. */
  create(actor: ActorId): void {
    makeFolderDurable(this.of(actor));
  }

  /**
   * Where an actor can be made that counts only when it is whole: {@link adopt} gives the folder its name, {@link discard}
   * throws it away, and so does a restart.
   *
   * @returns a folder that does not exist
   */
  async prepare(actor: ActorId): Promise<string> {
    await this.discard(actor);
    return this.unfinished(actor);
  }

  /** Gives a prepared folder the name of its actor, on disk when it returns. */
  adopt(actor: ActorId): void {
    crashPoint('mid-fork');
    const folder = this.of(actor);
    makeFolderDurable(dirname(folder));
    renameSync(this.unfinished(actor), folder);
    flushFolder(dirname(folder));
  }

  /** Removes a prepared folder; the space may be what was wanting. */
  async discard(actor: ActorId): Promise<void> {
    await removePaced(this.unfinished(actor), this.#clock);
  }

  /** Removes the folders of every actor under an owner, and of one with this very name. */
  async remove(owner: string): Promise<void> {
    const folder = this.of(owner);
    if (!existsSync(folder)) return;
    const removed = join(this.#root, REMOVED, encodeURIComponent(owner));
    mkdirSync(dirname(removed), { recursive: true, mode: 0o700 });
    renameSync(folder, removed);
    // Else a power cut could bring it back.
    flushFolder(dirname(folder));
    crashPoint('before-branch-removal');
    await removePaced(removed, this.#clock);
  }

  /** Removes what an earlier process left half made or half removed. At once, for nobody writes yet. */
  async sweep(): Promise<void> {
    await rm(join(this.#root, REMOVED), { recursive: true, force: true });
  }

  /** Where {@link prepare} makes an actor. Ids may be longer than a folder name may be. */
  unfinished(actor: ActorId): string {
    const name = createHash('sha256').update(actor).digest('hex').slice(0, 32);
    return join(this.#root, REMOVED, name);
  }
}

/** Makes a folder and those above it, and brings their names to the disk. */
function makeFolderDurable(folder: string): void {
  if (existsSync(folder)) return;
  const parent = dirname(folder);
  makeFolderDurable(parent);
  mkdirSync(folder, { mode: 0o700 });
  flushFolder(parent);
}

/** Whoever lists folders may meet one that was just removed. */
function noneWhenGone(error: unknown): Dirent[] {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
  throw error;
}

/** Brings the names in a folder to the disk. */
function flushFolder(folder: string): void {
  const descriptor = openSync(folder, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
