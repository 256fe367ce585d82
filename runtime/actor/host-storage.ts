import type { Clock } from '#runtime/base/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type { ActorKind } from '#runtime/commit/behaviour.ts';
import { replayLog } from '#runtime/commit/replay.ts';
import type { ShardWriter } from '#runtime/commit/shard-writer.ts';
import { isRefusedFile, requireStorageError } from '#runtime/errors/refused-file.ts';
import { isDamage, ServiceError } from '#runtime/errors/service-error.ts';
import { isUnder } from '#runtime/log/lifecycle-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import type { Shard } from '#runtime/shard/shard.ts';
import type { SpaceGuard } from '#runtime/space/space-gate.ts';
import type { ActorCatalogue, CatalogueRow } from './actor-catalogue.ts';
import { ActorStore, type ListedActor } from './actor-store.ts';
import type { CatalogueFile } from './catalogue-file.ts';
import { DamagedActors } from './damaged-actors.ts';
import { type JudgedActors, startDependsOnLost } from './damaged-log.ts';
import {
  type CatalogueEnvironment,
  findCatalogue,
  type FoundCatalogue,
  openCatalogue,
} from './open-catalogue.ts';
import type { ActorId } from './ports.ts';
import { RefusedActors } from './refused-actors.ts';
import type { StoppedActor } from './stopped-actors.ts';

/** Actors whose files are looked for in one turn of the event loop. */
const LOOKED_AT_ONCE = 64;

/** The key a data directory is used with. */
export interface DirectoryKey {
  /** Tells it from any other key, and says nothing else of it. */
  readonly check: string;
  /** Brings it to the disk where it is a new one. */
  store(): void;
  /**
   * @returns what a start is refused with when the directory has a key of its own that is another one, and nobody noted
   *   which of them it was made with; undefined: there is no other
   * @throws what such a key cannot be read with
   */
  doubt(): Error | undefined;
  /** @returns what a start is refused with when the directory was made with another one */
  refusal(): Error;
}

/** What was found before anything was changed. */
interface Inspected {
  /** Undefined where the log is not of this process alone. */
  readonly catalogue: (FoundCatalogue & { readonly environment: CatalogueEnvironment }) | undefined;
  readonly judged: JudgedActors;
}

/** What the storage of a host works with. */
export interface StorageEnvironment {
  /** Folder that holds one folder per actor. */
  readonly folder: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  readonly kinds: readonly ActorKind[];
  /** The actors of that folder, where somebody else uses them before and after; default: made here. */
  readonly store?: ActorStore;
  readonly space?: SpaceGuard;
  /** Default: what is removed goes at once. */
  readonly removedKeepMs?: number;
  /** Actors nothing can be served without: where one of them is damaged, nothing is opened. */
  readonly required?: readonly ActorId[];
  readonly key?: DirectoryKey;
  /** Stored bytes of an actor do not verify, or are missing. */
  readonly damaged: (actor: ActorId, cause: ServiceError) => void;
  /** The file of an actor is read whole before it is opened; so many of so many were. */
  readonly verifying?: (actor: ActorId, done: number, of: number) => void;
}

/**
 * What a host has on the disk: which actors there should be, and which of them are not served because they, or what the
 * log has of them, are damaged.
 *
 * @see docs/decisions/0031-actor-catalogue.md
 */
export class HostStorage {
  readonly store: ActorStore;
  readonly #environment: StorageEnvironment;
  readonly #damaged = new DamagedActors();
  #refused: RefusedActors;
  #catalogue: ActorCatalogue | undefined;
  /** What was removed before and is kept no longer is being removed. */
  #purging: Promise<void> | undefined;
  /** The look for files that are gone. */
  #checking: Promise<void> | undefined;
  #isClosing = false;

  constructor(environment: StorageEnvironment) {
    this.#environment = environment;
    const { clock, folder, kinds, log, removedKeepMs: keepMs = 0, space, store } = environment;
    const isPressed = (): boolean => space?.refusal('grows') !== undefined;
    this.store = store ?? new ActorStore(folder, kinds, clock, { keepMs, isPressed });
    this.#refused = RefusedActors.none(log);
  }

