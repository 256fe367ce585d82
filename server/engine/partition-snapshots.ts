import { join } from 'node:path';
import type { SeenLog } from '#protocols/rest/ports.ts';
import { ActorStore } from '#runtime/actor/store/actor-store.ts';
import { sleep } from '#runtime/base/time/clock.ts';
import type { Directory } from '#runtime/directory/ports.ts';
import { NatsBlobs } from '#cluster/blobs/nats-blobs.ts';
import type { ColdStart } from '#cluster/ownership/cold-start.ts';
import type { PartitionMember } from '#cluster/ownership/partition-member.ts';
import type { Subjects } from '#cluster/nats/subjects.ts';
import type { LogStream } from '#cluster/replication/log-stream.ts';
import { NatsSnapshotIndex } from '#cluster/snapshot/nats-snapshot-index.ts';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';
import type { RotatedLogs } from '#cluster/snapshot/rotated-logs.ts';
import { SnapshotKeeper } from '#cluster/snapshot/snapshot-keeper.ts';
import type { SnapshotReport } from '#cluster/snapshot/snapshot-events.ts';
import { SnapshotRequests } from '#cluster/snapshot/snapshot-requests.ts';
import { SnapshotRestore } from '#cluster/snapshot/snapshot-restore.ts';
import type { EngineEnvironment } from './engine.ts';
import { PositionExchange } from '#server/status/position-exchange.ts';
import { logSealOf } from './member-link.ts';
import { snapshotReport } from './snapshot-observer.ts';
import { seenLogs } from '#server/status/snapshots-view.ts';

/**
 * Maximum number of attempts to create the bucket and the index: members that start together create them concurrently.
 */
const OPEN_RETRIES_MAX = 5;

/** Time between two attempts, in milliseconds. */
const OPEN_RETRY_MS = 500;

/** Partitions of a member after its start. */
export interface KnownPartitions {
  readonly directory: Directory;
  readonly members: () => ReadonlyMap<number, PartitionMember>;
  readonly streamOf: (partition: number) => LogStream;
}

/** Snapshots of a member of a cluster: it takes them, truncates logs, and starts from them. */
export class PartitionSnapshots {
  readonly #environment: EngineEnvironment;
  readonly #sealed: SealedLink;
  readonly #subjects: Subjects;
  readonly #blobs: NatsBlobs;
  readonly #index: NatsSnapshotIndex;
  readonly #requests: SnapshotRequests;
  readonly #report: SnapshotReport;
  #keeper: SnapshotKeeper | undefined;
  #exchange: PositionExchange | undefined;

  private constructor(
    environment: EngineEnvironment,
    sealed: SealedLink,
    subjects: Subjects,
    blobs: NatsBlobs,
    index: NatsSnapshotIndex,
  ) {
    this.#environment = environment;
    this.#sealed = sealed;
    this.#subjects = subjects;
    this.#blobs = blobs;
    this.#index = index;
    this.#requests = new SnapshotRequests(sealed, subjects.snapshotRequests);
    this.#report = snapshotReport(environment.metrics, environment.log);
  }

  /** Creates or finds the storage of snapshots. @throws {ServiceError} `OVERLOADED` */
  static async open(
    environment: EngineEnvironment,
    sealed: SealedLink,
    subjects: Subjects,
  ): Promise<PartitionSnapshots> {
    const { clock, options, random } = environment;
    const { partitions, replicas } = options.cluster;
    const { connection } = sealed;
    const common = { connection, replicas, clock, random };
    for (let retries = 0; ; retries += 1) {
      try {
        const blobs = await NatsBlobs.open({ ...common, bucket: subjects.snapshotBucket });
        const index = await NatsSnapshotIndex.open({
          ...common,
          subjects,
          partitions,
          seal: logSealOf(environment),
        });
        return new PartitionSnapshots(environment, sealed, subjects, blobs, index);
      } catch (error) {
        if (retries >= OPEN_RETRIES_MAX) throw error;
      }
      await sleep(clock, OPEN_RETRY_MS);
    }
  }

  /** Returns the source for a partition of this member when its log is not sufficient. */
  coldStart(partition: number, folder: string, store: ActorStore, stream: LogStream): ColdStart {
    const { clock, files, random } = this.#environment;
    return new SnapshotRestore({
      partition,
      folder,
      store,
      stream,
      blobs: this.#blobs,
      index: this.#index,
      files,
      clock,
      random,
      report: this.#report,
      request: (isWhole) => this.#requests.send({ partition, isWhole }),
    });
  }

  /**
   * Starts to take snapshots and to truncate logs.
   *
   * @param folderOf returns the folder of a partition
   * @param rotated absent when there is no previous master key
   */
  start(known: KnownPartitions, folderOf: (partition: number) => string, rotated?: RotatedLogs): void {
    const { clock, files, kinds, options } = this.#environment;
    const { logBytesMax, logKeepMs, snapshotLogBytes } = options.cluster;
    const exchange = new PositionExchange({
      sealed: this.#sealed,
      clock,
      subject: this.#subjects.storedPositions,
      member: known.directory.self,
      positions: () =>
        new Map(
          [...known.members()].flatMap(([partition, { role, storedSequence }]) =>
            role === 'idle' ? [] : [[partition, storedSequence]],
          ),
        ),
      findings: () => [],
    });
    this.#exchange = exchange;
    this.#keeper = new SnapshotKeeper({
      ...known,
      folderOf,
      storeOf: (partition) => new ActorStore(join(folderOf(partition), 'actors'), kinds, clock),
      stored: async () => (await exchange.ask(known.directory.members().length)).positions,
      blobs: this.#blobs,
      index: this.#index,
      files,
      clock,
      rules: { logBytesMax, logKeepMs, snapshotLogBytes },
      ...(rotated === undefined ? {} : { rotated, ask: (partition) => this.request(partition) }),
      report: this.#report,
    });
    this.#keeper.start();
    this.#requests.listen((request) => this.#keeper?.hear(request));
  }

  /** Asks the members for snapshots. @param partition undefined: of all */
  request(partition: number | undefined): void {
    this.#requests.send({ partition, isWhole: false });
  }

  /** Returns the logs and the newest snapshots, by partition; unknown ones are omitted. */
  async seen({ directory, streamOf }: KnownPartitions): Promise<ReadonlyMap<number, SeenLog>> {
    const told = await this.#exchange?.ask(directory.members().length);
    const { clock, options } = this.#environment;
    return seenLogs({
      directory,
      streamOf,
      stored: told?.positions ?? new Map<string, ReadonlyMap<number, number>>(),
      index: this.#index,
      clock,
      bytesMax: options.cluster.logBytesMax,
    });
  }

  /** Cancels the work under way. */
  async close(): Promise<void> {
    this.#requests.close();
    this.#exchange?.close();
    await this.#keeper?.close();
  }
}
