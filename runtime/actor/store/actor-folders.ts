import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { open, readdir, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Clock } from '#runtime/base/time/clock.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { folderGone, isWithoutRoom, unstorable, unusableFile } from '#runtime/errors/refused-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { flushFolder, MovedTogether } from './moved-together.ts';
import { removePaced } from './paced-removal.ts';
import type { ActorId } from '../ports.ts';

/** Folder for unfinished and removed actors; no actor id begins like this. */
const REMOVED = '.removed';

/** Name of a kept removal: wall clock time in milliseconds and a hash of the owner. */
const keptName = /^(\d+)-([0-9a-f]{32})$/;

/** Hexadecimal digits of such a hash. */
const HASH_CHARACTERS = 32;

/** File that names the owner of a kept removal. */
const OWNER_FILE = 'owner';

/** Name of the folder that is kept. */
const KEPT = 'actors';

/** Its name when it was moved away because of damage. It may be the only data, so it is kept even if space is low. */
const DAMAGED = 'damaged';

/** How removed folders are kept. */
export interface RemovalRules {
  /** How long removed folders are kept in `.removed`, in milliseconds; 0: they are deleted at once. */
  readonly keepMs: number;
  /** Whether disk space is too low to keep removed folders. */
  readonly isPressed: () => boolean;
}

/** Deletes removed folders at once. */
export const keepNothing: RemovalRules = Object.freeze({ keepMs: 0, isPressed: () => false });

/**
 * The folders of the actors of this process. An actor exists when its folder does, so every creation and removal is on
 * disk before it returns, and no unfinished folder ever has an actor's name.
 */
export class ActorFolders {
  /** Holds one folder per actor. */
  readonly root: string;
  readonly #clock: Clock;
  readonly #rules: RemovalRules;
  readonly #together: MovedTogether;

  /** @param clock paces the removal of large files */
  constructor(root: string, clock: Clock, rules: RemovalRules = keepNothing) {
    this.root = root;
    this.#clock = clock;
    this.#rules = rules;
    this.#together = new MovedTogether(root, join(root, REMOVED));
  }

  /**
   * @throws {ServiceError} `WRITES_STOPPED` when the root folder is missing, so that missing actors cannot be detected
   */
  requireRoot(): void {
    if (!existsSync(this.root)) throw folderGone(this.root);
  }

  of(actor: ActorId): string {
    return join(this.root, ...actor.split('/'));
  }

  exists(actor: ActorId): boolean {
    return existsSync(this.of(actor));
  }

  /** Whether the folder of an actor is empty. */
  isBare(actor: ActorId): boolean {
    return readdirSync(this.of(actor)).length === 0;
  }

  /** The decoded id parts that directly follow `owner` in the ids of existing actors, without duplicates. */
  namesUnder(owner: string): readonly string[] {
    const folder = this.of(owner);
    return existsSync(folder) ? readdirSync(folder).filter(isActorName).map(decodeURIComponent) : [];
  }

  /**
   * Every existing actor, sorted.
   *
   * @param isKind whether a name is the last part of an id: empty folders of owners are not actors
   * @param owner only actors under it, including one of that id
   */
  async all(isKind: (name: string) => boolean, owner?: string): Promise<readonly ActorId[]> {
    const found: ActorId[] = [];
    const visit = async (parts: readonly string[]): Promise<void> => {
      const entries = await readdir(join(this.root, ...parts), { withFileTypes: true }).catch(noneWhenGone);
      const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
      const kind = parts.at(-1);
      if (folders.length === 0 && parts.length >= 2 && kind !== undefined && isKind(decodeURIComponent(kind)))
        found.push(parts.join('/'));
      for (const { name } of folders) await visit([...parts, name]);
    };
    await visit(owner?.split('/') ?? []);
    return found.sort();
  }

  /**
   * Creates the empty folder of an actor, which exists when this returns.
   *
   * @returns resolves when its name is on disk: before that, a power failure could remove acknowledged writes
   * @throws {ServiceError} `STORAGE_FULL`; `WRITES_STOPPED` naming the folder that the system refuses
   */
  create(actor: ActorId): Promise<void> {
    const folder = this.of(actor);
    return flushFolders(explainedAt(folder, () => makeFolder(folder)));
  }

  /**
   * Prepares a folder in which an actor can be built. {@link adopt} gives it the actor's name; {@link discard} or a
   * restart deletes it.
   *
   * @returns a folder that does not exist
   */
  async prepare(actor: ActorId): Promise<string> {
    await this.discard(actor);
    return this.unfinished(actor);
  }

  /** Gives a prepared folder the name of its actor, on disk when it returns. On an error the folder is unchanged. */
  adopt(actor: ActorId): void {
    crashPoint('mid-fork');
    const folder = this.of(actor);
    explainedAt(folder, () => {
      makeFolderDurable(dirname(folder));
      renameSync(this.unfinished(actor), folder);
    });
    try {
      flushFolder(dirname(folder));
    } catch (error) {
      // Otherwise the actor would not be listed, and none could be created in its place.
      renameSync(folder, this.unfinished(actor));
      throw error;
    }
  }

