import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { open, readdir, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '#runtime/base/clock.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { folderGone, unusableFile } from '#runtime/errors/refused-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { removePaced } from './paced-removal.ts';
import type { ActorId } from './ports.ts';

/** Folder for what is being made or removed; no actor id begins like this. */
const REMOVED = '.removed';

/** What was removed and is kept: when, in milliseconds of the wall clock, and a hash of whose it was. */
const keptName = /^(\d{13,})-([0-9a-f]{32})$/;

/** Says beside what is kept whose it was. */
const OWNER_FILE = 'owner';

/** Name of the folder that is kept. */
const KEPT = 'actors';

/** What becomes of folders that are removed. */
export interface RemovalRules {
  /** Time what is removed is kept in `.removed`, in milliseconds; 0: it goes at once. */
  readonly keepMs: number;
  /** Whether there is no room to keep anything. */
  readonly isPressed: () => boolean;
}

/** Nothing that is removed is kept. */
export const keepNothing: RemovalRules = Object.freeze({ keepMs: 0, isPressed: () => false });

/**
 * The folders of the actors of this process. An actor exists when its folder does, so whatever makes or removes
 * one is on the disk before it returns, and nothing half made ever has an actor's name.
 */
export class ActorFolders {
  /** Holds one folder per actor. */
  readonly root: string;
  readonly #clock: Clock;
  readonly #rules: RemovalRules;

  /** @param clock paces the removal of what is large */
  constructor(root: string, clock: Clock, rules: RemovalRules = keepNothing) {
    this.root = root;
    this.#clock = clock;
    this.#rules = rules;
  }

  /** @throws {ServiceError} `WRITES_STOPPED` when the folder of all of them is gone: then nothing says that one is missing */
  requireRoot(): void {
    if (!existsSync(this.root)) throw folderGone(this.root);
  }

  of(actor: ActorId): string {
    return join(this.root, ...actor.split('/'));
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
    return existsSync(folder) ? readdirSync(folder).filter(isActorName).map(decodeURIComponent) : [];
  }

  /**
   * Every actor there is, sorted.
   *
   * @param isKind whether a name is the last part of ids: folders of owners that have nothing any more are no actors
   */
  async all(isKind: (name: string) => boolean): Promise<readonly ActorId[]> {
    const found: ActorId[] = [];
    const visit = async (parts: readonly string[]): Promise<void> => {
      const entries = await readdir(join(this.root, ...parts), { withFileTypes: true }).catch(noneWhenGone);
      const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
      const kind = parts.at(-1);
      if (folders.length === 0 && parts.length >= 2 && kind !== undefined && isKind(decodeURIComponent(kind)))
        found.push(parts.join('/'));
      for (const { name } of folders) await visit([...parts, name]);
    };
    await visit([]);
    return found.sort();
  }

  /**
   * Makes the empty folder of an actor, which is there when this returns.
   *
   * @returns resolves when its name is on the disk: without it a power cut would take acknowledged writes away
   */
  create(actor: ActorId): Promise<void> {
    return flushFolders(makeFolder(this.of(actor)));
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

  /** Gives a prepared folder the name of its actor, on disk when it returns. When it throws, the folder is as before. */
  adopt(actor: ActorId): void {
    crashPoint('mid-fork');
    const folder = this.of(actor);
    makeFolderDurable(dirname(folder));
    renameSync(this.unfinished(actor), folder);
    try {
      flushFolder(dirname(folder));
    } catch (error) {
      // Else nobody knows of an actor there, and nothing else can be made in its place.
      renameSync(folder, this.unfinished(actor));
      throw error;
    }
  }

  /** Removes a prepared folder; the space may be what was wanting. */
  async discard(actor: ActorId): Promise<void> {
    await removePaced(this.unfinished(actor), this.#clock);
  }

  /**
   * Removes the folders of every actor under an owner, and of one with this very name. They are put away, and go when
   * the time is over for which they are kept ({@link purge}).
   *
   * Needs no room: where there is none they go at once, and the log has to hold the record of the removal until this
   * resolves.
   *
   * @param keeping `once`: only when nothing of this owner is kept already, for what is damaged again and again; `never`
   *   for what is there once more
   * @throws {ServiceError} `STORAGE_FULL` when there is no room to put away what is to be kept `once`
   */
  async remove(owner: string, keeping: 'always' | 'once' | 'never' = 'always'): Promise<void> {
    const folder = this.of(owner);
    if (!existsSync(folder)) return;
    const isThere = keeping === 'never' || (keeping === 'once' && this.#isKept(owner));
    const isKept = this.#rules.keepMs > 0 && !isThere;
    this.#requireFolder();
    const place = this.#freePlace(owner);
    const isPutAway = tryWithRoom(() => {
      mkdirSync(place, { recursive: true, mode: 0o700 });
      renameSync(folder, join(place, KEPT));
    });
    // What is damaged stays where it is: it may be all there is.
    if (!isPutAway && keeping === 'once') throw new ServiceError('STORAGE_FULL');
    if (!isPutAway) rmSync(place, { recursive: true, force: true });
    // The log says that it goes. A crash in the middle leaves a part, which the next start removes.
    if (!isPutAway) await removePaced(folder, this.#clock);
    // Else a power cut could bring it back.
    flushFolder(dirname(folder));
    crashPoint('before-branch-removal');
    if (!isPutAway) return;
    if (!isKept || this.#rules.isPressed()) return removePaced(place, this.#clock);
    // Shards say of what actor they are, too.
    tryWithRoom(() => writeFileSync(join(place, OWNER_FILE), `${owner}\n`, { mode: 0o600 }));
  }

  /** Removes what was kept for long enough; all of it when there is no room. */
  async purge(): Promise<void> {
    for (const { atMs, path } of this.#kept()) {
      const isOver = this.#clock.wallMs() - atMs >= this.#rules.keepMs;
      if (isOver || this.#rules.isPressed()) await removePaced(path, this.#clock);
    }
  }

  /** Removes what an earlier process left half made, and what is kept no longer. At once, for nobody writes yet. */
  async sweep(): Promise<void> {
    const folder = join(this.root, REMOVED);
    this.#requireFolder();
    const names = await readdir(folder).catch(noneWhenGone);
    for (const name of names)
      if (!keptName.test(name)) await rm(join(folder, name), { recursive: true, force: true });
    await this.purge();
    // One with something in it stays.
    await rmdir(folder).catch(() => undefined);
  }

  /** @throws {ServiceError} `WRITES_STOPPED` when the folder of what is removed is none: nothing may be made there */
  #requireFolder(): void {
    const folder = join(this.root, REMOVED);
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? true) return;
    const remedy = 'it should be a folder: move what is there away, and start again, which makes a new one';
    throw unusableFile(folder, 'ENOTDIR', remedy);
  }

  /** Two may be removed within a millisecond. */
  #freePlace(owner: string): string {
    for (let atMs = Math.floor(this.#clock.wallMs()); ; atMs += 1) {
      const place = join(this.root, REMOVED, `${atMs}-${hashOf(owner)}`);
      if (!existsSync(place)) return place;
    }
  }

  #isKept(owner: string): boolean {
    const hash = hashOf(owner);
    return this.#kept().some(({ path }) => path.endsWith(hash));
  }

  #kept(): { readonly path: string; readonly atMs: number }[] {
    const folder = join(this.root, REMOVED);
    if (!existsSync(folder)) return [];
    return readdirSync(folder).flatMap((name) => {
      const atMs = keptName.exec(name)?.[1];
      return atMs === undefined ? [] : [{ path: join(folder, name), atMs: Number(atMs) }];
    });
  }

  /** Where {@link prepare} makes an actor. Ids may be longer than a folder name may be. */
  unfinished(actor: ActorId): string {
    return join(this.root, REMOVED, hashOf(actor));
  }
}

/** What begins with a dot is beside the actors. */
function isActorName(name: string): boolean {
  return !name.startsWith('.');
}

function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 32);
}

/** Makes a folder and those above it. @returns the folders that have new names in them, from the top */
function makeFolder(folder: string): readonly string[] {
  if (existsSync(folder)) return [];
  const parent = dirname(folder);
  const above = makeFolder(parent);
  mkdirSync(folder, { mode: 0o700 });
  return [...above, parent];
}

/** As {@link makeFolder}, and brings their names to the disk. */
function makeFolderDurable(folder: string): void {
  for (const changed of makeFolder(folder)) flushFolder(changed);
}

/** Brings the names in folders to the disk, without holding the event loop; one that was removed has none. */
async function flushFolders(folders: readonly string[]): Promise<void> {
  for (const folder of folders) {
    const handle = await open(folder, 'r').catch(undefinedWhenGone);
    try {
      await handle?.sync();
    } finally {
      await handle?.close();
    }
  }
}

function undefinedWhenGone(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  throw error;
}

/** Whoever lists folders may meet one that was just removed. */
function noneWhenGone(error: unknown): never[] {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
  throw error;
}

/** @returns false when the volume has no room for it */
function tryWithRoom(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (!isWithoutRoom(error)) throw error;
    return false;
  }
}

/** No bytes, no entries of a folder, or no share of them, are left. */
function isWithoutRoom(error: unknown): boolean {
  return ['ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');
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
