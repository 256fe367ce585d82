import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { runInTurns } from '#runtime/base/event-loop/run-in-slices.ts';
import { type ActorKind, commonTableNames } from '#runtime/commit/behaviour.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import type { ReplicaStore } from '#runtime/commit/replica.ts';
import {
  isRefusedFile,
  requireStorageError,
  sizeOfFile,
  unusableFile,
} from '#runtime/errors/refused-file.ts';
import { isDamage, ServiceError } from '#runtime/errors/service-error.ts';
import { isSameRecord, type RecordMark } from '#runtime/log/log-entry.ts';
import { isUnder } from '#runtime/log/lifecycle-entry.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { requireIdentity, type ShardIdentity, shardPath } from '#runtime/shard/shard-identity.ts';
import { type StoredHead, storedHead } from '#runtime/shard/stored-head.ts';
import { verifyShard } from '#runtime/shard/verify-shard.ts';
import type { Shard, ShardPosition } from '#runtime/shard/shard.ts';
import {
  ActorCatalogue,
  CATALOGUE,
  type CatalogueRow,
  FLOOR_NOT_EMPTY,
} from '../catalogue/actor-catalogue.ts';
import { ActorFolders, keepNothing, type RemovalRules } from './actor-folders.ts';
import { actorKindOf } from '../actor-id.ts';
import type { ActorId } from '../ports.ts';
import { CrashSuspects, type ShardVerifier } from '../damage/crash-suspects.ts';

/** Directory name in shards that are identical on all members of a cluster. */
const ANYWHERE = '*';

/** The catalogue row of an actor, and the id of its data directory. */
export interface ListedActor {
  readonly directory: string;
  readonly row: CatalogueRow;
}

/** The actor folders on disk and the shards in them. Filled by whatever follows a log. */
export class ActorStore implements ReplicaStore {
  readonly folders: ActorFolders;
  readonly #kinds: ReadonlyMap<string, ActorKind>;
  readonly #clock: Clock;
  readonly #suspects: CrashSuspects;
  #catalogue: ActorCatalogue | undefined;
  #isShared = false;
  /** Whether damaged actors are refused individually. */
  #isAlone = false;
  readonly #refused = new Map<ActorId, ServiceError>();

  /**
   * @param folder holds one folder per actor
   * @param clock paces the removal of large files
   * @param rules how removed folders are kept and deleted
   */
  constructor(folder: string, kinds: readonly ActorKind[], clock: Clock, rules: RemovalRules = keepNothing) {
    this.folders = new ActorFolders(folder, clock, rules);
    this.#clock = clock;
    this.#suspects = new CrashSuspects(folder, clock);
    this.#kinds = new Map(kinds.map((kind) => [kind.kind, kind]));
  }

  /** The kind of an actor, from its id. */
  kindOf(actor: ActorId): ActorKind {
    const kind = this.#kinds.get(actorKindOf(actor));
    assert(kind !== undefined, `no actor kind for ${actor}`);
    return kind;
  }

