import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { COPY_FILE } from '#runtime/actor/actor-copies.ts';
import { ActorFolders } from '#runtime/actor/actor-folders.ts';
import type { ActorStore } from '#runtime/actor/actor-store.ts';
import { removePaced } from '#runtime/actor/paced-removal.ts';
import { type Backoff, backoffMs } from '#runtime/base/backoff.ts';
import { type Clock, sleep } from '#runtime/base/clock.ts';
import type { FileSystem } from '#runtime/base/file-system.ts';
import type { Random } from '#runtime/base/random.ts';
import type { Blobs } from '#runtime/blobs/ports.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { ColdStart } from '#cluster/lease/cold-start.ts';
import { isTruncated } from '#cluster/replication/log-errors.ts';
import { type LogPosition, stateAt } from '#cluster/replication/log-position.ts';
import type { LogStream } from '#cluster/replication/log-stream.ts';
import type { SnapshotReport } from './snapshot-events.ts';
import { receiveStored, untilAborted } from './snapshot-file.ts';
import type { SnapshotIndex } from './snapshot-index.ts';
import { isContinued, type SnapshotActor, type SnapshotRecord } from './snapshot-manifest.ts';
import { isGone, requireSequence } from './snapshot-writer.ts';
import { readManifest } from './stored-manifest.ts';

/** Between two looks for a snapshot that can be begun with, in milliseconds. */
const LOOK_MS = 1000;

/** Time after which the others are asked again for one, in milliseconds. */
const REQUEST_MS = 30_000;

/** When a snapshot is tried again that could not be had, and one that was damaged. */
const retry: Backoff = Object.freeze({ firstMs: 5_000, factor: 2, mostMs: 60_000 });
const damagedRetry: Backoff = Object.freeze({ firstMs: 60_000, factor: 2, mostMs: 300_000 });

/** A snapshot that is not tried before some time. */
interface Refused {
  /** On the monotonic clock. */
  readonly untilMs: number;
  readonly isDamaged: boolean;
  /** How often it was tried again in vain. */
  readonly retries: number;
}

/** A snapshot that lies whole beside the actors. */
interface Brought {
  readonly record: SnapshotRecord;
  readonly actors: number;
  readonly tookMs: number;
}

/** What a snapshot is restored with. */
export interface RestoreEnvironment {
  readonly partition: number;
  /** Of the partition; its actors are in `actors` there. */
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
   * Asks the members that have the partition for a snapshot; it may be lost on the way.
   *
   * @param isWhole nothing that is stored may be used again
   */
  readonly request: (isWhole: boolean) => void;
}

/**
 * Begins a partition with a snapshot. Everything is brought, compared with its hash, opened and flushed beside the
 * actors there are; then one folder takes the place of the other. What a crash leaves before that is thrown away, and
 * behind it, until the position is stored, everything is done once more: a member whose position is older than its
 * actors applies again what they have.
 *
 * A snapshot that is damaged is never begun with, and nothing of what this member has is given up for it.
 *
 * @see Reliability: R16, F23
 */
export class SnapshotRestore implements ColdStart {
  readonly #environment: RestoreEnvironment;
  readonly #workFolder: string;
  /** Actors that lie whole in the folder, with the hashes of their files. */
  readonly #brought = new Map<string, string>();
  /** Snapshots that are not tried before some time, by the hash of their manifest. */
  readonly #bad = new Map<string, Refused>();
  /** What {@link replace} puts in the place of the actors. */
  #ready: Brought | undefined;
  /** When the others were asked for one, on the monotonic clock. */
  #askedMs = Number.NEGATIVE_INFINITY;

  constructor(environment: RestoreEnvironment) {
    this.#environment = environment;
    this.#workFolder = join(environment.folder, 'restore');
  }