  /** Deletes a prepared folder, also to free space. */
  async discard(actor: ActorId): Promise<void> {
    await removePaced(this.unfinished(actor), this.#clock);
  }

  /** Whether there is room to keep damaged folders besides their replacements. */
  get canKeepDamaged(): boolean {
    return this.#rules.keepMs === 0 || !this.#rules.isPressed();
  }

  /**
   * Removes the folders of every actor under an owner, and of an actor with this exact id. They are moved away, and
   * deleted when their retention ends ({@link purge}).
   *
   * Works without free space: the folders are then deleted at once, and the log has to keep the record of the removal
   * until this resolves. {@link removeDamaged} does need space.
   *
   * @param isRemade the actor was recreated by a replay only, and is not kept
   */
  async remove(owner: string, isRemade = false): Promise<void> {
    const folder = this.of(owner);
    if (!existsSync(folder)) return;
    const place = this.#freePlace(owner);
    const isPutAway = tryWithRoom(() => moveAway(folder, place, KEPT));
    if (!isPutAway) rmSync(place, { recursive: true, force: true });
    // The removal is in the log. A crash in the middle leaves a part, which the next start removes.
    if (!isPutAway) await removePaced(folder, this.#clock);
    // Otherwise a power failure could bring it back.
    flushFolder(dirname(folder));
    crashPoint('before-branch-removal');
    if (!isPutAway) return;
    const isKept = this.#rules.keepMs > 0 && !isRemade;
    if (!isKept || this.#rules.isPressed()) return removePaced(place, this.#clock);
    noteOwner(place, owner);
  }

  /**
   * Moves away the folders of every actor under some owners because one of them is damaged. They may be the only data,
   * so they are kept for their retention even if space is low. Only the first set of an owner is kept, because repeated
   * damage would fill the disk.
   *
   * @param owners first parts of ids
   * @param beside names of other entries of the root that are removed with them, and not kept
   * @throws {ServiceError} `STORAGE_FULL` when there is no room to keep them. After any error all folders are where
   *   they were, or will be after {@link sweep}
   */
  async removeDamaged(owners: readonly string[], beside: readonly string[] = []): Promise<void> {
    this.requireRoomForDamaged(owners);
    this.#requireFolder();
    await this.#settleMoved();
    const names = [...owners, ...beside].filter((name) => existsSync(this.of(name)));
    if (names.length === 0) return;
    const isMoved = tryWithRoom(() => this.#together.move(names));
    if (!isMoved) throw new ServiceError('STORAGE_FULL');
    // They are moved away already; on failure the next start moves them to their final place.
    await this.#settleMoved().catch(() => undefined);
  }

  /** @throws {ServiceError} `STORAGE_FULL` when there is no room to keep damaged folders of some owners */
  requireRoomForDamaged(owners: readonly string[]): void {
    const isAnyKept = owners.some((owner) => existsSync(this.of(owner)) && this.#isKeptAsDamaged(owner));
    if (isAnyKept && this.#rules.isPressed()) throw new ServiceError('STORAGE_FULL');
  }

  /** Whether a set of an owner is kept when it is moved away as damaged. */
  #isKeptAsDamaged(owner: string): boolean {
    return this.#rules.keepMs > 0 && !this.#hasDamaged(owner);
  }

  /** Keeps the folders that were moved away together, and deletes the rest. */
  async #settleMoved(): Promise<void> {
    const { folder } = this.#together;
    if (!existsSync(folder)) return;
    this.takeDamaged(new ActorFolders(folder, this.#clock));
    await removePaced(folder, this.#clock);
  }

  /**
   * Keeps the actors of other folders, which these folders replace, as {@link removeDamaged} does. Folders that are not
   * kept stay in place. On disk when it returns; may be repeated after an error.
   */
  takeDamaged(others: ActorFolders): void {
    const owners = others.namesUnder('').map(encodeURIComponent);
    const wanted = owners.filter((owner) => this.#isKeptAsDamaged(owner));
    if (wanted.length === 0) return;
    this.#requireFolder();
    makeFolderDurable(join(this.root, REMOVED));
    for (const owner of wanted) {
      const place = this.#freePlace(owner);
      moveAway(others.of(owner), place, DAMAGED);
      noteOwner(place, owner);
    }
    flushFolder(join(this.root, REMOVED));
  }

  /**
   * Deletes folders whose retention has ended; if space is low, all that are not damaged.
   *
   * @throws the first error of the system, after all others were deleted
   */
  async purge(): Promise<void> {
    const failures: unknown[] = [];
    for (const { atMs, isDamaged, path } of this.#kept()) {
      const isOver = this.#clock.wallMs() - atMs >= this.#rules.keepMs;
      if (isOver || (!isDamaged && this.#rules.isPressed()))
        await removePaced(path, this.#clock).catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }

  /** Takes over the kept removals of other folders, which these folders replace. On disk when it returns. */
  takeKept(others: ActorFolders): void {
    const kept = others.#kept();
    if (kept.length === 0) return;
    this.#requireFolder();
    makeFolderDurable(join(this.root, REMOVED));
    for (const { atMs, path } of kept)
      renameSync(path, this.#freePlaceAt(atMs, path.slice(-HASH_CHARACTERS)));
    flushFolder(join(this.root, REMOVED));
  }

  /**
   * Deletes leftovers of an earlier process and expired removals, without pacing, because nobody writes yet. What the
   * system refuses to delete stays: {@link purge} and the next start try again.
   */
  async sweep(): Promise<void> {
    const folder = join(this.root, REMOVED);
    this.#requireFolder();
    this.#together.undo();
    // Keeping them needs space; without it they stay where they are.
    await this.#settleMoved().catch(() => undefined);
    const names = await readdir(folder).catch(noneWhenGone);
    for (const name of names)
      if (!keptName.test(name) && !MovedTogether.isName(name))
        await rm(join(folder, name), { recursive: true, force: true }).catch(() => undefined);
    await this.purge().catch(() => undefined);
    // A folder with content stays.
    await rmdir(folder).catch(() => undefined);
  }

  /** @throws {ServiceError} `WRITES_STOPPED` when something other than a folder has the name of the removal folder */
  #requireFolder(): void {
    const folder = join(this.root, REMOVED);
    if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? true) return;
    const remedy = 'it should be a folder: move what is there away, and start again, which makes a new one';
    throw unusableFile(folder, 'ENOTDIR', remedy);
  }

  /** Two removals may happen within a millisecond. */
  #freePlace(owner: string): string {
    this.#requireFolder();
    return this.#freePlaceAt(Math.floor(this.#clock.wallMs()), hashOf(owner));
  }

  #freePlaceAt(atMs: number, hash: string): string {
    const place = join(this.root, REMOVED, `${atMs}-${hash}`);
    return existsSync(place) ? this.#freePlaceAt(atMs + 1, hash) : place;
  }

  #hasDamaged(owner: string): boolean {
    const hash = hashOf(owner);
    return this.#kept().some(({ path }) => path.endsWith(hash) && existsSync(join(path, DAMAGED)));
  }

  /** Owners of the kept removals, as far as they were recorded; not those of damaged folders. */
  get removedOwners(): readonly string[] {
    return this.#kept().flatMap(({ isDamaged, path }) => (isDamaged ? [] : (ownerOf(path) ?? [])));
  }

  #kept(): { readonly path: string; readonly atMs: number; readonly isDamaged: boolean }[] {
    const folder = join(this.root, REMOVED);
    if (!existsSync(folder)) return [];
    return readdirSync(folder).flatMap((name) => {
      const atMs = keptName.exec(name)?.[1];
      if (atMs === undefined) return [];
      const path = join(folder, name);
      return [{ path, atMs: Number(atMs), isDamaged: isDamagedSet(path) }];
    });
  }

  /** Path for {@link prepare}. Hashed, because ids may exceed the length of a folder name. */
  unfinished(actor: ActorId): string {
    return join(this.root, REMOVED, hashOf(actor));
  }
}

/** Names that begin with a dot are not actors. */
function isActorName(name: string): boolean {
  return !name.startsWith('.');
}

/**
 * Whether actors were moved away because of damage. Earlier versions used the name of ordinary removals, but only for a
 * damaged set the owner is a whole tenant.
 */
function isDamagedSet(place: string): boolean {
  if (existsSync(join(place, DAMAGED))) return true;
  const owner = ownerOf(place);
  return owner !== undefined && !owner.includes('/') && existsSync(join(place, KEPT));
}

/** The owner recorded by {@link noteOwner}; undefined when it was not recorded. */
function ownerOf(place: string): string | undefined {
  try {
    return readFileSync(join(place, OWNER_FILE), 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Moves a folder into a new one. */
function moveAway(folder: string, place: string, name: string): void {
  mkdirSync(place, { recursive: true, mode: 0o700 });
  renameSync(folder, join(place, name));
}

/** Records the owner of a kept removal. Skipped when space is low, because shards also contain their actor. */
function noteOwner(place: string, owner: string): void {
  tryWithRoom(() => writeFileSync(join(place, OWNER_FILE), `${owner}\n`, { mode: 0o600 }));
}

function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, HASH_CHARACTERS);
}

/** Creates a folder and its parents. @returns the folders that have new entries, from the top */
function makeFolder(folder: string): readonly string[] {
  if (existsSync(folder)) return [];
  const parent = dirname(folder);
  const above = makeFolder(parent);
  mkdirSync(folder, { mode: 0o700 });
  return [...above, parent];
}

/** As {@link makeFolder}, and flushes the new entries. */
function makeFolderDurable(folder: string): void {
  for (const changed of makeFolder(folder)) flushFolder(changed);
}

/** Flushes the entries of folders without blocking the event loop; removed folders are skipped. */
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

/** A listed folder may have been removed meanwhile. */
function noneWhenGone(error: unknown): never[] {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
  throw error;
}

/** @throws {ServiceError} {@link unstorable} */
function explainedAt<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    throw unstorable(path, cause);
  }
}

/** @returns false when the volume has no room */
function tryWithRoom(work: () => void): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (!isWithoutRoom(error)) throw error;
    return false;
  }
}
