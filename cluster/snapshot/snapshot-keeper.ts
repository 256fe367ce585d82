import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ActorStore } from '#runtime/actor/store/actor-store.ts';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import type { Blobs } from '#runtime/blobs/ports.ts';
import type { Directory } from '#runtime/directory/ports.ts';
import type { PartitionMember } from '#cluster/ownership/partition-member.ts';
import { isUnavailable } from '#cluster/replication/log-errors.ts';
import type { LogStream, StreamState } from '#cluster/replication/log-stream.ts';
import {
  bytesBetween,
  bestTruncation,
  type TruncationSettings,
  truncateLog,
  isPressed,
} from './log-truncation.ts';
import { cutPartition } from './partition-cut.ts';
import { type RotatedLogs, type RotationStep, rotationStep } from './rotated-logs.ts';
import type { SnapshotReport } from './snapshot-events.ts';
import type { SnapshotIndex } from './snapshot-index.ts';
import type { SnapshotRecord } from './snapshot-manifest.ts';
import type { SnapshotRequest } from './snapshot-requests.ts';
import { snapshotTaker } from './snapshot-taker.ts';
import { sweepSnapshots } from './snapshot-sweep.ts';
import { isGone, SnapshotWriter } from './snapshot-writer.ts';

/** Interval of the checks for pending work, in milliseconds; requests are handled at once. */
const CHECK_MS = 5_000;

/** Time after which a failed snapshot is tried again, in milliseconds. */
const RETRY_MS = 30_000;

/** Maximum time of one snapshot, in milliseconds: its stored files are not swept before. */
const SNAPSHOT_MS_MAX = 6 * 3_600_000;

/** Interval of the sweeps, in milliseconds. */
const SWEEP_MS = 6 * 3_600_000;

/** Minimum number of snapshots while a log grows to its limit, whatever the options. */
const SNAPSHOTS_PER_LOG = 8;

/** Divisor of the growth between two snapshots for a log near its limit. */
const PRESSED_PART = 4;

/** The partition whose owner sweeps for all. */
const SWEEPING_PARTITION = 0;

/** Settings for snapshots. */
export interface KeeperRules {
  /** `[cluster] snapshot_log_bytes`. */
  readonly snapshotLogBytes: number;
  /** `[cluster] log_bytes_max`. */
  readonly logBytesMax: number;
  /** `[cluster] log_keep_ms`. */
  readonly logKeepMs: number;
}

/** Dependencies of the keeper. */
export interface KeeperEnvironment {
  readonly directory: Directory;
  /** Returns this member's side of each partition it has data of. */
  readonly members: () => ReadonlyMap<number, PartitionMember>;
  readonly streamOf: (partition: number) => LogStream;
  /** Returns the folder of a partition with its actors. */
  readonly folderOf: (partition: number) => string;
  readonly storeOf: (partition: number) => ActorStore;
  /** Asks all members for the stored position of each partition. */
  readonly stored: () => Promise<ReadonlyMap<string, ReadonlyMap<number, number>>>;
  readonly blobs: Blobs;
  readonly index: SnapshotIndex;
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly rules: KeeperRules;
  /** Logs whose records of the previous master key have to go; absent when there is no previous key. */
  readonly rotated?: RotatedLogs;
  /** Asks all members for a snapshot of a partition: the one that is to take it does. */
  readonly ask?: (partition: number) => void;
  readonly report: SnapshotReport;
}

/**
 * Takes the snapshots that this member is to take, and truncates the logs it owns; one after the
 * other, because both use disks and network that writers need.
 *
 * @see docs/partition-log.md#snapshots-and-cutting-the-log
 */
export class SnapshotKeeper {
  readonly #environment: KeeperEnvironment;
  readonly #writer: SnapshotWriter;
  /** Partitions with a requested snapshot, and whether it must store everything again. */
  readonly #asked = new Map<number, boolean>();
  /** Time at which a partition whose snapshot failed is tried again. */
  readonly #retryMs = new Map<number, number>();
  readonly #closing = new AbortController();
  #timer: Timer | undefined;
  #checking: Promise<void> = Promise.resolve();
  #isChecking = false;
  #isWanted = false;
  #sweptMs: number;

