import { DeliverPolicy, type JetStreamClient, jetstream } from '@nats-io/jetstream';
import { errors, type NatsConnection } from '@nats-io/transport-node';
import { type LogSeal, sealInHeaders, STORED_SEAL_HEADER } from '#cluster/seal/log-seal.ts';
import type { AppendChannel } from './append-channel.ts';
import { logUnavailable } from './log-errors.ts';
import type { AppendOutcome, LogStream, StoredMessage, StreamState } from './log-stream.ts';

/** Maximum time of one request to the servers, in milliseconds. */
const REQUEST_MS_MAX = 2000;

/** Number of concurrent requests while a range is read. */
const FETCHES_IN_FLIGHT = 32;

/**
 * Messages requested in advance while following. The limit is not in bytes: a server ends a request that the next
 * message does not fit into, and the client starts again only after missed heartbeats.
 */
const FOLLOW_MESSAGES_MAX = 128;

/** Number of outstanding messages below which more are requested. */
const FOLLOW_MESSAGES_LOW = 96;

/** Interval of a consumer's heartbeats, in milliseconds; two missed ones end the following. */
const HEARTBEAT_MS = 1000;

const STREAM_NOT_FOUND = 10_059;
const NO_MESSAGE = 10_037;

/** An error in a reply of the JetStream API. */
interface ApiError {
  readonly code?: number;
  readonly err_code?: number;
  readonly description?: string;
}

/** The fields of the API's stream information that are read. */
interface StreamInfoAnswer {
  readonly error?: ApiError;
  readonly created?: string;
  readonly state?: { readonly first_seq: number; readonly last_seq: number; readonly bytes?: number };
  readonly cluster?: { readonly leader?: string; readonly replicas?: readonly { readonly name: string }[] };
}

/** The API's reply with a message. */
interface MessageAnswer {
  readonly error?: ApiError;
  readonly message?: {
    readonly seq: number;
    readonly data?: string;
    readonly hdrs?: string;
    readonly time: string;
  };
}

/** The API's reply to an operation. */
interface PlainAnswer {
  readonly error?: ApiError;
}

/**
 * One partition's stream in JetStream. Requests go to the `$JS.API` subjects that only the leader of the stream
 * answers, because direct reads may come from a lagging replica.
 *
 * @see docs/partition-log.md#the-fence; docs/partition-log.md#followers
 */
export class JetStreamLogStream implements LogStream {
  readonly #connection: NatsConnection;
  readonly #channel: AppendChannel;
  readonly #name: string;
  readonly #subject: string;
  readonly #seal: LogSeal | undefined;
  readonly #jetStream: JetStreamClient;

  /**
   * @param channel of that connection; shared by all partitions
   * @param name of the stream
   * @param subject its only one
   * @param seal of the members; without one nothing is sealed, and all messages are accepted
   */
  constructor(
    connection: NatsConnection,
    channel: AppendChannel,
    name: string,
    subject: string,
    seal?: LogSeal,
  ) {
    this.#connection = connection;
    this.#channel = channel;
    this.#name = name;
    this.#subject = subject;
    this.#seal = seal;
    this.#jetStream = jetstream(connection, { timeout: REQUEST_MS_MAX });
  }

  get isConnected(): boolean {
    return this.#channel.isConnected;
  }

  append(expected: number, bytes: Buffer): Promise<AppendOutcome> {
    const seal = this.#seal?.seal(this.#name, expected + 1, bytes);
    return this.#channel.append(this.#name, this.#subject, expected, bytes, seal);
  }

  async state(): Promise<StreamState> {
    const answer = await this.#ask<StreamInfoAnswer>(`$JS.API.STREAM.INFO.${this.#name}`, '');
    const { error, created, state, cluster } = answer;
    if (error?.err_code === STREAM_NOT_FOUND)
      return { identity: '', firstSequence: 1, lastSequence: 0, bytes: 0, leader: '', servers: [] };
    if (error !== undefined || state === undefined || created === undefined)
      throw logUnavailable(error?.description ?? 'an answer without a state');
    // A single server has no cluster; a cluster without a leader gives no certain answer.
    if (cluster !== undefined && (cluster.leader ?? '') === '')
      throw logUnavailable('the stream has no leader');
    const leader = cluster?.leader ?? '';
    return {
      identity: `${this.#name}@${created}`,
      firstSequence: state.first_seq,
      lastSequence: state.last_seq,
      bytes: state.bytes ?? 0,
      leader,
      servers: [leader, ...(cluster?.replicas ?? []).map(({ name }) => name)],
    };
  }

