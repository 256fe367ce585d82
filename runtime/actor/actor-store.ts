import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { assert } from '#runtime/base/assert.ts';
import type { Clock } from '#runtime/base/clock.ts';
import { runInTurns } from '#runtime/base/run-in-slices.ts';
import { type ActorKind, commonTableNames } from '#runtime/commit/behaviour.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import type { ReplicaStore } from '#runtime/commit/replica.ts';
import { requireStorageError, sizeOfFile, unusableFile } from '#runtime/errors/refused-file.ts';
import { isDamage, ServiceError } from '#runtime/errors/service-error.ts';
import { isSameRecord, type RecordMark } from '#runtime/log/log-entry.ts';
import { isUnder } from '#runtime/log/lifecycle-entry.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { requireIdentity, type ShardIdentity, shardPath } from '#runtime/shard/shard-identity.ts';
import { type StoredHead, storedHead } from '#runtime/shard/stored-head.ts';
import { verifyShard } from '#runtime/shard/verify-shard.ts';
import type { Shard, ShardPosition } from '#runtime/shard/shard.ts';
import { ActorCatalogue, CATALOGUE, type CatalogueRow, FLOOR_NOT_EMPTY } from './actor-catalogue.ts';
import { ActorFolders, keepNothing, type RemovalRules } from './actor-folders.ts';
import { actorKindOf } from './actor-id.ts';
import type { ActorId } from './ports.ts';
import { CrashSuspects, type ShardVerifier } from './crash-suspects.ts';

/** Name of the data directory in shards of actors that every member of a cluster has alike. */
const ANYWHERE = '*';

/** What a catalogue says of an actor, and of what directory it is. */
export interface ListedActor {
  readonly directory: string;
  readonly row: CatalogueRow;
}

/** What actors leave on the disk: their folders, and the shards inside them. Whoever follows a log fills it. */
export class ActorStore implements ReplicaStore {
  readonly folders: ActorFolders;
  readonly #kinds: ReadonlyMap<string, ActorKind>;
  readonly #clock: Clock;
  readonly #suspects: CrashSuspects;
  #catalogue: ActorCatalogue | undefined;
  #isShared = false;
  /** Whether damaged actors are refused, each for itself. */
  #isAlone = false;
  readonly #refused = new Map<ActorId, ServiceError>();

  /**
   * @param folder holds one folder per actor
   * @param clock paces the removal of what is large
   * @param rules what becomes of what is removed
   */
  constructor(folder: string, kinds: readonly ActorKind[], clock: Clock, rules: RemovalRules = keepNothing) {
    this.folders = new ActorFolders(folder, clock, rules);
    this.#clock = clock;
    this.#suspects = new CrashSuspects(folder, clock);
    this.#kinds = new Map(kinds.map((kind) => [kind.kind, kind]));
  }

  /** The kind of an actor, by its id. */
  kindOf(actor: ActorId): ActorKind {
    const kind = this.#kinds.get(actorKindOf(actor));
    assert(kind !== undefined, `no actor kind for ${actor}`);
    return kind;
  }

