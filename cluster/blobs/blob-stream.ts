import {
  jetstream,
  type JetStreamClient,
  type JetStreamManager,
  jetstreamManager,
  StorageType,
} from '@nats-io/jetstream';
import { Objm } from '@nats-io/obj';
import { headers, type NatsConnection } from '@nats-io/transport-node';
import type { Clock } from '#runtime/base/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { patiently } from '#cluster/nats/patience.ts';

/** Time one request may take, in milliseconds. */
const REQUEST_MS_MAX = 5_000;

/** A stored message. */
export interface StoredMessage {
  readonly data: Uint8Array;
  readonly sequence: number;
  readonly timeMs: number;
}

/** What a stream is worked with. */
export interface BlobStreamEnvironment {
  readonly connection: NatsConnection;
  readonly bucket: string;
  /** Servers that hold it. */
  readonly replicas: number;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * The stream behind a bucket of bytes, with every request repeated while the servers elect a leader. All of them can
 * be: what is published carries an id that the servers know it by for two minutes.
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
   * Makes the bucket, or finds it.
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
   * @param id names the message; storing it again stores nothing
   * @param replaces whether it takes the place of what is under the subject
   */
  async publish(subject: string, data: Uint8Array, id: string, replaces = false): Promise<number> {
    return this.#patiently(async () => {
      const own = headers();
      if (replaces) own.set('Nats-Rollup', 'sub');
      const { seq } = await this.#client.publish(subject, data, { msgID: id, headers: own });
      return seq;
    });
  }

  /** The newest message under a subject, as the leader knows it. */
  async last(subject: string): Promise<StoredMessage | undefined> {
    const found = await this.#patiently(() =>
      this.#manager.streams.getMessage(this.#stream, { last_by_subj: subject }),
    );
    return found === null
      ? undefined
      : { data: found.data, sequence: found.seq, timeMs: found.time.getTime() };
  }

  /**
   * The message of a sequence.
   *
   * @param isThorough asks the leader; else any replica may answer, quicker, and may not have it yet
   */
  async message(sequence: number, isThorough: boolean): Promise<Uint8Array | undefined> {
    const { direct, streams } = this.#manager;
    const query = { seq: sequence };
    const found = isThorough
      ? await this.#patiently(() => streams.getMessage(this.#stream, query))
      : await direct.getMessage(this.#stream, query).catch(() => null);
    return found === null ? undefined : found.data;
  }

  /** Every subject that has messages, of those a pattern names. */
  async subjects(pattern: string): Promise<readonly string[]> {
    const info = await this.#patiently(() =>
      this.#manager.streams.info(this.#stream, { subjects_filter: pattern }),
    );
    return Object.keys(info.state.subjects ?? {});
  }

  /**
   * Removes what is under a subject.
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