  async fetch(sequence: number): Promise<StoredMessage | undefined> {
    const query = JSON.stringify({ seq: sequence });
    const answer = await this.#ask<MessageAnswer>(`$JS.API.STREAM.MSG.GET.${this.#name}`, query);
    const { error, message } = answer;
    if (error?.err_code === NO_MESSAGE) return undefined;
    if (error !== undefined || message === undefined)
      throw logUnavailable(error?.description ?? 'an answer without a message');
    const { data = '', hdrs, time, seq } = message;
    return this.#stored(seq, Buffer.from(data, 'base64'), Date.parse(time), sealInHeaders(hdrs));
  }

  async *range(first: number, last: number): AsyncGenerator<StoredMessage, void, void> {
    const asked: Promise<StoredMessage | undefined>[] = [];
    let next = first;
    for (let sequence = first; sequence <= last; sequence += 1) {
      for (; next <= last && asked.length < FETCHES_IN_FLIGHT; next += 1) {
        const fetched = this.fetch(next);
        // A reader that stops early leaves the other requests unawaited.
        fetched.catch(() => undefined);
        asked.push(fetched);
      }
      const message = await asked.shift();
      if (message === undefined) return;
      yield message;
    }
  }

  async *follow(first: number, signal: AbortSignal): AsyncGenerator<StoredMessage, void, void> {
    if (signal.aborted) return;
    // The client would continue with the same consumer, for which the lost messages count as delivered. Only the next
    // message, which may never come, would reveal the gap.
    const lost = new AbortController();
    const forget = this.#channel.onLost(() => lost.abort());
    const over = AbortSignal.any([signal, lost.signal]);
    try {
      const consumer = await this.#jetStream.consumers.get(this.#name, {
        deliver_policy: DeliverPolicy.StartSequence,
        opt_start_seq: first,
      });
      const messages = await consumer.consume({
        max_messages: FOLLOW_MESSAGES_MAX,
        threshold_messages: FOLLOW_MESSAGES_LOW,
        idle_heartbeat: HEARTBEAT_MS,
        abort_on_missing_resource: true,
      });
      const stop = (): void => messages.stop();
      over.addEventListener('abort', stop, { once: true });
      // Aborted while the consumer was created: otherwise it would run on, and an idle log would not end it.
      if (over.aborted) stop();
      void (async () => {
        // The client would restart by itself unnoticed; here it is restarted after the last received message.
        for await (const { type } of messages.status())
          if (type === 'heartbeats_missed' || type === 'ordered_consumer_recreated') messages.stop();
      })();
      try {
        for await (const message of messages) {
          const { data } = message;
          const bytes = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
          const storedMs = Math.floor(message.info.timestampNanos / 1e6);
          yield this.#stored(message.seq, bytes, storedMs, message.headers?.get(STORED_SEAL_HEADER));
        }
      } finally {
        over.removeEventListener('abort', stop);
        messages.stop();
        void consumer.delete().catch(() => undefined);
      }
    } catch (error) {
      throw logUnavailable('the stream cannot be followed', error);
    } finally {
      forget();
    }
  }

  async truncate(before: number): Promise<void> {
    const query = JSON.stringify({ seq: before });
    const { error } = await this.#ask<PlainAnswer>(`$JS.API.STREAM.PURGE.${this.#name}`, query);
    if (error !== undefined) throw logUnavailable(error.description ?? 'the stream was not truncated');
  }

  async stepDown(): Promise<void> {
    const subject = `$JS.API.STREAM.LEADER.STEPDOWN.${this.#name}`;
    const { error } = await this.#ask<PlainAnswer>(subject, '');
    if (error !== undefined) throw logUnavailable(error.description ?? 'the leader stays');
  }

  #stored(sequence: number, bytes: Buffer, storedMs: number, seal: string | undefined): StoredMessage {
    const isGenuine = this.#seal?.isGenuine(this.#name, sequence, bytes, seal) ?? true;
    return { sequence, bytes, storedMs, ...(isGenuine ? {} : { isForged: true }) };
  }

  async #ask<T extends object>(subject: string, query: string): Promise<T> {
    if (!this.isConnected) throw logUnavailable('no connection to the servers');
    try {
      const answer = await this.#connection.request(subject, query, { timeout: REQUEST_MS_MAX });
      return answer.json<T>();
    } catch (error) {
      const reason = error instanceof errors.TimeoutError ? 'no answer in time' : String(error);
      throw logUnavailable(reason, error);
    }
  }
}
