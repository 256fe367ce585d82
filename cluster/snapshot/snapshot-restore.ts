import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { COPY_FILE } from '#runtime/actor/copies/actor-copies.ts';
import { ActorFolders } from '#runtime/actor/store/actor-folders.ts';
import type { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { removePaced } from '#runtime/actor/store/paced-removal.ts';
import { type Backoff, backoffMs } from '#runtime/base/time/backoff.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import type { Blobs } from '#runtime/blobs/ports.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { ColdStart } from '#cluster/ownership/cold-start.ts';
import { isTruncated } from '#cluster/replication/log-errors.ts';
import { type LogPosition, stateAt } from '#cluster/replication/log-position.ts';
import type { LogStream } from '#cluster/replication/log-stream.ts';
import type { SnapshotReport } from './snapshot-events.ts';
import { receiveStored, untilAborted } from './snapshot-file.ts';
import type { SnapshotIndex } from './snapshot-index.ts';
import { isContinued, type SnapshotActor, type SnapshotRecord } from './snapshot-manifest.ts';
import { isGone, requireSequence } from './snapshot-writer.ts';
import { SnapshotSwap } from './snapshot-swap.ts';
import { readManifest } from './stored-manifest.ts';

/** Interval of the checks for a usable snapshot, in milliseconds. */
const CHECK_MS = 1000;

/** Time after which the other members are asked again for one, in milliseconds. */
const REQUEST_MS = 30_000;

/** Delays before an unavailable snapshot, and a damaged one, are tried again. */
const retry: Backoff = Object.freeze({ firstMs: 5_000, factor: 2, mostMs: 60_000 });
const damagedRetry: Backoff = Object.freeze({ firstMs: 60_000, factor: 2, mostMs: 300_000 });

/** A snapshot that is not tried before some time. */
interface Refused {
  /** On the monotonic clock. */
  readonly untilMs: number;
  readonly isDamaged: boolean;
  /** Number of failed retries. */
  readonly retries: number;
}

/** A complete snapshot beside the actors. */
interface Brought {
  readonly record: SnapshotRecord;
  readonly actors: number;
  readonly tookMs: number;
}

/** Dependencies of a restore. */
export interface RestoreEnvironment {
  readonly partition: number;
  /** Folder of the partition; its actors are in `actors` there. */
  readonly folder: string;
  readonly store: ActorStore;
  readonly stream: LogStream;
  readonly blobs: Blobs;
  readonly index: SnapshotIndex;
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
  readonly report: SnapshotReport;
  /**
   * Asks the members that have the partition for a snapshot; the request may be lost.
   *
   * @param isWhole whether no stored file may be reused
   */
  readonly request: (isWhole: boolean) => void;
}

/**
 * Starts a partition from a snapshot. All files are downloaded, compared with their hashes, opened and flushed beside
 * the existing actors; then one folder replaces the other ({@link SnapshotSwap}). Remains of a crash before that are
 * discarded; the next start completes a swap that was begun.
 *
 * A damaged snapshot is never used, and none of this member's data is given up for it.
 *
 * @see docs/partition-log.md#snapshots-and-cutting-the-log
 */
export class SnapshotRestore implements ColdStart {
  readonly #environment: RestoreEnvironment;
  readonly #workFolder: string;
  readonly #swap: SnapshotSwap;
  /** Actors that are complete in the folder, with the hashes of their files. */
  readonly #brought = new Map<string, string>();
  /** Snapshots that are not tried before some time, by the hash of their manifest. */
  readonly #bad = new Map<string, Refused>();
  /** The snapshot that {@link replace} will use. */
  #ready: Brought | undefined;
  /** Time of the last request to the others, on the monotonic clock. */
  #askedMs = Number.NEGATIVE_INFINITY;

  constructor(environment: RestoreEnvironment) {
    this.#environment = environment;
    this.#workFolder = join(environment.folder, 'restore');
    this.#swap = new SnapshotSwap({ ...environment, workFolder: this.#workFolder });
  }

  async run(position: LogPosition | undefined, signal: AbortSignal): Promise<LogPosition | undefined> {
    const has = (position?.sequence ?? 0) > 0;
    for (;;) {
      requireWanted(signal);
      const firstSequence = await this.#firstSequence();
      // Without a reply nothing is known; the reader of the log will get the error.
      if (firstSequence === undefined) return undefined;
      const isCut = Math.max(1, position?.sequence ?? 0) < firstSequence;
      if (!isCut && has) return undefined;
      const brought = await this.#newest(firstSequence, signal, (record) => this.#bringAll(record, signal));
      if (brought !== undefined) {
        if (await this.#isAdopted(brought, false)) return brought.record.position;
        continue;
      }
      // The log has everything from its beginning on.
      if (!isCut) return undefined;
      this.#ask();
      await sleep(this.#environment.clock, CHECK_MS);
    }
  }

  async bring(signal: AbortSignal): Promise<boolean> {
    const firstSequence = await this.#firstSequence();
    if (firstSequence === undefined) return false;
    if (this.#ready !== undefined && this.#isUsable(this.#ready.record, firstSequence)) return true;
    this.#ready = undefined;
    this.#ready = await this.#newest(firstSequence, signal, (record) =>
      this.#bringAll(record, signal, () => this.#requireRoom()),
    );
    if (this.#ready === undefined) this.#ask();
    return this.#ready !== undefined;
  }

  async replace(): Promise<LogPosition | undefined> {
    const ready = this.#ready;
    const firstSequence = await this.#firstSequence();
    if (ready === undefined || firstSequence === undefined) return undefined;
    if (!this.#isUsable(ready.record, firstSequence)) return undefined;
    return (await this.#isAdopted(ready, true)) ? ready.record.position : undefined;
  }

  isUnfinished(): Promise<boolean> {
    return this.#swap.isUnfinished();
  }

  async finish(): Promise<LogPosition | undefined> {
    const position = await this.#swap.finish();
    if (position === undefined) return undefined;
    const { partition, report } = this.#environment;
    this.#forgetBrought();
    report({ kind: 'swap-finished', partition, sequence: position.sequence });
    return position;
  }

  async isOffered(): Promise<boolean> {
    const { index, partition } = this.#environment;
    try {
      const firstSequence = await this.#firstSequence();
      const { records } = await index.read(partition);
      if (firstSequence !== undefined && records.some((record) => this.#isUsable(record, firstSequence)))
        return true;
    } catch {
      return false;
    }
    this.#ask();
    return false;
  }

  async done(): Promise<void> {
    this.#forgetBrought();
    await this.#swap.end();
    await removePaced(this.#workFolder, this.#environment.clock);
  }

  /** Asks the other members, at most every half minute. */
  #ask(): void {
    const { clock, partition, report, request } = this.#environment;
    if (clock.monotonicMs() - this.#askedMs < REQUEST_MS) return;
    this.#askedMs = clock.monotonicMs();
    report({ kind: 'awaited', partition });
    request([...this.#bad.values()].some(({ isDamaged }) => isDamaged));
  }

  /** Returns whether a snapshot may be used: the log continues it, and it was not refused a moment ago. */
  #isUsable(record: SnapshotRecord, firstSequence: number): boolean {
    const bad = this.#bad.get(record.manifest.hash);
    // Otherwise a newer one was taken since: the records after this one are truncated.
    if (!isContinued(record, firstSequence)) return false;
    return bad === undefined || this.#environment.clock.monotonicMs() >= bad.untilMs;
  }

  async #firstSequence(): Promise<number | undefined> {
    try {
      return (await this.#environment.stream.state()).firstSequence;
    } catch {
      return undefined;
    }
  }

  /** Runs an operation with the newest intact snapshot of this log. @returns undefined when there is none */
  async #newest(
    firstSequence: number,
    signal: AbortSignal,
    work: (record: SnapshotRecord) => Promise<Brought>,
  ): Promise<Brought | undefined> {
    const { index, partition, report } = this.#environment;
    let records: readonly SnapshotRecord[];
    try {
      ({ records } = await index.read(partition));
    } catch (cause) {
      report({ kind: 'unusable', partition, sequence: 0, cause });
      return undefined;
    }
    for (const record of records) {
      if (!this.#isUsable(record, firstSequence)) continue;
      const had = this.#brought.size;
      try {
        return await work(record);
      } catch (cause) {
        requireWanted(signal);
        this.#refuse(record, cause, this.#brought.size > had);
      }
    }
    return undefined;
  }

  /**
   * Refuses a snapshot for a while. @param hasProgress whether the next attempt starts with more files than this one
   */
  #refuse({ manifest, position }: SnapshotRecord, cause: unknown, hasProgress: boolean): void {
    const { clock, partition, random, report } = this.#environment;
    const isDamaged = isGone(cause) && !isTruncated(cause);
    const retries = hasProgress ? 0 : (this.#bad.get(manifest.hash)?.retries ?? -1) + 1;
    const untilMs = clock.monotonicMs() + backoffMs(isDamaged ? damagedRetry : retry, retries, random);
    this.#bad.set(manifest.hash, { untilMs, isDamaged, retries });
    report({ kind: 'unusable', partition, sequence: position.sequence, cause });
  }

  /** Downloads must not use the space that the actors are written with. Deleting the downloaded files frees it. */
  async #requireRoom(): Promise<void> {
    if (this.#environment.store.canClear) return;
    await this.done();
    throw new ServiceError('STORAGE_FULL');
  }

  /** @param goOn called before each actor; rejects to cancel the download */
  async #bringAll(record: SnapshotRecord, signal: AbortSignal, goOn?: () => Promise<void>): Promise<Brought> {
    const { blobs, clock, files, partition, stream } = this.#environment;
    const startMs = clock.monotonicMs();
    // Its record must be that of the log: chains distinguish one log from another.
    await stateAt(stream, partition, record.position, clock);
    const { actors } = await readManifest(blobs, record);
    const root = join(this.#workFolder, 'actors');
    await files.makeDirectory(root);
    const made = new ActorFolders(root, clock);
    // Removes files of a snapshot that turned out to be damaged elsewhere.
    const wanted = new Set(actors.map(({ id }) => id));
    for (const id of this.#brought.keys())
      if (!wanted.has(id)) await rm(made.of(id), { recursive: true, force: true });
    for (const id of [...this.#brought.keys()]) if (!wanted.has(id)) this.#brought.delete(id);
    for (const actor of actors) {
      requireWanted(signal);
      await goOn?.();
      if (this.#brought.get(actor.id) !== actor.hash) await this.#bringActor(actor, made, signal);
      crashPoint('mid-snapshot-restore');
    }
    return { record, actors: actors.length, tookMs: clock.monotonicMs() - startMs };
  }

  async #bringActor(actor: SnapshotActor, made: ActorFolders, signal: AbortSignal): Promise<void> {
    const { blobs, files, partition, store } = this.#environment;
    const folder = made.of(actor.id);
    const path = join(folder, COPY_FILE);
    this.#brought.delete(actor.id);
    try {
      await files.makeDirectory(folder);
      const pieces = untilAborted(await blobs.get(actor.hash), signal);
      await receiveStored(pieces, path, { partition, actor: actor.id }, files);
      requireSequence(path, store.tablesOf(actor.id), actor.sequence);
      await files.syncDirectory(folder);
    } catch (error) {
      // An actor exists when its folder does.
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
    this.#brought.set(actor.id, actor.hash);
  }

  /**
   * Replaces the existing actors by the downloaded ones.
   *
   * @param hasDamage whether the existing data is kept for a while
   * @returns false when that failed, and nothing was changed
   * @throws the error of the disk, when {@link finish} must do the rest
   */
  async #isAdopted({ actors, record, tookMs }: Brought, hasDamage: boolean): Promise<boolean> {
    const { partition, report } = this.#environment;
    const { bytes, position } = record;
    try {
      await this.#swap.make(position, hasDamage);
    } catch (cause) {
      if (await this.#swap.isUnfinished()) throw cause;
      this.#refuse(record, cause, false);
      return false;
    }
    this.#forgetBrought();
    report({ kind: 'restored', partition, sequence: position.sequence, actors, bytes, tookMs });
    return true;
  }

  /** The downloaded files are no longer beside the actors. */
  #forgetBrought(): void {
    this.#brought.clear();
    this.#ready = undefined;
  }
}

function requireWanted(signal: AbortSignal): void {
  if (signal.aborted) throw new ServiceError('REQUEST_CANCELLED');
}
