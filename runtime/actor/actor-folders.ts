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
import type { Clock } from '#runtime/base/clock.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { folderGone, isWithoutRoom, unstorable, unusableFile } from '#runtime/errors/refused-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { flushFolder, MovedTogether } from './moved-together.ts';
import { removePaced } from './paced-removal.ts';
import type { ActorId } from './ports.ts';

/** Folder for what is being made or removed; no actor id begins like this. */
const REMOVED = '.removed';

/** What was removed and is kept: when, in milliseconds of the wall clock, and a hash of whose it was. */
const keptName = /^(\d+)-([0-9a-f]{32})$/;

/** Hexadecimal digits of such a hash. */
const HASH_CHARACTERS = 32;

/** Says beside what is kept whose it was. */
const OWNER_FILE = 'owner';

/** Name of the folder that is kept. */
const KEPT = 'actors';

/** Its name where it was put away because it is damaged: it may be all there is, so want of room does not end it. */
const DAMAGED = 'damaged';

/** What becomes of folders that are removed. */
export interface RemovalRules {
  /** Time what is removed is kept in `.removed`, in milliseconds; 0: it goes at once. */
  readonly keepMs: number;
  /** Whether there is no room to keep what was removed. */
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
  readonly #together: MovedTogether;

  /** @param clock paces the removal of what is large */
  constructor(root: string, clock: Clock, rules: RemovalRules = keepNothing) {
    this.root = root;
    this.#clock = clock;
    this.#rules = rules;
    this.#together = new MovedTogether(root, join(root, REMOVED));
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
   * @throws {ServiceError} `STORAGE_FULL`; `WRITES_STOPPED` naming the folder that the system refuses
   */
  create(actor: ActorId): Promise<void> {
    const folder = this.of(actor);
    return flushFolders(explainedAt(folder, () => makeFolder(folder)));
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
    explainedAt(folder, () => {
      makeFolderDurable(dirname(folder));
      renameSync(this.unfinished(actor), folder);
    });
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

  /** Whether what is damaged can be put away: it needs room for as long as it is kept, besides what is made anew. */
  get canKeepDamaged(): boolean {
    return this.#rules.keepMs === 0 || !this.#rules.isPressed();
  }

  /**
   * Removes the folders of every actor under an owner, and of one with this very name. They are put away, and go when
   * the time is over for which they are kept ({@link purge}).
   *
   * Needs no room: where there is none they go at once, and the log has to hold the record of the removal until this
   * resolves. What is put away with {@link removeDamaged} is another matter.
   *
   * @param isRemade it is only there once more, and is not kept
   */
  async remove(owner: string, isRemade = false): Promise<void> {
    const folder = this.of(owner);
    if (!existsSync(folder)) return;
    const place = this.#freePlace(owner);
    const isPutAway = tryWithRoom(() => moveAway(folder, place, KEPT));
    if (!isPutAway) rmSync(place, { recursive: true, force: true });
    // The log says that it goes. A crash in the middle leaves a part, which the next start removes.
    if (!isPutAway) await removePaced(folder, this.#clock);
    // Else a power cut could bring it back.
    flushFolder(dirname(folder));
    crashPoint('before-branch-removal');
    if (!isPutAway) return;
    const isKept = this.#rules.keepMs > 0 && !isRemade;
    if (!isKept || this.#rules.isPressed()) return removePaced(place, this.#clock);
    noteOwner(place, owner);
  }

  /**
   * Puts away the folders of every actor under some owners because something of them is damaged. They may be all there is,
   * so they are kept for their time whatever room there is. Only the first set of an owner is kept: one that is damaged again
   * and again would fill the disk.
   *
   * @param owners first parts of ids
   * @param beside names of other things in the root that go with them, and are not kept
   * @throws {ServiceError} `STORAGE_FULL` when there is no room to keep them. Whatever it throws, all of them are where they
   *   were, or will be after {@link sweep}
   */
  async removeDamaged(owners: readonly string[], beside: readonly string[] = []): Promise<void> {
    this.requireRoomForDamaged(owners);
    this.#requireFolder();
    await this.#settleMoved();
    const names = [...owners, ...beside].filter((name) => existsSync(this.of(name)));
    if (names.length === 0) return;
    const isMoved = tryWithRoom(() => this.#together.move(names));
    if (!isMoved) throw new ServiceError('STORAGE_FULL');
    // They are put away. Where they lie is no matter for long: else the next start does it.
    await this.#settleMoved().catch(() => undefined);
  }

  /** @throws {ServiceError} `STORAGE_FULL` when there is no room to keep damaged folders of some owners */
  requireRoomForDamaged(owners: readonly string[]): void {
    const isAnyKept = owners.some((owner) => existsSync(this.of(owner)) && this.#isKeptAsDamaged(owner));
    if (isAnyKept && this.#rules.isPressed()) throw new ServiceError('STORAGE_FULL');
  }

  /** Whether a set of an owner is kept when it is put away as damaged. */
  #isKeptAsDamaged(owner: string): boolean {
    return this.#rules.keepMs > 0 && !this.#hasDamaged(owner);
  }

  /** Keeps what was moved away together, and removes what is not kept. */
  async #settleMoved(): Promise<void> {
    const { folder } = this.#together;
    if (!existsSync(folder)) return;
    this.takeDamaged(new ActorFolders(folder, this.#clock));
    await removePaced(folder, this.#clock);
  }

  /**
   * Keeps the actors of other folders, which these take the place of, as {@link removeDamaged} does. What is not kept stays
   * there. On the disk when it returns; may be called again after an error.
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

  /** Removes what was kept for long enough; when there is no room, all of it that is not damaged. */
  async purge(): Promise<void> {
    for (const { atMs, isDamaged, path } of this.#kept()) {
      const isOver = this.#clock.wallMs() - atMs >= this.#rules.keepMs;
      if (isOver || (!isDamaged && this.#rules.isPressed())) await removePaced(path, this.#clock);
    }
  }

  /** Keeps what others keep, under the same names: these folders take their place. On the disk when it returns. */
  takeKept(others: ActorFolders): void {
    const kept = others.#kept();
    if (kept.length === 0) return;
    this.#requireFolder();
    makeFolderDurable(join(this.root, REMOVED));
    for (const { atMs, path } of kept)
      renameSync(path, this.#freePlaceAt(atMs, path.slice(-HASH_CHARACTERS)));
    flushFolder(join(this.root, REMOVED));
  }

  /** Removes what an earlier process left half made, and what is kept no longer. At once, for nobody writes yet. */
  async sweep(): Promise<void> {
    const folder = join(this.root, REMOVED);
    this.#requireFolder();
    this.#together.undo();
    // What is kept needs room for its place: it stays where it is until there is some.
    await this.#settleMoved().catch(() => undefined);
    const names = await readdir(folder).catch(noneWhenGone);
    for (const name of names)
      if (!keptName.test(name) && !MovedTogether.isName(name))
        await rm(join(folder, name), { recursive: true, force: true });
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

  /** Where {@link prepare} makes an actor. Ids may be longer than a folder name may be. */
  unfinished(actor: ActorId): string {
    return join(this.root, REMOVED, hashOf(actor));
  }
}

/** What begins with a dot is beside the actors. */
function isActorName(name: string): boolean {
  return !name.startsWith('.');
}

/**
 * Whether actors were put away because they are damaged. Earlier versions gave them the name of what was removed; only they
 * have an owner that is a whole tenant.
 */
function isDamagedSet(place: string): boolean {
  if (existsSync(join(place, DAMAGED))) return true;
  const owner = ownerOf(place);
  return owner !== undefined && !owner.includes('/') && existsSync(join(place, KEPT));
}

/** As {@link noteOwner} noted it; undefined where it could not. */
function ownerOf(place: string): string | undefined {
  try {
    return readFileSync(join(place, OWNER_FILE), 'utf8').trim();
  } catch {
    return undefined;
  }
}

/** Puts a folder into a new one. */
function moveAway(folder: string, place: string, name: string): void {
  mkdirSync(place, { recursive: true, mode: 0o700 });
  renameSync(folder, join(place, name));
}

/** Shards say of what actor they are, too: where there is no room, nothing is noted. */
function noteOwner(place: string, owner: string): void {
  tryWithRoom(() => writeFileSync(join(place, OWNER_FILE), `${owner}\n`, { mode: 0o600 }));
}

function hashOf(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, HASH_CHARACTERS);
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

/** @throws {ServiceError} {@link unstorable} */
function explainedAt<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (cause) {
    throw unstorable(path, cause);
  }
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
