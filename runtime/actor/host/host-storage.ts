import type { Clock } from '#runtime/base/time/clock.ts';
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
import type { ActorCatalogue, CatalogueRow } from '../catalogue/actor-catalogue.ts';
import { ActorStore, type ListedActor } from '../store/actor-store.ts';
import type { CatalogueFile } from '../catalogue/catalogue-file.ts';
import { DamagedActors } from '../damage/damaged-actors.ts';
import { type JudgedActors, startDependsOnLost } from '../damage/damaged-log.ts';
import {
  type CatalogueEnvironment,
  findCatalogue,
  type FoundCatalogue,
  openCatalogue,
} from '../store/open-catalogue.ts';
import type { ActorId } from '../ports.ts';
import { RefusedActors } from '../damage/refused-actors.ts';
import type { StoppedActor } from '../damage/stopped-actors.ts';

/** Actors whose files are checked in one turn of the event loop. */
const LOOKED_AT_ONCE = 64;

/** The encryption key of a data directory. */
export interface DirectoryKey {
  /** Fingerprint that distinguishes the key from any other without revealing it. */
  readonly check: string;
  /** Fingerprint of the key before it, if that one is given too; something may be encrypted with it. */
  readonly previousCheck?: string | undefined;
  /** Writes the key to disk if it is new. */
  store(): void;
  /**
   * @returns the error of a start when the directory contains a different key and it is not recorded which of the two
   *   it was created with; undefined: there is no other key
   * @throws the error of reading such a key
   */
  doubt(): Error | undefined;
  /**
   * @param isHalf whether the key is right, and something is still encrypted with the one before it, which is not given
   * @returns the error of a start when the directory needs another key
   */
  refusal(isHalf: boolean): Error;
  /**
   * The keys are recorded in the directory.
   *
   * @param dropPrevious records that nothing is encrypted with the previous key any more, so that a start without it is
   *   accepted; resolves when that is on disk
   */
  recorded?(dropPrevious: () => Promise<void>): void;
}

/** The result of the checks before anything is changed. */
interface Inspected {
  /** Undefined when the log is shared with other members. */
  readonly catalogue: (FoundCatalogue & { readonly environment: CatalogueEnvironment }) | undefined;
  readonly judged: JudgedActors;
}

/** Dependencies of the storage of a host. */
export interface StorageEnvironment {
  /** Folder that holds one folder per actor. */
  readonly folder: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly random: Random;
  readonly kinds: readonly ActorKind[];
  /** The store of that folder, when another component uses it before and after the host. Default: created here. */
  readonly store?: ActorStore;
  readonly space?: SpaceGuard;
  /** How long removed actors are kept. Default: deleted at once. */
  readonly removedKeepMs?: number;
  /** Actors that are required for any service. When one is damaged, nothing is opened. */
  readonly required?: readonly ActorId[];
  readonly key?: DirectoryKey;
  /** Stored bytes of an actor do not verify or are missing. */
  readonly damaged: (actor: ActorId, cause: ServiceError) => void;
  /** Progress: the file of an actor is verified before it is opened. */
  readonly verifying?: (actor: ActorId, done: number, of: number) => void;
}

/**
 * The on-disk state of a host: which actors should exist, and which are not served because their files or their log
 * entries are damaged.
 *
 * @see docs/decisions/0031-actor-catalogue.md
 */
export class HostStorage {
  readonly store: ActorStore;
  readonly #environment: StorageEnvironment;
  readonly #damaged = new DamagedActors();
  #refused: RefusedActors;
  #catalogue: ActorCatalogue | undefined;
  /** The running deletion of removed actors whose retention has ended. */
  #purging: Promise<void> | undefined;
  /** The running check for missing files. */
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

