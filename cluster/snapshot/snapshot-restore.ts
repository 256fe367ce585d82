import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { COPY_FILE } from '#runtime/actor/actor-copies.ts';
import { ActorFolders } from '#runtime/actor/actor-folders.ts';
import type { ActorStore } from '#runtime/actor/actor-store.ts';
import { removePaced } from '#runtime/actor/paced-removal.ts';
import { type Clock, sleep } from '#runtime/base/clock.ts';
import type { FileSystem } from '#runtime/base/file-system.ts';
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

/** Time after which a snapshot is tried again that could not be had, and one that was damaged, in milliseconds. */
const RETRY_MS = 5_000;
const DAMAGED_RETRY_MS = 60_000;

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
  readonly #bad = new Map<string, { readonly untilMs: number; readonly isDamaged: boolean }>();
  /** When the others were asked for one, on the monotonic clock. */
  #askedMs = Number.NEGATIVE_INFINITY;

  constructor(environment: RestoreEnvironment) {
    this.#environment = environment;
    this.#workFolder = join(environment.folder, 'restore');
  }

  async run(position: LogPosition | undefined, signal: AbortSignal): Promise<LogPosition | undefined> {
    await this.done();
    const has = (position?.sequence ?? 0) > 0;
    for (;;) {
      requireWanted(signal);
      const firstSequence = await this.#firstSequence();
      // Without an answer nothing is known; whoever reads the log will be told.
      if (firstSequence === undefined) return undefined;
      const isCut = Math.max(1, position?.sequence ?? 0) < firstSequence;
      if (!isCut && has) return undefined;
      const reached = await this.#newest(firstSequence, signal, false);
      if (reached !== undefined) return reached;
      // The log has everything from its beginning on.
      if (!isCut) return undefined;
      this.#ask();
      await sleep(this.#environment.clock, LOOK_MS);
    }
  }

  async replace(signal: AbortSignal): Promise<LogPosition | undefined> {
    await this.done();
    const firstSequence = await this.#firstSequence();
    if (firstSequence === undefined) return undefined;
    const reached = await this.#newest(firstSequence, signal, true);
    if (reached === undefined) this.#ask();
    return reached;
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
    this.#brought.clear();
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

  /** Begins with the newest snapshot that is whole and of this log. @param hasDamage what there is is put away */
  async #newest(
    firstSequence: number,
    signal: AbortSignal,
    hasDamage: boolean,
  ): Promise<LogPosition | undefined> {
    const { clock, index, partition, report } = this.#environment;
    let records: readonly SnapshotRecord[];
    try {
      ({ records } = await index.read(partition));
    } catch (cause) {
      report({ kind: 'unusable', partition, sequence: 0, cause });
      return undefined;
    }
    for (const record of records) {
      const { sequence } = record.position;
      if (!this.#isUsable(record, firstSequence)) continue;
      try {
        await this.#restore(record, signal, hasDamage);
        return record.position;
      } catch (cause) {
        requireWanted(signal);
        const isDamaged = isGone(cause) && !isTruncated(cause);
        const untilMs = clock.monotonicMs() + (isDamaged ? DAMAGED_RETRY_MS : RETRY_MS);
        this.#bad.set(record.manifest.hash, { untilMs, isDamaged });
        report({ kind: 'unusable', partition, sequence, cause });
      }
    }
    return undefined;
  }

  async #restore(record: SnapshotRecord, signal: AbortSignal, hasDamage: boolean): Promise<void> {
    const { blobs, clock, files, partition, report, stream } = this.#environment;
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
      if (this.#brought.get(actor.id) !== actor.hash) await this.#bring(actor, made, signal);
      crashPoint('mid-snapshot-restore');
    }
    await this.#adopt(hasDamage);
    const { sequence } = record.position;
    const tookMs = clock.monotonicMs() - startMs;
    report({ kind: 'restored', partition, sequence, actors: actors.length, bytes: record.bytes, tookMs });
  }

  async #bring(actor: SnapshotActor, made: ActorFolders, signal: AbortSignal): Promise<void> {
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
  async #adopt(hasDamage: boolean): Promise<void> {
    const { files, folder, store } = this.#environment;
    if (hasDamage) await store.putAwayDamaged();
    const actors = join(folder, 'actors');
    const replaced = this.#replacedFolder;
    // One that failed half way has put it there.
    this.#carryKept();
    await rm(replaced, { recursive: true, force: true });
    if ((await files.readdir(folder)).includes('actors')) await rename(actors, replaced);
    crashPoint('mid-snapshot-adopt');
    await rename(join(this.#workFolder, 'actors'), actors);
    await files.syncDirectory(folder);
    crashPoint('after-snapshot-adopt');
    this.#carryKept();
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