  /** Every actor there is, sorted. */
  all(): Promise<readonly ActorId[]> {
    return this.folders.all((name) => this.#kinds.has(name));
  }

  /** Every actor there should be, whether it is or not, sorted; without a catalogue those that have a folder. */
  async listed(): Promise<readonly ActorId[]> {
    return this.#catalogue === undefined ? await this.all() : this.#catalogue.under().sort();
  }

  /** Names of the tables of an actor's shard, in the order of their numbers. */
  tablesOf(actor: ActorId): readonly string[] {
    return [...commonTableNames, ...this.kindOf(actor).tables];
  }

  /**
   * Knows from now on which actors there should be. Without one every folder is an actor, and its file is made with it.
   *
   * @param catalogue undefined: what it was told before is closed
   * @param isShared the catalogue is of a log that others have as well: files are the same wherever they are, so they do
   *   not say which record made them here, and are made with their actors
   */
  useCatalogue(catalogue: ActorCatalogue | undefined, isShared = false): void {
    this.#catalogue = catalogue;
    this.#isShared = isShared;
  }

  exists(actor: ActorId): boolean {
    if (this.#catalogue === undefined) return this.folders.exists(actor);
    return this.#catalogue.get(actor) !== undefined;
  }

  /** Whether there is anything under an owner, or should be. */
  hasUnder(owner: string): boolean {
    return this.folders.exists(owner) || (this.#catalogue?.under(owner) ?? []).length > 0;
  }

  /** Whether there is a folder of an actor that should not be there: its removal could not be finished. */
  hasLeft(actor: ActorId): boolean {
    return this.#catalogue !== undefined && !this.exists(actor) && this.folders.exists(actor);
  }

  /**
   * Puts away what {@link hasLeft}: it would be taken for the files of one that is made anew.
   *
   * @throws {ServiceError} `WRITES_STOPPED` naming the folder when the system refuses that
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

  /** Whether the shard of an actor was made and nothing was ever written to it. */
  hasNothing(actor: ActorId): boolean {
    return storedHead(this.#pathOf(actor))?.sequence === 0;
  }

  /**
   * Verifies the shards that an earlier process had in hand when it ended, and notes from now on which ones this process
   * has. Those that are damaged are not opened. Once; a further call does nothing. To be called before anything is opened.
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

  /** Notes that a shard is brought up to the log. @returns to be called when that is over */
  markInUse(actor: ActorId): () => void {
    return this.#suspects.take(actor);
  }

  /**
   * Opens the shard of an actor.
   *
   * @throws {ServiceError} what {@link LmdbShard} fails with; `WRITES_STOPPED` when the folder of all actors is gone;
   *   `DATA_CORRUPTED` naming the file when it is missing, empty,
   *   of something else or older than it was
   */
  open(actor: ActorId): Shard {
    crashPoint('in-open');
    const row = this.#catalogue?.get(actor);
    // LMDB would make a folder that is gone.
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
   * Looks at the file of an actor without opening it: nothing is changed.
   *
   * @param listed what the catalogue says of it; undefined where there is none, or it does not name it
   * @returns sequence of the newest record it has; 0 where the log makes it
   * @throws {ServiceError} `DATA_CORRUPTED` naming the file when it is missing, empty, of something else, older than it was
   *   or cannot be read; what {@link refusedFile} says
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
   * @throws {ServiceError} `DATA_CORRUPTED` naming the file when the shard of an actor that should be there is not, or was
   *   found to have a damaged page
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
    // Without a catalogue an actor is made with its file.
    if (row === undefined) throw new ServiceError('DATA_CORRUPTED', `${what}, and ${actor} should be there`);
    if (row.floor > 0) throw lost(actor, what, row.floor);
  }

  /**
   * Whether damaged actors are refused from now on, each for itself. Those that are refused stay so until they are removed
   * or replaced: what was left out of them is not in any file that somebody brings back.
   */
  refuseAlone(isAlone: boolean): void {
    this.#isAlone = isAlone;
  }

  /** Actors that are refused, and why. */
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
    // Of an adopted one it is not known what made it; of any other, a later one of the name is meant.
    const isListed = row !== undefined && (row.created === 0 || row.created === sequence);
    return isListed ? lost(target, `${this.#pathOf(target)} is missing`, sequence) : undefined;
  }

  /** The fork should be there, and nothing has it: it is refused as its source is. */
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

  /** All that is there was replaced. */
  replaced(): void {
    this.#suspects.forget(() => true);
    this.#refused.clear();
  }

  /**
   * @throws {ServiceError} `DATA_CORRUPTED` naming the file when {@link beginNoting} found a damaged page, or the actor is
   *   refused
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
   * Reads every page of the catalogue without LMDB, which ends the process over some damaged ones. At every start, whatever
   * was in hand: a start reads all of its rows anyway, to miss files. Of 100,000 actors it has 24 MB, which take 0.2 s of
   * processor time.
   *
   * @returns its path and what is damaged; undefined when nothing is
   * @throws {Error} of the system, when it cannot be read
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
   * Makes an actor, which is there at once.
   *
   * @param sequence of the record that says so; it must stay in the log until this resolves
   * @returns resolves when the actor is known for good
   */
  create(actor: ActorId, sequence: number): Promise<void> {
    // Its record is read once more. Without its file it stays refused.
    if (this.#refused.has(actor)) return Promise.resolve();
    const isNamed = this.folders.create(actor);
    // A folder without a file is one that lost it.
    if (this.#catalogue === undefined || this.#isShared)
      void this.#openAs(actor, this.folders.of(actor), 0).close();
    // Both at once: whoever asks for the actor finds it noted.
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
   * Gives the copy that was put into {@link ActorFolders.prepare} the identity of an actor, on the disk when it resolves.
   *
   * @param sequence of the record that makes it
   * @returns the last record it has
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
   * Makes an actor of the copy that was claimed for it.
   *
   * @param sequence of the record that says so; it must stay in the log until this resolves
   * @param position what {@link claimCopy} answered
   * @returns resolves when it is known for good; it is there at once
   */
  takeCopy(actor: ActorId, sequence: number, position: ShardPosition): Promise<void> {
    this.folders.adopt(actor);
    const { mark, sequence: floor } = position;
    return this.#noteMade(actor, { created: this.#madeBy(sequence), floor, mark }, sequence);
  }

  /** Removes what interrupted work left. To be called while nothing else uses the store. */
  sweep(): Promise<void> {
    return this.folders.sweep();
  }

  /**
   * Puts every actor away, and the catalogue of a partition: they are made again of the log. What was put away first is
   * kept for a while, because it is all there is where the log turns out not to have everything. To be called while
   * nothing else uses the store.
   *
   * @throws {ServiceError} `STORAGE_FULL` when there is no room to keep it: nothing was changed
   */
  async clear(): Promise<void> {
    // The catalogue says nothing of what is made anew, and that what was put away was lost.
    await this.folders.removeDamaged(this.#tenants, [CATALOGUE]);
    this.replaced();
    this.#catalogue = undefined;
  }

  /**
   * To be called before something else takes the place of all actors because something of them is damaged.
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

  /** Whether there is room to put away what is damaged, see {@link clear}. */
  get canClear(): boolean {
    return this.folders.canKeepDamaged;
  }

  /** Removes what was removed before and is kept no longer. */
  purge(): Promise<void> {
    return this.folders.purge();
  }

  /**
   * Removes every actor under an owner.
   *
   * @param sequence of the record that says so
   * @param remade actors that are there only because that record is read once more: they are not kept
   */
  async remove(owner: string, sequence: number, remade?: ReadonlySet<ActorId>): Promise<void> {
    const owned = this.#catalogue?.under(owner);
    // Without a row the folder is of before: the process died when the catalogue had this removal and the disk had not.
    const isThereAgain =
      owned !== undefined && owned.length > 0 && owned.every((id) => remade?.has(id) === true);
    // A row without a folder would be damage to the next start. Nothing of it is shown any more when its folders go.
    const failed = owned && (await this.#noteGone(owned, sequence));
    await this.folders.remove(owner, isThereAgain);
    this.#suspects.forget((actor) => isUnder(actor, owner));
    for (const actor of [...this.#refused.keys()]) if (isUnder(actor, owner)) this.#refused.delete(actor);
    if (failed !== undefined) throw failed;
  }

  /** @returns why it is not on the disk: a disk that takes nothing more needs the space of the folders all the same */
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
    // What follows a log that others have as well is the same wherever it is: snapshots of it are exchanged.
    return { directory: this.#catalogue?.directory ?? ANYWHERE, actor, created };
  }

  /** Where that fails, the catalogue tries again. */
  #lowerFloor(actor: ActorId): void {
    void this.#note(actor, { created: 0, floor: 0 }, this.#catalogue?.sequence ?? 0).catch(() => undefined);
  }

  /** The record that made an actor may be read once more, and never lowers what its shard is known to have had. */
  #noteMade(actor: ActorId, row: CatalogueRow, sequence: number): Promise<void> {
    const known = this.#catalogue?.get(actor);
    const isHigher = known !== undefined && known.created === row.created && known.floor > row.floor;
    return this.#note(actor, isHigher ? known : row, sequence);
  }

  /** The record that made an actor, as its file says. */
  #madeBy(sequence: number): number {
    return this.#catalogue === undefined || this.#isShared ? 0 : sequence;
  }

  async #note(actor: ActorId, row: CatalogueRow, sequence: number): Promise<void> {
    await this.#catalogue?.note({ actors: new Map([[actor, row]]) }, sequence);
  }
}

/**
 * Whether a shard was made and not written to before it was adopted: the log has its records, or there never were any. The
 * first version of the catalogue gave such a shard the floor of one with content.
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