  async run(position: LogPosition | undefined, signal: AbortSignal): Promise<LogPosition | undefined> {
    const has = (position?.sequence ?? 0) > 0;
    for (;;) {
      requireWanted(signal);
      const firstSequence = await this.#firstSequence();
      // Without an answer nothing is known; whoever reads the log will be told.
      if (firstSequence === undefined) return undefined;
      const isCut = Math.max(1, position?.sequence ?? 0) < firstSequence;
      if (!isCut && has) return undefined;
      const begun = await this.#newest(firstSequence, signal, async (record) => {
        const brought = await this.#bringAll(record, signal);
        await this.#adopt(brought, false);
        return brought;
      });
      if (begun !== undefined) return begun.record.position;
      // The log has everything from its beginning on.
      if (!isCut) return undefined;
      this.#ask();
      await sleep(this.#environment.clock, LOOK_MS);
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
    try {
      await this.#adopt(ready, true);
      return ready.record.position;
    } catch (cause) {
      this.#refuse(ready.record, cause, false);
      return undefined;
    }
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
    this.#carryKept();
    await removePaced(this.#workFolder, this.#environment.clock);
  }

  /** The others, at most every half a minute. */
  #ask(): void {
    const { clock, partition, report, request } = this.#environment;
    if (clock.monotonicMs() - this.#askedMs < REQUEST_MS) return;
    this.#askedMs = clock.monotonicMs();
    report({ kind: 'awaited', partition });
    request([...this.#bad.values()].some(({ isDamaged }) => isDamaged));
  }

  /** Whether a snapshot may be begun with: the log goes on from it, and it was not found wanting a moment ago. */
  #isUsable(record: SnapshotRecord, firstSequence: number): boolean {
    const bad = this.#bad.get(record.manifest.hash);
    // Else another one was taken since: what follows this one is gone.
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

  /** Does something with the newest snapshot that is whole and of this log. @returns undefined: it is done with none */
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

  /** A snapshot is not tried for a while. @param hasProgress the next attempt begins with more than this one did */
  #refuse({ manifest, position }: SnapshotRecord, cause: unknown, hasProgress: boolean): void {
    const { clock, partition, random, report } = this.#environment;
    const isDamaged = isGone(cause) && !isTruncated(cause);
    const retries = hasProgress ? 0 : (this.#bad.get(manifest.hash)?.retries ?? -1) + 1;
    const untilMs = clock.monotonicMs() + backoffMs(isDamaged ? damagedRetry : retry, retries, random);
    this.#bad.set(manifest.hash, { untilMs, isDamaged, retries });
    report({ kind: 'unusable', partition, sequence: position.sequence, cause });
  }

  /** What is brought beside actors must not take the room they are written with. What was brought gives it back. */
  async #requireRoom(): Promise<void> {
    if (this.#environment.store.canClear) return;
    await this.done();
    throw new ServiceError('STORAGE_FULL');
  }

  /** @param goOn asked before each actor; rejects to give it up */
  async #bringAll(record: SnapshotRecord, signal: AbortSignal, goOn?: () => Promise<void>): Promise<Brought> {
    const { blobs, clock, files, partition, stream } = this.#environment;
    const startMs = clock.monotonicMs();
    // Its record must be the one the log has: chains tell one log from another.
    await stateAt(stream, partition, record.position, clock);
    const { actors } = await readManifest(blobs, record);
    const root = join(this.#workFolder, 'actors');
    await files.makeDirectory(root);
    const made = new ActorFolders(root, clock);
    // What was brought for a snapshot that turned out to be damaged elsewhere.
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

  /** Puts what was made in the place of what there is. @param hasDamage what there is is kept for a while */
  async #adopt({ actors: count, record, tookMs }: Brought, hasDamage: boolean): Promise<void> {
    const { files, folder, partition, report, store } = this.#environment;
    if (hasDamage) await store.putAwayDamaged();
    const actors = join(folder, 'actors');
    const replaced = this.#replacedFolder;
    // One that failed half way has put it there.
    this.#carryKept();
    await rm(replaced, { recursive: true, force: true });
    if ((await files.readdir(folder)).includes('actors')) await rename(actors, replaced);
    crashPoint('mid-snapshot-adopt');
    await rename(join(this.#workFolder, 'actors'), actors);
    this.#forgetBrought();
    await files.syncDirectory(folder);
    crashPoint('after-snapshot-adopt');
    this.#carryKept();
    const { bytes, position } = record;
    report({ kind: 'restored', partition, sequence: position.sequence, actors: count, bytes, tookMs });
  }

  /** It is not beside the actors any more. */
  #forgetBrought(): void {
    this.#brought.clear();
    this.#ready = undefined;
  }

  /** What was removed or put away before is kept on: it lies in the folder that was replaced, which is thrown away. */
  #carryKept(): void {
    const { clock, store } = this.#environment;
    store.folders.takeKept(new ActorFolders(this.#replacedFolder, clock));
  }

  /** Where the actors go that are replaced. */
  get #replacedFolder(): string {
    return join(this.#workFolder, 'replaced');
  }
}

function requireWanted(signal: AbortSignal): void {
  if (signal.aborted) throw new ServiceError('REQUEST_CANCELLED');
}