  /** See `ActorHost.recover`. @param isOpen whether an actor is open, so that its file exists */
  async recover(isOpen: (actor: ActorId) => boolean): Promise<void> {
    const { key, log } = this.#environment;
    const { store } = this;
    const { catalogue, judged } = await this.#inspect();
    // Nothing was changed before this point, and no finding refuses the start after it.
    // Sweep first, because the next steps need space: an operator may have freed some on a full volume.
    await store.sweep();
    key?.store();
    await log.begin?.();
    if (catalogue !== undefined) {
      this.#catalogue = await openCatalogue(catalogue.environment, catalogue);
      store.useCatalogue(this.#catalogue);
      key?.recorded?.(() => this.#dropPreviousKey());
    }
    await store.beginNoting((actor, done, of) => this.#environment.verifying?.(actor, done, of));
    for (const actor of this.#environment.required ?? []) store.requireSound(actor);
    await this.#raiseFloors(judged.past);
    await this.#listUnlisted(judged);
    this.#refused = await RefusedActors.decide(log, judged);
    await this.#replay();
    await store.sweep();
    await this.#noteReached();
    // A catalogue that cannot be read at present is reported by whatever needs it.
    this.#checking = this.#findLost(isOpen).catch(() => undefined);
  }

  /**
   * Checks everything that a start relies on, so that a refused start changes nothing.
   *
   * @throws {ServiceError} `DATA_CORRUPTED`
   */
  async #inspect(): Promise<Inspected> {
    const { clock, folder, key, log, random } = this.#environment;
    const { store } = this;
    const { retention } = log;
    if (retention === undefined) return { catalogue: undefined, judged: await this.#judge(undefined) };
    const keys = { keyCheck: key?.check, previousKeyCheck: key?.previousCheck };
    const environment = { folder, store, log, retention, random, clock, ...keys };
    const found = await findCatalogue(environment);
    try {
      if (key !== undefined) requireKeys(key, found.file);
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

  /** @throws {ServiceError} `DATA_CORRUPTED` when a required actor is damaged */
  #requireNeeded(file: CatalogueFile | undefined, { dependent }: JudgedActors): void {
    const { lastSequence } = this.#environment.log;
    for (const actor of this.#environment.required ?? []) {
      const why = dependent.get(actor);
      if (why !== undefined) throw startDependsOnLost(actor, why);
      const row = file?.get(actor);
      // Not created yet; or there is no catalogue, and the existing folders are adopted.
      if (row === undefined) continue;
      const sequence = this.store.look(actor, listedIn(file?.directory, row));
      if (sequence > lastSequence) throw aheadOfLog(actor, sequence, lastSequence);
    }
  }

  /**
   * Lists actors that the log creates and the catalogue does not have. Records of refused ones are not replayed: without
   * a row they could not be told from removed ones later. Those whose shards have the lost records need a floor.
   */
  async #listUnlisted({ past, unlisted }: JudgedActors): Promise<void> {
    const actors = new Map<ActorId, CatalogueRow>();
    for (const [actor, created] of unlisted) {
      // It was adopted as it is.
      if (this.store.exists(actor)) continue;
      actors.set(actor, { created, floor: past.get(actor) ?? 0 });
    }
    if (actors.size > 0) await this.#catalogue?.note({ actors }, this.#environment.log.lastSequence);
  }

  /** Raises the floors of actors with records that the log has lost, because the log cannot rebuild them. */
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
    const removed: ActorId[] = [];
    // Actors recreated by replayed records, because their removal may be a later record.
    const remade = new Set<ActorId>();
    const noteRemade = (actor: ActorId): void => {
      if (!store.folders.exists(actor)) remade.add(actor);
    };
    await replayLog(
      log,
      {
        exists: (actor) => store.exists(actor),
        createdAt: (actor) => store.createdAt(actor),
        isOver: (actor, sequence) => this.#isOver(actor, sequence),
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
          for (const each of await store.leavingWith(owner, sequence)) {
            removed.push(each);
            // A later actor of the same name is a different one.
            this.#damaged.forget((actor) => isUnder(actor, each));
            await store.remove(each, sequence, remade);
          }
        },
        putOff: (owner, sequence, cause) => this.#putOff(owner, sequence, cause),
        giveUp: (actor, cause) => this.#giveUp(actor, cause),
      },
      clock,
      (actor) => this.#refused.has(actor),
    );
    for (const owner of removed) await this.#refused.removed(owner);
  }

  /**
   * Whether the actor that a replayed record creates was removed since. A log with damage keeps old records while later
   * ones are removed, among them that of the removal. The rows of actors that such records create were on disk before
   * that, see {@link #listUnlisted}.
   */
  #isOver(actor: ActorId, sequence: number): boolean {
    if (this.store.exists(actor)) return this.store.createdAt(actor) > sequence;
    const { appliedThrough = 0 } = this.#environment.log.damage ?? {};
    return sequence <= appliedThrough && this.store.hasNoTrace(actor);
  }

  /** @throws {ServiceError} `DATA_CORRUPTED` for an actor that depends on records the log has lost */
  requireKept(actor: ActorId): void {
    this.#refused.require(actor);
  }

  /** @throws {ServiceError} `DATA_CORRUPTED` for an actor that the log could not be applied to */
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

  /**
   * @throws {ServiceError} the errors of {@link ActorStore.open}; `DATA_CORRUPTED` when the shard has records the log
   *   lost
   */
  open(actor: ActorId): Shard {
    const shard = this.store.open(actor);
    const { sequence } = shard.position;
    const { lastSequence } = this.#environment.log;
    if (sequence <= lastSequence) return shard;
    void shard.close();
    throw aheadOfLog(actor, sequence, lastSequence);
  }

  /**
   * Checks that the shard of an actor had all of its records that are still in the log when it was closed.
   *
   * @throws {ServiceError} `DATA_CORRUPTED` when it had not; the writer is then unusable
   */
  requireNewest(actor: ActorId, writer: ShardWriter): void {
    const newest = this.#environment.log.retention?.newestOf(actor) ?? 0;
    const row = this.#catalogue?.get(actor);
    if (row === undefined || newest <= row.created || writer.sequence >= newest) return;
    // Adopted without content: the newest record may be the one that created it.
    if (row.created === 0 && row.floor === 0 && writer.sequence === 0) return;
    void writer.abandon();
    throw new ServiceError(
      'DATA_CORRUPTED',
      `the data of ${actor} went back from log record ${newest} to ${writer.sequence}: files under the running process ` +
        'were changed; restart the member',
    );
  }

  /**
   * Removes everything under an owner. The removal is in the log, so it takes effect even if the system refuses
   * to delete files.
   *
   * @param sequence of the record of the removal
   * @returns why part of the removal is not on disk yet, so that the log has to keep the record. A failed write of the
   *   catalogue ({@link ServiceError}) is complete after {@link stored}; remaining folders are left to the next start
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

  /** Resolves when the catalogue has all changes so far on disk, see {@link ActorCatalogue.stored}. */
  async stored(): Promise<void> {
    await this.#catalogue?.stored();
  }

  /** Starts deleting removed actors whose retention has ended. Failed deletions are retried with the next call. */
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

  /** During recovery. @returns whether the log keeps the record of a failed removal */
  #putOff(owner: ActorId, sequence: number, cause: unknown): boolean {
    // Without a catalogue an actor exists when its folder does, so the removal must not be skipped: another member
    // opens the partition, or this one does later.
    if (this.#catalogue === undefined || isDamage(cause)) return false;
    // Nothing under the owner is visible any more. Remaining folders are left to the next start.
    if (cause instanceof ServiceError)
      void this.stored().then(() => this.#environment.log.released(owner, sequence));
    return true;
  }

  /** During recovery. @returns whether the actor is skipped */
  #giveUp(actor: ActorId, cause: unknown): boolean {
    if (this.#catalogue === undefined || !isUnusable(cause)) return false;
    this.#damaged.leaveBehind(actor, cause);
    this.#environment.damaged(actor, cause);
    return true;
  }

  /** Detects missing files before a request needs them, so that they are reported. Works in small steps. */
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

  /** What replaced the texts of the previous key has to be on disk first. */
  async #dropPreviousKey(): Promise<void> {
    const sequence = await this.#environment.log.flush();
    await this.#catalogue?.note({ previousKeyCheck: null }, sequence);
  }

  /** Stores the end of the log in the catalogue, so that a lost end is detected. */
  async #noteReached(): Promise<void> {
    const { log } = this.#environment;
    await this.#catalogue?.note({}, await log.flush());
  }
}

/** Requires every key with which something in the directory may be encrypted. @throws the refusal */
function requireKeys(
  key: DirectoryKey,
  recorded: Pick<CatalogueFile, 'keyCheck' | 'previousKeyCheck'> | undefined,
): void {
  const { keyCheck, previousKeyCheck } = recorded ?? {};
  const isGiven = (check: string): boolean => check === key.check || check === key.previousCheck;
  if (keyCheck === undefined) {
    const doubt = key.doubt();
    if (doubt !== undefined) throw doubt;
  } else if (!isGiven(keyCheck)) throw key.refusal(false);
  if (previousKeyCheck !== undefined && !isGiven(previousKeyCheck)) throw key.refusal(true);
}

/** Whether an error concerns the files of one actor only, so that all others can be served. */
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
