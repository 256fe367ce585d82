import {
  DiscardPolicy,
  type JetStreamClient,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  jetstream,
  jetstreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { patiently } from '#cluster/nats/patience.ts';
import type { Subjects } from '#cluster/nats/subjects.ts';
import { type LogSeal, STORED_SEAL_HEADER } from '#cluster/seal/log-seal.ts';
import type { IndexEntry, SnapshotIndex } from './snapshot-index.ts';
import { decodeRecords, encodeRecords, type SnapshotRecord } from './snapshot-manifest.ts';

/** Maximum time of one request, in milliseconds. */
const REQUEST_MS_MAX = 5_000;

/** Maximum number of retries of a change after concurrent changes of other partitions. */
const RETRIES_MAX = 100;

/** Number of concurrent lookups while all partitions are read. */
const LOOKUPS = 16;

/** "wrong last sequence", and that another append with the same expectation is under way. */
const WRONG_SEQUENCE: ReadonlySet<number> = new Set([10_071, 10_164]);

/** Dependencies of the index. */
export interface SnapshotIndexEnvironment {
  readonly connection: NatsConnection;
  readonly subjects: Subjects;
  readonly partitions: number;
  /** Number of replicas. */
  readonly replicas: number;
  readonly clock: Clock;
  readonly random: Random;
  /** Seal of the members. */
  readonly seal: LogSeal;
}

/** Codes of refusals of a stream that another member is making: its name, or its subject, is taken. */
const TAKEN: ReadonlySet<number> = new Set([10_058, 10_065]);

/** How often a stream that another member is making is looked for, and how long apart, in milliseconds. */
const LOOKS_MAX = 50;
const LOOK_AGAIN_MS = 100;

const none: IndexEntry = Object.freeze({ records: [], version: 0 });

/**
 * The index in a stream of its own. The newest message of a partition's subject contains its complete entry, so
 * that two snapshots are replaced in one step. A change states the last sequence of the whole stream, the only
 * condition that servers from 2.9.10 on check correctly; a concurrent change of another partition costs a retry.
 *
 * @see docs/partition-log.md#the-fence; docs/partition-log.md#snapshots-and-cutting-the-log
 */
export class NatsSnapshotIndex implements SnapshotIndex {
  readonly #environment: SnapshotIndexEnvironment;
  readonly #client: JetStreamClient;
  readonly #manager: JetStreamManager;
  readonly #stream: string;
  #all: ReadonlyMap<number, IndexEntry> = new Map();
  /** Last sequence of the stream when all entries were read. */
  #allSequence = 0;

  private constructor(environment: SnapshotIndexEnvironment, manager: JetStreamManager) {
    this.#environment = environment;
    this.#client = jetstream(environment.connection, { timeout: REQUEST_MS_MAX });
    this.#manager = manager;
    this.#stream = environment.subjects.snapshotIndex;
  }

  /** Creates or finds the stream. @throws {ServiceError} `OVERLOADED` when the servers do not answer */
  static async open(environment: SnapshotIndexEnvironment): Promise<NatsSnapshotIndex> {
    const manager = await jetstreamManager(environment.connection, {
      timeout: REQUEST_MS_MAX,
      checkAPI: false,
    });
    const index = new NatsSnapshotIndex(environment, manager);
    await index.#patiently(() => index.#findOrMake());
    return index;
  }

  async read(partition: number): Promise<IndexEntry> {
    const subject = this.#environment.subjects.snapshots(partition);
    const found = await this.#patiently(() =>
      this.#manager.streams.getMessage(this.#stream, { last_by_subj: subject }),
    );
    if (found === null) return none;
    const seal = found.header.get(STORED_SEAL_HEADER);
    // A forged entry is ignored; the next one replaces it. Its sequence is unknown before it is stored, so the seal
    // has 0.
    if (!this.#environment.seal.isGenuine(subject, 0, found.data, seal))
      return { records: [], version: found.seq };
    return { records: decodeRecords(found.data), version: found.seq };
  }

  async replace(partition: number, version: number, records: readonly SnapshotRecord[]): Promise<boolean> {
    const bytes = encodeRecords(records);
    const subject = this.#environment.subjects.snapshots(partition);
    for (let retries = 0; retries < RETRIES_MAX; retries += 1) {
      // The end of the stream is read first: later messages make the append fail.
      const lastSequence = await this.#lastSequence();
      const now = await this.read(partition);
      if (now.version !== version) return isSame(now.records, records);
      try {
        const sealed = headers();
        sealed.set(STORED_SEAL_HEADER, this.#environment.seal.seal(subject, 0, bytes));
        await this.#client.publish(subject, bytes, { expect: { lastSequence }, headers: sealed });
        return true;
      } catch (error) {
        const isRefused = error instanceof JetStreamApiError && !WRONG_SEQUENCE.has(error.code);
        if (isRefused && error.status !== 503) throw error;
        // Another member was first, or the outcome is unknown: the next attempt shows it.
      }
    }
    throw new ServiceError('OVERLOADED', 'The index of snapshots cannot be changed; try again');
  }

  async all(): Promise<ReadonlyMap<number, IndexEntry>> {
    const lastSequence = await this.#lastSequence();
    if (lastSequence === this.#allSequence) return this.#all;
    const { partitions } = this.#environment;
    const all = new Map<number, IndexEntry>();
    for (let first = 0; first < partitions; first += LOOKUPS) {
      const numbers = Array.from({ length: Math.min(LOOKUPS, partitions - first) }, (_, at) => first + at);
      const found = await Promise.all(numbers.map((partition) => this.#readable(partition)));
      for (const [at, entry] of found.entries()) if (entry !== undefined) all.set(first + at, entry);
    }
    this.#all = all;
    this.#allSequence = lastSequence;
    return all;
  }

  async #readable(partition: number): Promise<IndexEntry | undefined> {
    try {
      return await this.read(partition);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'DATA_CORRUPTED') return undefined;
      throw error;
    }
  }

  async #lastSequence(): Promise<number> {
    const info = await this.#patiently(() => this.#manager.streams.info(this.#stream));
    return info.state.last_seq;
  }

  async #findOrMake(): Promise<void> {
    for (let looks = 0; !(await this.#isThere()); looks += 1) {
      if (looks > 0) await sleep(this.#environment.clock, LOOK_AGAIN_MS);
      try {
        await this.#make();
      } catch (error) {
        // Another member is making it, and it is not listed yet.
        const isTaken = error instanceof JetStreamApiError && TAKEN.has(error.code);
        if (!isTaken || looks === LOOKS_MAX) throw error;
      }
    }
  }

  async #isThere(): Promise<boolean> {
    try {
      await this.#manager.streams.info(this.#stream);
      return true;
    } catch (error) {
      if (error instanceof JetStreamApiError && error.code === JetStreamApiCodes.StreamNotFound) return false;
      throw error;
    }
  }

  async #make(): Promise<void> {
    await this.#manager.streams.add({
      name: this.#stream,
      subjects: [this.#environment.subjects.allSnapshots],
      num_replicas: this.#environment.replicas,
      retention: RetentionPolicy.Limits,
      storage: StorageType.File,
      discard: DiscardPolicy.Old,
      max_msgs_per_subject: 1,
    } as Partial<StreamConfig> & { name: string });
  }

  #patiently<T>(request: () => Promise<T>): Promise<T> {
    return patiently({ ...this.#environment, what: 'The index of snapshots' }, request);
  }
}

/** Returns whether a change whose reply was lost is the stored one. */
function isSame(found: readonly SnapshotRecord[], wanted: readonly SnapshotRecord[]): boolean {
  const [one, other] = [found[0]?.manifest.hash, wanted[0]?.manifest.hash];
  return one === other && found[0]?.takenAtMs === wanted[0]?.takenAtMs;
}