  constructor(environment: KeeperEnvironment) {
    this.#environment = environment;
    this.#writer = new SnapshotWriter({ ...environment, member: environment.directory.self });
    this.#sweptMs = environment.clock.monotonicMs();
  }

  /** Starts. */
  start(): void {
    this.#checking = this.#clear().catch((cause: unknown) =>
      this.#environment.report({ kind: 'check-failed', cause }),
    );
    this.#schedule(CHECK_MS);
  }

  /** Handles a request for snapshots; a member that is not to take them ignores it. */
  hear({ isWhole, partition }: SnapshotRequest): void {
    const { directory } = this.#environment;
    const all = Array.from({ length: directory.partitions }, (_, each) => each);
    for (const each of partition === undefined ? all : [partition]) {
      this.#asked.set(each, isWhole || this.#asked.get(each) === true);
      this.#retryMs.delete(each);
    }
    this.#schedule(0);
  }

  /** Cancels the work under way. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#timer?.cancel();
    await this.#checking;
  }

  /** Removes files that an earlier process left. */
  async #clear(): Promise<void> {
    const { directory, folderOf } = this.#environment;
    for (let partition = 0; partition < directory.partitions; partition += 1)
      await rm(copiesIn(folderOf(partition)), { recursive: true, force: true });
  }

  #schedule(delayMs: number): void {
    this.#timer?.cancel();
    if (this.#closing.signal.aborted) return;
    this.#timer = this.#environment.clock.after(delayMs, () => {
      this.#isWanted = true;
      if (!this.#isChecking) this.#checking = this.#checking.then(() => this.#checkAll());
    });
  }

  async #checkAll(): Promise<void> {
    this.#isChecking = true;
    while (this.#isWanted && !this.#closing.signal.aborted) {
      this.#isWanted = false;
      try {
        await this.#check();
      } catch (cause) {
        // The next check may reach what was missing, most likely the servers.
        this.#environment.report({ kind: 'check-failed', cause });
      }
    }
    this.#isChecking = false;
    this.#schedule(CHECK_MS);
  }

  async #check(): Promise<void> {
    const { index, members } = this.#environment;
    const entries = await index.all();
    const askStored = once(() => this.#environment.stored());
    for (const [partition, member] of members()) {
      if (this.#closing.signal.aborted) return;
      const records = entries.get(partition)?.records ?? [];
      const isTaker = this.#isTaker(partition, records);
      if (!isTaker) this.#asked.delete(partition);
      if (!isTaker && member.owned === undefined) continue;
      const state = await this.#stateOf(partition);
      if (state === undefined) continue;
      if (isTaker && this.#isDue(partition, state, records)) await this.#take(partition, member, state);
      if (member.owned === undefined) continue;
      const lastOld = this.#environment.rotated?.look(partition, state);
      if (lastOld !== undefined) this.#rotate(partition, member, rotationStep(lastOld, state, records));
      await this.#cut(partition, member, askStored, lastOld);
    }
    if (members().get(SWEEPING_PARTITION)?.owned !== undefined) await this.#sweep();
  }

  #isTaker(partition: number, records: readonly SnapshotRecord[]): boolean {
    const { directory } = this.#environment;
    const warm = new Set(
      directory
        .members()
        .flatMap(({ id, isSuspect, warm: some }) => (!isSuspect && some.includes(partition) ? [id] : [])),
    );
    const holders = {
      owner: directory.ownerOf(partition)?.id,
      warmFollowers: directory.followersOf(partition).flatMap(({ id }) => (warm.has(id) ? [id] : [])),
    };
    return snapshotTaker(holders, records[0]?.member) === directory.self;
  }

  async #stateOf(partition: number): Promise<StreamState | undefined> {
    try {
      return await this.#environment.streamOf(partition).state();
    } catch (error) {
      if (isUnavailable(error)) return undefined;
      throw error;
    }
  }

  /** The owner alone decides: another member may have seen a different end of the log when the keys were agreed on. */
  #rotate(partition: number, { owned }: PartitionMember, step: RotationStep): void {
    if (step === 'record') owned?.log.probe();
    else if (step === 'snapshot') this.#environment.ask?.(partition);
  }

  #isDue(partition: number, state: StreamState, records: readonly SnapshotRecord[]): boolean {
    const { clock, rules } = this.#environment;
    if (clock.monotonicMs() < (this.#retryMs.get(partition) ?? 0)) return false;
    if (this.#asked.has(partition)) return true;
    const newest = records.find(({ position }) => position.identity === state.identity);
    const grown = bytesBetween(state, (newest?.position.sequence ?? 0) + 1, state.lastSequence);
    const step = Math.min(rules.snapshotLogBytes, rules.logBytesMax / SNAPSHOTS_PER_LOG);
    return grown >= (isPressed(state, rules.logBytesMax) ? step / PRESSED_PART : step);
  }

  async #take(partition: number, member: PartitionMember, state: StreamState): Promise<void> {
    const { clock, folderOf, report, storeOf } = this.#environment;
    const isWhole = this.#asked.get(partition) === true;
    this.#asked.delete(partition);
    const overdue = new AbortController();
    const timer = clock.after(SNAPSHOT_MS_MAX, () => overdue.abort());
    const signal = AbortSignal.any([this.#closing.signal, overdue.signal]);
    const source = {
      partition,
      identity: state.identity,
      store: storeOf(partition),
      folder: copiesIn(folderOf(partition)),
      cut: (options: Parameters<typeof cutPartition>[1]) => cutPartition(member, options),
    };
    try {
      await this.#writer.take(source, isWhole, signal);
    } catch (cause) {
      if (this.#closing.signal.aborted) return;
      this.#retryMs.set(partition, clock.monotonicMs() + RETRY_MS);
      // The snapshot it builds on has changed.
      if (isGone(cause)) this.#asked.set(partition, true);
      report({ kind: 'not-taken', partition, cause });
    } finally {
      timer.cancel();
    }
  }

  async #cut(
    partition: number,
    member: PartitionMember,
    askStored: () => ReturnType<KeeperEnvironment['stored']>,
    lastOld: number | undefined,
  ): Promise<void> {
    const { clock, directory, index, report, rules, streamOf } = this.#environment;
    const stream = streamOf(partition);
    try {
      const { records } = await index.read(partition);
      const state = await stream.state();
      const ownerStored = member.storedSequence;
      // Without the positions of the others nothing could be truncated.
      if (bestTruncation({ state, records, ownerStored, followers: [] }).before === undefined) return;
      const stored = await askStored();
      const followers = directory
        .followersOf(partition)
        .map(({ id }) => ({ member: id, stored: stored.get(id)?.get(partition) }));
      const facts = { partition, stream, state, records, followers, ownerStored };
      if (member.owned === undefined) return;
      const settings = { ...truncationSettings(rules), lastOld };
      const firstSequence = await truncateLog(facts, settings, clock);
      if (firstSequence !== undefined) report({ kind: 'log-cut', partition, firstSequence });
    } catch (cause) {
      if (!isUnavailable(cause)) report({ kind: 'log-not-cut', partition, cause });
    }
  }

  async #sweep(): Promise<void> {
    const { blobs, clock, directory, index } = this.#environment;
    if (clock.monotonicMs() - this.#sweptMs < SWEEP_MS) return;
    this.#sweptMs = clock.monotonicMs();
    const { partitions } = directory;
    const firstSequenceOf = async (partition: number): Promise<number | undefined> =>
      (await this.#stateOf(partition))?.firstSequence;
    await sweepSnapshots({ blobs, index, clock, partitions, firstSequenceOf });
  }
}

function truncationSettings({ logBytesMax, logKeepMs, snapshotLogBytes }: KeeperRules): TruncationSettings {
  const step = Math.min(snapshotLogBytes, logBytesMax / SNAPSHOTS_PER_LOG);
  return { bytesMax: logBytesMax, keepMs: logKeepMs, gainBytes: step / PRESSED_PART };
}

/** Returns the folder for the copies of a partition until they are stored. */
function copiesIn(folder: string): string {
  return join(folder, 'snapshot');
}

/** Returns a function that asks only once. */
function once<T>(ask: () => Promise<T>): () => Promise<T> {
  let asked: Promise<T> | undefined;
  return () => {
    asked ??= ask();
    return asked;
  };
}
