import {
  jetstream,
  type JetStreamClient,
  type JetStreamManager,
  jetstreamManager,
  StorageType,
} from '@nats-io/jetstream';
import { Objm } from '@nats-io/obj';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { patiently } from '#cluster/nats/patience.ts';

/** Maximum time of one request, in milliseconds. */
const REQUEST_MS_MAX = 5_000;

/** A stored message. */
export interface StoredMessage {
  readonly data: Uint8Array;
  readonly sequence: number;
  readonly timeMs: number;
}

/** Dependencies of a stream. */
export interface BlobStreamEnvironment {
  readonly connection: NatsConnection;
  readonly bucket: string;
  /** Number of replicas. */
  readonly replicas: number;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * The stream of a bucket of blobs. Every request is repeated while the servers elect a leader. That is safe for all of
 * them: a published message has an id that the servers remember for two minutes.
 */
export class BlobStream {
  readonly #environment: BlobStreamEnvironment;
  readonly #client: JetStreamClient;
  readonly #manager: JetStreamManager;
  readonly #stream: string;

  private constructor(environment: BlobStreamEnvironment, manager: JetStreamManager, stream: string) {
    this.#environment = environment;
    this.#client = jetstream(environment.connection, { timeout: REQUEST_MS_MAX });
    this.#manager = manager;
    this.#stream = stream;
  }

  /**
   * Creates or finds the bucket.
   *
   * @param stream its stream
   * @throws {ServiceError} `OVERLOADED` when the servers do not answer
   */
  static async open(environment: BlobStreamEnvironment, stream: string): Promise<BlobStream> {
    const { bucket, connection, replicas } = environment;
    const options = { timeout: REQUEST_MS_MAX };
    const manager = await jetstreamManager(connection, { ...options, checkAPI: false });
    const opened = new BlobStream(environment, manager, stream);
    const store = new Objm(jetstream(connection, options));
    await opened.#patiently(() => store.create(bucket, { replicas, storage: StorageType.File }));
    return opened;
  }

  /**
   * Stores a message. @returns its sequence
   *
   * @param id identifies the message; storing it again has no effect
   * @param replaces whether it replaces the messages of the subject
   */
  async publish(subject: string, data: Uint8Array, id: string, replaces = false): Promise<number> {
    return this.#patiently(async () => {
      const own = headers();
      if (replaces) own.set('Nats-Rollup', 'sub');
      const { seq } = await this.#client.publish(subject, data, { msgID: id, headers: own });
      return seq;
    });
  }

  /** Returns the newest message of a subject, as the leader has it. */
  async last(subject: string): Promise<StoredMessage | undefined> {
    const found = await this.#patiently(() =>
      this.#manager.streams.getMessage(this.#stream, { last_by_subj: subject }),
    );
    return found === null
      ? undefined
      : { data: found.data, sequence: found.seq, timeMs: found.time.getTime() };
  }

  /**
   * Returns the message of a sequence.
   *
   * @param isThorough asks the leader; otherwise any replica may answer, which is faster but may not have it yet
   */
  async message(sequence: number, isThorough: boolean): Promise<Uint8Array | undefined> {
    const { direct, streams } = this.#manager;
    const query = { seq: sequence };
    const found = isThorough
      ? await this.#patiently(() => streams.getMessage(this.#stream, query))
      : await direct.getMessage(this.#stream, query).catch(() => null);
    return found === null ? undefined : found.data;
  }

  /** Returns every subject that matches a pattern and has messages. */
  async subjects(pattern: string): Promise<readonly string[]> {
    const info = await this.#patiently(() =>
      this.#manager.streams.info(this.#stream, { subjects_filter: pattern }),
    );
    return Object.keys(info.state.subjects ?? {});
  }

  /**
   * Removes the messages of a subject.
   *
   * @param before only messages before this sequence
   */
  async purge(subject: string, before?: number): Promise<void> {
    await this.#patiently(() =>
      this.#manager.streams.purge(this.#stream, {
        filter: subject,
        ...(before === undefined ? {} : { seq: before }),
      }),
    );
  }

  #patiently<T>(request: () => Promise<T>): Promise<T> {
    return patiently({ ...this.#environment, what: 'The store of assets' }, request);
  }
}