  /** Every existing actor, sorted. */
  all(): Promise<readonly ActorId[]> {
    return this.folders.all((name) => this.#kinds.has(name));
  }

  /** Every actor of the catalogue, whether its files exist or not, sorted; without a catalogue, every folder. */
  async listed(): Promise<readonly ActorId[]> {
    return this.#catalogue === undefined ? await this.all() : this.#catalogue.under().sort();
  }

  /** Names of the tables of an actor's shard, in the order of their numbers. */
  tablesOf(actor: ActorId): readonly string[] {
    return [...commonTableNames, ...this.kindOf(actor).tables];
  }

  /**
   * Sets the catalogue of the actors that should exist. Without one, every folder is an actor, and its file is created
   * with it.
   *
   * @param catalogue undefined: the previous catalogue was closed
   * @param isShared the catalogue belongs to a log that other members also have: files are then the same on every
   *   member, so they do not name the record that created them here, and are created with their actors
   */
  useCatalogue(catalogue: ActorCatalogue | undefined, isShared = false): void {
    this.#catalogue = catalogue;
    this.#isShared = isShared;
  }

  exists(actor: ActorId): boolean {
    if (this.#catalogue === undefined) return this.folders.exists(actor);
    return this.#catalogue.get(actor) !== undefined;
  }

  createdAt(actor: ActorId): number {
    return this.#catalogue?.get(actor)?.created ?? 0;
  }

  /** Whether neither a row nor a folder is left of an actor. */
  hasNoTrace(actor: ActorId): boolean {
    return !this.exists(actor) && !this.folders.exists(actor);
  }

  /**
   * What the removal in a record concerns: the owner, or where something under it is later, each actor that is not.
   * Folders without a row count as well, because a removal may be unfinished.
   */
  async leavingWith(owner: string, sequence: number): Promise<readonly string[]> {
    const listed = this.#catalogue?.under(owner) ?? [];
    const found = await this.folders.all((name) => this.#kinds.has(name), owner);
    const actors = [...new Set([...listed, ...found])];
    const leaving = actors.filter((actor) => !this.#isLater(actor, sequence));
    return leaving.length === actors.length ? [owner] : leaving;
  }

  /**
   * Whether an actor is certainly later than a record, so that a removal up to there was that of an earlier actor of the
   * same id: the catalogue has a later record that created it; or no such record, and its shard has a later one.
   */
  #isLater(actor: ActorId, sequence: number): boolean {
    const created = this.createdAt(actor);
    // The file may be of another actor of the same id, where the catalogue could not be written.
    if (created > 0) return created > sequence;
    try {
      return (this.headOf(actor)?.sequence ?? 0) > sequence;
    } catch (error) {
      if (isRefusedFile(error)) return false;
      throw error;
    }
  }

  /** Whether an actor under an owner exists or should exist. */
  hasUnder(owner: string): boolean {
    return this.folders.exists(owner) || (this.#catalogue?.under(owner) ?? []).length > 0;
  }

  /** Whether a folder remains of an actor that should not exist, because its removal was not completed. */
  hasLeft(actor: ActorId): boolean {
    return this.#catalogue !== undefined && !this.exists(actor) && this.folders.exists(actor);
  }

  /**
   * Moves away a folder found by {@link hasLeft}. Otherwise it would be taken for the files of a new actor of that id.
   *
   * @throws {ServiceError} `WRITES_STOPPED` naming the folder when the system refuses the move
   */
  async putAwayLeft(actor: ActorId): Promise<void> {
    try {
      await this.folders.remove(actor);
    } catch (error) {
      const cause = requireStorageError(error);
      if (cause instanceof ServiceError) throw cause;
      const { code = '' } = cause as NodeJS.ErrnoException;
      const remedy =
        'it is of an actor that was removed, and one of its name can be made when it is moved away';
      throw unusableFile(this.folders.of(actor), code, remedy, cause);
    }
  }

  isMissing(actor: ActorId): boolean {
    return sizeOfFile(this.#pathOf(actor)) === 0;
  }

  /** Whether the shard of an actor was created but never written to. */
  hasNothing(actor: ActorId): boolean {
    return storedHead(this.#pathOf(actor))?.sequence === 0;
  }

  /**
   * Verifies the shards that an earlier process was writing when it ended, and records from now on which shards this
   * process writes. Damaged shards are not opened. Must be called before any shard is opened; further calls do nothing.
   */
  beginNoting(onVerifying?: ShardVerifier['onVerifying']): Promise<void> {
    return this.#suspects.begin({
      isActor: (actor) =>
        actor.split('/').every((part) => part !== '' && !part.startsWith('.')) &&
        existsSync(this.#pathOf(actor)),
      verify: (actor) => verifyShard(this.#pathOf(actor)),
      ...(onVerifying === undefined ? {} : { onVerifying }),
    });
  }

  /** Records that a shard is being brought up to date with the log. @returns must be called when that is finished */
  markInUse(actor: ActorId): () => void {
    return this.#suspects.take(actor);
  }

  /**
   * Opens the shard of an actor.
   *
   * @throws {ServiceError} the errors of {@link LmdbShard}; `WRITES_STOPPED` when the parent folder of all actors is
   *   missing; `DATA_CORRUPTED` naming the file when it is missing, empty, belongs to another actor or is older than
   *   expected
   */
  open(actor: ActorId): Shard {
    crashPoint('in-open');
    const row = this.#catalogue?.get(actor);
    // LMDB would create a missing folder.
    this.requireFile(actor);
    if (row === undefined) return this.#openAs(actor, this.folders.of(actor), 0);
    const shard = this.#openAs(actor, this.folders.of(actor), row.created);
    const { mark, sequence } = shard.position;
    const isSame = sequence !== row.floor || !mark || !row.mark || isSameRecord(mark, row.mark);
    if (sequence >= row.floor && isSame) return shard;
    if (isAdoptedUnwritten(sequence, row)) {
      this.#lowerFloor(actor);
      return shard;
    }
    void shard.close();
    throw lost(
      actor,
      `${this.#pathOf(actor)} ends at ${isSame ? '' : 'another '}log record ${sequence}`,
      row.floor,
    );
  }

  /**
   * Checks the file of an actor without opening or changing it.
   *
   * @param listed catalogue row of the actor; undefined when there is no catalogue, or it does not list the actor
   * @returns sequence of the newest record in the shard; 0 when the log creates the actor
   * @throws {ServiceError} `DATA_CORRUPTED` naming the file when it is missing, empty, belongs to another actor, is
   *   older than expected or cannot be read; the errors of {@link refusedFile}
   */
  look(actor: ActorId, listed: ListedActor | undefined): number {
    const path = this.#pathOf(actor);
    this.#requireFile(actor, listed?.row);
    if (this.isMissing(actor)) return 0;
    const head = storedHead(path);
    if (head === undefined)
      throw new ServiceError(
        'DATA_CORRUPTED',
        `${path} is damaged; bring the file back, or restore a backup`,
      );
    const { identity, sequence } = head;
    if (listed === undefined) return sequence;
    const { directory, row } = listed;
    requireIdentity(
      path,
      { actor, created: row.created, directory },
      identity,
      identity === undefined && sequence === 0,
    );
    if (sequence >= row.floor || isAdoptedUnwritten(sequence, row)) return sequence;
    throw lost(actor, `${path} ends at log record ${sequence}`, row.floor);
  }

  /**
   * @throws {ServiceError} `DATA_CORRUPTED` naming the file when the shard of an actor that should exist is missing, or
   *   has a known damaged page
   */
  requireFile(actor: ActorId): void {
    this.requireSound(actor);
    if (!this.isMissing(actor)) return;
    this.folders.requireRoot();
    this.#requireFile(actor, this.#catalogue?.get(actor));
  }

  #requireFile(actor: ActorId, row: CatalogueRow | undefined): void {
    if (!this.isMissing(actor)) return;
    const path = this.#pathOf(actor);
    const what = `${path} is ${existsSync(path) ? 'empty' : 'missing'}`;
    // Without a catalogue, an actor is created together with its file.
    if (row === undefined) throw new ServiceError('DATA_CORRUPTED', `${what}, and ${actor} should be there`);
    if (row.floor > 0) throw lost(actor, what, row.floor);
  }

  /**
   * Sets whether damaged actors are refused individually. A refused actor stays refused until it is removed or
   * replaced, because a file that is put back does not have the changes that were skipped.
   */
  refuseAlone(isAlone: boolean): void {
    this.#isAlone = isAlone;
  }

  /** Refused actors, with the reason. */
  get refused(): ReadonlyMap<ActorId, ServiceError> {
    return this.#refused;
  }

  giveUp(actor: ActorId, cause: unknown): boolean {
    if (!this.#isAlone || !isDamage(cause)) return false;
    this.#refused.set(actor, cause);
    return true;
  }

  missingFork(target: ActorId, sequence: number): ServiceError | undefined {
    const row = this.#catalogue?.get(target);
    // The creation record of an adopted actor is unknown. A row with another creation record is of a later actor.
    const isListed = row !== undefined && (row.created === 0 || row.created === sequence);
    return isListed ? lost(target, `${this.#pathOf(target)} is missing`, sequence) : undefined;
  }

  /** Refuses a fork that should exist but has no data, as its source is refused. */
  async giveUpFork(
    target: ActorId,
    source: ActorId,
    sequence: number,
    mark: RecordMark | undefined,
  ): Promise<void> {
    const cause = lost(target, `it is a fork of ${source}, which is damaged`, sequence);
    if (!this.giveUp(target, cause)) return;
    await this.#noteMade(target, { created: this.#madeBy(sequence), floor: sequence, mark }, sequence);
  }

  /** Must be called when all files were replaced. */
  replaced(): void {
    this.#suspects.forget(() => true);
    this.#refused.clear();
  }

  /**
   * @throws {ServiceError} `DATA_CORRUPTED` naming the file when {@link beginNoting} found a damaged page, or the actor
   *   is refused
   */
  requireSound(actor: ActorId): void {
    const refusal = this.#refused.get(actor);
    if (refusal !== undefined) throw refusal;
    const what = this.#suspects.damageOf(actor);
    if (what === undefined) return;
    throw new ServiceError(
      'DATA_CORRUPTED',
      `${this.#pathOf(actor)} is damaged (${what}), and may have ended the process before this one; ` +
        'stop the server, bring the file back, or restore a backup, and start again',
    );
  }

  hasCatalogue(): boolean {
    return ActorCatalogue.isIn(this.folders.root);
  }

  openCatalogue(tables: readonly string[]): Shard {
    return new LmdbShard(join(this.folders.root, CATALOGUE), tables);
  }

  /**
   * Verifies every page of the catalogue without LMDB, which crashes the process on some damaged pages. Done at every
   * start, because a start reads all rows anyway to detect missing files. For 100,000 actors the catalogue has 24 MB,
   * which take 0.2 s of processor time.
   *
   * @returns its path and the damage; undefined when there is none
   * @throws {Error} of the system, when the file cannot be read
   */
  async damageOfCatalogue(): Promise<{ readonly path: string; readonly what: string } | undefined> {
    const path = ActorCatalogue.pathIn(this.folders.root);
    const what = await runInTurns(this.#clock, verifyShard(path));
    return what === undefined ? undefined : { path, what };
  }

  headOf(actor: ActorId): StoredHead | undefined {
    return storedHead(this.#pathOf(actor));
  }

  /**
   * Creates an actor, which exists at once.
   *
   * @param sequence of the record that creates it; the record must stay in the log until the promise resolves
   * @returns resolves when the catalogue has the actor
   */
  create(actor: ActorId, sequence: number): Promise<void> {
    // Its record is replayed. Without its file the actor stays refused.
    if (this.#refused.has(actor)) return Promise.resolve();
    const isNamed = this.folders.create(actor);
    // Create the file with the folder: a folder without a file is one that lost its file.
    if (this.#catalogue === undefined || this.#isShared)
      void this.#openAs(actor, this.folders.of(actor), 0).close();
    // Both in the same turn, so that the actor is listed whenever its folder is found.
    const isNoted = this.#noteMade(actor, { created: this.#madeBy(sequence), floor: 0 }, sequence);
    return Promise.all([isNamed, isNoted]).then(() => {});
  }

  async adoptWhole(actor: ActorId, sequence: number): Promise<boolean> {
    if (this.#catalogue === undefined || this.isMissing(actor)) return false;
    this.requireSound(actor);
    const created = this.#madeBy(sequence);
    const shard = this.#openAs(actor, this.folders.of(actor), created);
    const { mark, sequence: floor } = shard.position;
    await shard.close();
    await this.#noteMade(actor, { created, floor, mark }, sequence);
    return true;
  }

  async adopt(actor: ActorId, sequence: number, copy: (folder: string) => Promise<void>): Promise<void> {
    await copy(await this.folders.prepare(actor));
    // Without a shard: see isMissing.
    await this.folders.remove(actor);
    this.#suspects.forget((each) => each === actor);
    await this.takeCopy(actor, sequence, await this.claimCopy(actor, sequence));
  }

  /**
   * Gives the copy in {@link ActorFolders.prepare} the identity of an actor. It is on disk when the promise resolves.
   *
   * @param sequence of the record that creates the actor
   * @returns position of the copy in the log
   */
  async claimCopy(actor: ActorId, sequence: number): Promise<ShardPosition> {
    const shard = new LmdbShard(this.folders.unfinished(actor), this.tablesOf(actor));
    try {
      await shard.claim(this.#identity(actor, this.#madeBy(sequence)));
      return shard.position;
    } finally {
      await shard.close();
    }
  }

  /**
   * Creates an actor from the copy that was claimed for it.
   *
   * @param sequence of the record that creates it; the record must stay in the log until the promise resolves
   * @param position result of {@link claimCopy}
   * @returns resolves when the catalogue has the actor; the actor exists at once
   */
  takeCopy(actor: ActorId, sequence: number, position: ShardPosition): Promise<void> {
    this.folders.adopt(actor);
    const { mark, sequence: floor } = position;
    return this.#noteMade(actor, { created: this.#madeBy(sequence), floor, mark }, sequence);
  }

  /** Removes leftovers of interrupted work. Must be called while nothing else uses the store. */
  sweep(): Promise<void> {
    return this.folders.sweep();
  }

  /**
   * Moves away every actor and the catalogue of a partition, to be rebuilt from the log. The moved folders are kept for
   * a while, because they are the only data if the log turns out to be incomplete. Must be called while nothing else
   * uses the store.
   *
   * @throws {ServiceError} `STORAGE_FULL` when there is no room to keep them; nothing was changed
   */
  async clear(): Promise<void> {
    // Remove the catalogue too: it does not list the new actors and would report the old ones as lost.
    await this.folders.removeDamaged(this.#tenants, [CATALOGUE]);
    this.replaced();
    this.#catalogue = undefined;
  }

  /**
   * Must be called before all actors are replaced because one of them is damaged.
   *
   * @throws {ServiceError} `STORAGE_FULL` when there is no room to keep them
   */
  requireRoomForDamaged(): void {
    this.folders.requireRoomForDamaged(this.#tenants);
  }

  /** First parts of the ids of actors that have a folder. */
  get #tenants(): readonly string[] {
    return this.folders.namesUnder('').map(encodeURIComponent);
  }

  /** Whether there is room to keep the damaged folders, see {@link clear}. */
  get canClear(): boolean {
    return this.folders.canKeepDamaged;
  }

  /** Deletes removed folders whose retention has ended. */
  purge(): Promise<void> {
    return this.folders.purge();
  }

  /**
   * Removes every actor under an owner.
   *
   * @param sequence of the record of the removal
   * @param remade actors that exist only because their records are replayed; they are not kept
   */
  async remove(owner: string, sequence: number, remade?: ReadonlySet<ActorId>): Promise<void> {
    const owned = this.#catalogue?.under(owner);
    // A folder without a row is a leftover: a crash came after the catalogue had this removal and before the disk had.
    const isThereAgain =
      owned !== undefined && owned.length > 0 && owned.every((id) => remade?.has(id) === true);
    // Rows first: the next start would report a row without a folder as damage.
    const failed = owned && (await this.#noteGone(owned, sequence));
    // Before the folders, whose removal may fail: an actor created later under the same name is not damaged.
    this.#suspects.forget((actor) => isUnder(actor, owner));
    await this.folders.remove(owner, isThereAgain);
    for (const actor of [...this.#refused.keys()]) if (isUnder(actor, owner)) this.#refused.delete(actor);
    if (failed !== undefined) throw failed;
  }

  /** @returns why the removal is not on disk; the folders are removed anyway, because a full disk needs the space */
  async #noteGone(owned: readonly ActorId[], sequence: number): Promise<Error | undefined> {
    try {
      await this.#catalogue?.note({ actors: new Map(owned.map((id) => [id, null])) }, sequence);
      return undefined;
    } catch (error) {
      return requireStorageError(error);
    }
  }

  #pathOf(actor: ActorId): string {
    return shardPath(this.folders.of(actor));
  }

  #openAs(actor: ActorId, folder: string, created: number): LmdbShard {
    const opening = this.#suspects.take(actor);
    try {
      const closed = this.#suspects.opened(actor);
      try {
        return new LmdbShard(folder, this.tablesOf(actor), this.#identity(actor, created), closed);
      } catch (error) {
        closed();
        throw error;
      }
    } finally {
      opening();
    }
  }

  #identity(actor: ActorId, created: number): ShardIdentity {
    // A shard that follows a shared log is identical on every member, because its snapshots are exchanged.
    return { directory: this.#catalogue?.directory ?? ANYWHERE, actor, created };
  }

  /** Lowers the floor of an actor. On failure the catalogue retries. */
  #lowerFloor(actor: ActorId): void {
    void this.#note(actor, { created: 0, floor: 0 }, this.#catalogue?.sequence ?? 0).catch(() => undefined);
  }

  /** Adds an actor to the catalogue. A replayed creation record never lowers the known position of its shard. */
  #noteMade(actor: ActorId, row: CatalogueRow, sequence: number): Promise<void> {
    const known = this.#catalogue?.get(actor);
    const isHigher = known !== undefined && known.created === row.created && known.floor > row.floor;
    return this.#note(actor, isHigher ? known : row, sequence);
  }

  /** The creation record to store in the file of an actor. */
  #madeBy(sequence: number): number {
    return this.#catalogue === undefined || this.#isShared ? 0 : sequence;
  }

  async #note(actor: ActorId, row: CatalogueRow, sequence: number): Promise<void> {
    await this.#catalogue?.note({ actors: new Map([[actor, row]]) }, sequence);
  }
}

/**
 * Whether a shard was created but not written to before it was adopted: the log has its records, or there never were
 * any. The first version of the catalogue gave such a shard the floor of one with content.
 */
function isAdoptedUnwritten(sequence: number, { created, floor }: CatalogueRow): boolean {
  return sequence === 0 && created === 0 && floor === FLOOR_NOT_EMPTY;
}

function lost(actor: ActorId, what: string, floor: number): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `${what}, but ${actor} had everything up to log record ${floor}, and the log does not have that any more; ` +
      'bring the file back, or restore a backup',
  );
}