  /** Actors that are not served. */
  get stopped(): readonly StoppedActor[] {
    return [...this.#refused.told, ...this.#damaged.all()];
  }

  /** See `ActorHost.recover`. @param isOpen whether an actor is open: then its file is there */
  async recover(isOpen: (actor: ActorId) => boolean): Promise<void> {
    const { key, log } = this.#environment;
    const { store } = this;
    const { catalogue, judged } = await this.#inspect();
    // Nothing was changed up to here, and nothing of what was found refuses from here on.
    // First, for what follows needs room: who deletes something on a full volume and starts again gets it.
    await store.sweep();
    key?.store();
    await log.begin?.();
    if (catalogue !== undefined) {
      this.#catalogue = await openCatalogue(catalogue.environment, catalogue);
      store.useCatalogue(this.#catalogue);
    }
    await store.beginNoting((actor, done, of) => this.#environment.verifying?.(actor, done, of));
    for (const actor of this.#environment.required ?? []) store.requireSound(actor);
    await this.#raiseFloors(judged.past);
    this.#refused = await RefusedActors.decide(log, judged);
    await this.#replay();
    await store.sweep();
    await this.#noteReached();
    // A catalogue that cannot be read at present is told of by whoever needs it.
    this.#checking = this.#findLost(isOpen).catch(() => undefined);
  }

  /**
   * Compares everything that a start relies on, so that it is refused while nothing is changed.
   *
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  async #inspect(): Promise<Inspected> {
    const { clock, folder, key, log, random } = this.#environment;
    const { store } = this;
    const { retention } = log;
    if (retention === undefined) return { catalogue: undefined, judged: await this.#judge(undefined) };
    const environment = { folder, store, log, retention, random, clock, keyCheck: key?.check };
    const found = await findCatalogue(environment);
    try {
      if (key !== undefined) requireKey(key, found.file?.keyCheck);
      const judged = await this.#judge(found.file);
      this.#requireNeeded(found.file, judged);
      return { catalogue: { ...found, environment }, judged };
    } finally {
      found.file?.close();
    }
  }

  #judge(file: CatalogueFile | undefined): Promise<JudgedActors> {
    const { log } = this.#environment;
    let rows: ReadonlyMap<ActorId, CatalogueRow> | undefined;
    const listed = (): ReadonlyMap<ActorId, CatalogueRow> => {
      rows ??= file?.rows() ?? new Map<ActorId, CatalogueRow>();
      return rows;
    };
    return RefusedActors.judge(log, {
      all: () => this.store.all(),
      listed,
      reached: (actor) => this.store.look(actor, listedIn(file?.directory, listed().get(actor))),
    });
  }

  /** @throws {ServiceError} `DATA_CORRUPTED` when an actor is damaged without which nothing can be served */
  #requireNeeded(file: CatalogueFile | undefined, { dependent }: JudgedActors): void {
    const { lastSequence } = this.#environment.log;
    for (const actor of this.#environment.required ?? []) {
      const why = dependent.get(actor);
      if (why !== undefined) throw startDependsOnLost(actor, why);
      const row = file?.get(actor);
      // Not made yet; or there is no catalogue, and what is there is adopted.
      if (row === undefined) continue;
      const sequence = this.store.look(actor, listedIn(file?.directory, row));
      if (sequence > lastSequence) throw aheadOfLog(actor, sequence, lastSequence);
    }
  }

  /** The log cannot make those again that have what it has lost. */
  async #raiseFloors(past: ReadonlyMap<ActorId, number>): Promise<void> {
    const actors = new Map<ActorId, CatalogueRow>();
    for (const [actor, reached] of past) {
      const row = this.#catalogue?.get(actor);
      if (row !== undefined && reached > row.floor)
        actors.set(actor, { created: row.created, floor: reached });
    }
    if (actors.size > 0) await this.#catalogue?.note({ actors }, this.#environment.log.lastSequence);
  }

  async #replay(): Promise<void> {
    const { clock, log } = this.#environment;
    const { store } = this;
    const removed: string[] = [];
    // Made again by their records, for their removal may be a later one.
    const remade = new Set<ActorId>();
    const noteRemade = (actor: ActorId): void => {
      if (!store.folders.exists(actor)) remade.add(actor);
    };
    await replayLog(
      log,
      {
        exists: (actor) => store.exists(actor),
        isMissing: (actor) => store.isMissing(actor),
        open: (actor) => this.open(actor),
        create(actor, sequence) {
          noteRemade(actor);
          return store.create(actor, sequence);
        },
        adopt(actor, sequence, copy) {
          noteRemade(actor);
          return store.adopt(actor, sequence, copy);
        },
        adoptWhole: (actor, sequence) => store.adoptWhole(actor, sequence),
        handling: (actor) => store.markInUse(actor),
        missingFork: (target, sequence) => store.missingFork(target, sequence),
        remove: async (owner, sequence) => {
          removed.push(owner);
          // One that follows under its name is another one.
          this.#damaged.forget((actor) => isUnder(actor, owner));
          await store.remove(owner, sequence, remade);
        },
        putOff: (owner, sequence, cause) => this.#putOff(owner, sequence, cause),
        giveUp: (actor, cause) => this.#giveUp(actor, cause),
      },
      clock,
      (actor) => this.#refused.has(actor),
    );
    for (const owner of removed) await this.#refused.removed(owner);
  }

  /** @throws {ServiceError} `DATA_CORRUPTED` for an actor that depends on something the log has lost */
  requireKept(actor: ActorId): void {
    this.#refused.require(actor);
  }

  /** @throws {ServiceError} `DATA_CORRUPTED` for an actor that could not be brought up to the log */
  requireCaughtUp(actor: ActorId): void {
    this.#damaged.requireCaughtUp(actor);
  }

  /** An actor could be opened. */
  opened(actor: ActorId): void {
    this.#damaged.opened(actor);
  }

  /** An actor could not be opened. */
  failed(actor: ActorId, error: unknown): void {
    if (isUnusable(error) && !this.#refused.has(actor)) this.#damaged.add(actor, error);
  }

  /** @throws {ServiceError} what {@link ActorStore.open} fails with; `DATA_CORRUPTED` when the shard has records the log has lost */
  open(actor: ActorId): Shard {
    const shard = this.store.open(actor);
    const { sequence } = shard.position;
    const { lastSequence } = this.#environment.log;
    if (sequence <= lastSequence) return shard;
    void shard.close();
    throw aheadOfLog(actor, sequence, lastSequence);
  }

  /**
   * Everything the log still has of an actor was in its shard when that was closed.
   *
   * @throws {ServiceError} `DATA_CORRUPTED` when it is not; the writer is of no use any more
   */
  requireNewest(actor: ActorId, writer: ShardWriter): void {
    const newest = this.#environment.log.retention?.newestOf(actor) ?? 0;
    const row = this.#catalogue?.get(actor);
    if (row === undefined || newest <= row.created || writer.sequence >= newest) return;
    // Adopted without content: the newest record may be what made it.
    if (row.created === 0 && row.floor === 0 && writer.sequence === 0) return;
    void writer.abandon();
    throw new ServiceError(
      'DATA_CORRUPTED',
      `the data of ${actor} went back from log record ${newest} to ${writer.sequence}: files under the running process ` +
        'were changed; restart the member',
    );
  }

  /**
   * Removes everything under an owner. The log has it, so it is gone, whatever the system refuses.
   *
   * @param sequence of the record that says so
   * @returns why something of it is not on the disk yet: the log has to keep the record. What the catalogue could not store
   *   ({@link ServiceError}) is there after {@link stored}; folders that stayed are for the next start
   */
  async remove(
    owner: string,
    sequence: number,
    isOwned: (actor: ActorId) => boolean,
  ): Promise<Error | undefined> {
    const failed = await this.store.remove(owner, sequence).then(() => undefined, requireStorageError);
    const isNamed = await this.#refused.removed(owner);
    this.#damaged.forget(isOwned);
    return failed ?? isNamed;
  }

  /** Resolves when the catalogue has everything it was told by now on the disk, see {@link ActorCatalogue.stored}. */
  async stored(): Promise<void> {
    await this.#catalogue?.stored();
  }

  /** Begins to remove what was removed before and is kept no longer; what cannot go is tried again with the next call. */
  purge(): void {
    this.#purging ??= this.#refused
      .store()
      .then(() => this.store.purge())
      .catch(() => undefined)
      .finally(() => {
        this.#purging = undefined;
      });
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([this.#checking, this.#purging]);
    await this.#noteReached().catch(() => undefined);
    await this.#catalogue?.close();
    this.#catalogue = undefined;
  }

  /** While the log is brought to the shards. @returns whether the log keeps the record of a removal that failed */
  #putOff(owner: ActorId, sequence: number, cause: unknown): boolean {
    // Without a catalogue an actor is there when its folder is, so the removal must not be left out: another member opens
    // the partition, or this one does later.
    if (this.#catalogue === undefined || isDamage(cause)) return false;
    // Nothing under the owner is there any more for those who ask. Folders that stayed are for the next start.
    if (cause instanceof ServiceError)
      void this.stored().then(() => this.#environment.log.released(owner, sequence));
    return true;
  }

  /** While the log is brought to the shards. @returns whether the actor is left behind */
  #giveUp(actor: ActorId, cause: unknown): boolean {
    if (this.#catalogue === undefined || !isUnusable(cause)) return false;
    this.#damaged.leaveBehind(actor, cause);
    this.#environment.damaged(actor, cause);
    return true;
  }

  /** Misses files before somebody asks for them, so that it is told of them; a little at a time. */
  async #findLost(isOpen: (actor: ActorId) => boolean): Promise<void> {
    const catalogue = this.#catalogue;
    let last: ActorId | undefined;
    while (catalogue !== undefined && !this.#isClosing) {
      const page = catalogue.page(last, LOOKED_AT_ONCE);
      if (page.length === 0) return;
      last = page.at(-1);
      for (const actor of page) if (!isOpen(actor)) this.#checkActor(actor);
      await new Promise<void>((resolve) => this.#environment.clock.soon(resolve));
    }
  }

  #checkActor(actor: ActorId): void {
    if (!this.store.exists(actor) || this.#refused.has(actor)) return;
    try {
      this.store.requireFile(actor);
    } catch (error) {
      if (!isUnusable(error)) return;
      this.#damaged.add(actor, error);
      this.#environment.damaged(actor, error);
    }
  }

  /** Lets the catalogue know how far the log reaches, so that it is noticed when its end is lost. */
  async #noteReached(): Promise<void> {
    const { log } = this.#environment;
    await this.#catalogue?.note({}, await log.flush());
  }
}

/** @param known check value of the key the directory was made with; undefined: nobody noted it @throws what the key says */
function requireKey(key: DirectoryKey, known: string | undefined): void {
  if (known === key.check) return;
  const refusal = known === undefined ? key.doubt() : key.refusal();
  if (refusal !== undefined) throw refusal;
}

/** Whether it is about the files of one actor, so that all others can be served. */
function isUnusable(error: unknown): error is ServiceError {
  return isDamage(error) || isRefusedFile(error);
}

function listedIn(directory: string | undefined, row: CatalogueRow | undefined): ListedActor | undefined {
  return directory === undefined || row === undefined ? undefined : { directory, row };
}

function aheadOfLog(actor: ActorId, sequence: number, lastSequence: number): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `the data of ${actor} reaches log record ${sequence}, but the log ends at ${lastSequence}: ` +
      'its newest files are missing; bring them back, or restore a backup',
    { details: { sequence, lastSequence } },
  );
}
