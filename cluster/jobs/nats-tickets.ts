import {
  AckPolicy,
  type Consumer,
  DeliverPolicy,
  DiscardPolicy,
  type JetStreamClient,
  type JsMsg,
  jetstream,
  jetstreamManager,
  ReplayPolicy,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from '@nats-io/jetstream';
import type { NatsConnection, Subscription } from '@nats-io/transport-node';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { JobScope } from '#runtime/jobs/ports.ts';
import type { JobTicket, JobTickets } from '#runtime/jobs/tickets.ts';
import { ensureStream } from '#cluster/nats/streams.ts';
import type { Subjects } from '#cluster/nats/subjects.ts';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';
import { ensureTicketConsumer } from './ticket-consumer.ts';
import { decodeTicket, encodeTicket } from './ticket-format.ts';

/** Settings of the tickets of a cluster. */
export interface TicketSettings {
  /** Number of replicas of each stream; 3 or 5; 1 only in tests. */
  readonly replicas: number;
  /** Time after which a ticket without a sign of life is delivered again, in milliseconds: the lease of a job. */
  readonly leaseMs: number;
}

/** Dependencies of the tickets. */
export interface TicketEnvironment {
  readonly sealed: SealedLink;
  readonly subjects: Subjects;
  readonly settings: TicketSettings;
  readonly clock: Clock;
  /** Called once per outage when the servers do not deliver tickets, and for messages that are not tickets. */
  readonly report: (problem: string, cause: unknown) => void;
}

/** Name of the consumer from which all members take tickets. */
const CONSUMER = 'workers';

/** Maximum size of all tickets together, in bytes: some hundred thousand of them. The servers reserve it. */
const STREAM_BYTES_MAX: number = 64 * 1024 * 1024;

/** Time within which a repeated id is the same ticket, in nanoseconds: the servers' default. */
const DUPLICATE_NS = 120_000_000_000;

const NS_PER_MS = 1_000_000;

/** Maximum time of one request, in milliseconds. */
const REQUEST_MS_MAX = 2_000;

/** Time for which the servers keep a pull request, in milliseconds; then it is repeated. */
const PULL_MS = 5_000;

/** Delay before the servers are asked again after a failure, in milliseconds. */
const RETRY_MS = 1_000;

/** Delay before a ticket of a newer version is delivered to another member, in milliseconds. */
const NEWER_MS = 5_000;

/**
 * Returns the settings of the ticket stream: a work queue, from which each ticket is removed when it is acknowledged.
 * Tickets do not expire, so a job waits as long as necessary. When the stream is full an issue is refused and
 * repeated.
 */
function ticketStream(subjects: Subjects, { replicas }: TicketSettings): StreamConfig {
  return {
    name: subjects.jobStream,
    subjects: [subjects.jobTickets],
    retention: RetentionPolicy.Workqueue,
    storage: StorageType.File,
    num_replicas: replicas,
    discard: DiscardPolicy.New,
    max_bytes: STREAM_BYTES_MAX,
    max_msgs: -1,
    max_msgs_per_subject: -1,
    max_age: 0,
    duplicate_window: DUPLICATE_NS,
    allow_direct: false,
  } as StreamConfig;
}

/** A pull request for one ticket. It outlives its caller: the next caller takes it over. */
interface Pull {
  wanted: ((message: JsMsg | null) => void) | undefined;
}

/**
 * Tickets in JetStream: one work-queue stream, and one durable consumer that all members pull from, whatever the
 * number of repositories, types and members.
 *
 * A ticket may be delivered any number of times. The jobs actor counts the attempts of a *job*, because it knows of
 * retries that do not count (a worker that stops on purpose) and of dead letters.
 *
 * @see docs/partition-log.md#streams-and-servers
 * @see docs/decisions/0022-tickets-for-jobs.md
 */
export class NatsTickets implements JobTickets {
  readonly #sealed: SealedLink;
  readonly #connection: NatsConnection;
  readonly #subjects: Subjects;
  readonly #clock: Clock;
  readonly #report: TicketEnvironment['report'];
  readonly #jetStream: JetStreamClient;
  readonly #cancelled: Subscription[] = [];
  #consumer: Promise<Consumer> | undefined;
  /** Pull requests without a caller. */
  readonly #idle = new Set<Pull>();
  #isFailing = false;
  #isClosed = false;

  private constructor({ clock, report, sealed, subjects }: TicketEnvironment) {
    const { connection } = sealed;
    this.#sealed = sealed;
    this.#connection = connection;
    this.#subjects = subjects;
    this.#clock = clock;
    this.#report = report;
    this.#jetStream = jetstream(connection, { timeout: REQUEST_MS_MAX });
  }

  /**
   * Creates the stream and its consumer if they do not exist.
   *
   * @throws {OptionError} when the stream has other settings, or cannot be created in time
   */
  static async open(environment: TicketEnvironment): Promise<NatsTickets> {
    const { clock, sealed, settings, subjects } = environment;
    const { connection } = sealed;
    const isMaker = await ensureStream(connection, ticketStream(subjects, settings), clock);
    const manager = await jetstreamManager(connection, { timeout: REQUEST_MS_MAX, checkAPI: false });
    const wanted = {
      durable_name: CONSUMER,
      ack_policy: AckPolicy.Explicit,
      ack_wait: settings.leaseMs * NS_PER_MS,
      deliver_policy: DeliverPolicy.All,
      replay_policy: ReplayPolicy.Instant,
      max_deliver: -1,
      // Delayed tickets count as delivered; new ones must not wait behind them.
      max_ack_pending: -1,
    };
    await ensureTicketConsumer(manager, subjects.jobStream, wanted, isMaker, clock);
    return new NatsTickets(environment);
  }

  async issue(scope: JobScope, id: string): Promise<void> {
    const { jobStream: streamName, jobTickets } = this.#subjects;
    const options = { msgID: id, timeout: REQUEST_MS_MAX, expect: { streamName } };
    await this.#jetStream.publish(jobTickets, encodeTicket({ scope, id }), options);
  }

  async take(signal: AbortSignal): Promise<JobTicket | undefined> {
    while (!signal.aborted && !this.#isClosed) {
      const message = await this.#next(signal);
      if (message === null) continue;
      const fields = decodeTicket(message.data);
      if (fields === 'newer') message.nak(NEWER_MS);
      else if (fields === undefined) {
        this.#report('a message that is not a ticket was removed', message.seq);
        message.term();
      } else return new NatsTicket(this.#connection, message, fields.scope);
    }
    return undefined;
  }

  tellCancelled(id: string): void {
    this.#sealed.publish(this.#subjects.cancelledJobs, id);
  }

  onCancelled(hear: (id: string) => void): void {
    const { cancelledJobs } = this.#subjects;
    this.#cancelled.push(this.#sealed.subscribe(cancelledJobs, (message) => hear(message.string())));
  }

  close(): void {
    this.#isClosed = true;
    for (const subscription of this.#cancelled) subscription.unsubscribe();
  }

  /** Returns the next message; null when none arrived for a while or the signal aborted. */
  #next(signal: AbortSignal): Promise<JsMsg | null> {
    const [idle] = this.#idle;
    const pull = idle ?? this.#pull();
    this.#idle.delete(pull);
    return new Promise((resolve) => {
      const giveUp = (): void => {
        pull.wanted = undefined;
        this.#idle.add(pull);
        resolve(null);
      };
      pull.wanted = (message) => {
        signal.removeEventListener('abort', giveUp);
        resolve(message);
      };
      signal.addEventListener('abort', giveUp, { once: true });
    });
  }

  #pull(): Pull {
    const pull: Pull = { wanted: undefined };
    void this.#ask().then((message) => {
      this.#idle.delete(pull);
      if (pull.wanted !== undefined) pull.wanted(message);
      // No caller wants it any more.
      else if (!this.#connection.isClosed()) message?.nak();
    });
    return pull;
  }

  /** Never rejects. */
  async #ask(): Promise<JsMsg | null> {
    try {
      this.#consumer ??= this.#jetStream.consumers.get(this.#subjects.jobStream, CONSUMER);
      const message = await (await this.#consumer).next({ expires: PULL_MS });
      this.#isFailing = false;
      return message;
    } catch (cause) {
      this.#consumer = undefined;
      if (this.#isClosed) return null;
      if (!this.#isFailing) this.#report('no job can be taken while NATS does not answer', cause);
      this.#isFailing = true;
      await sleep(this.#clock, RETRY_MS);
      return null;
    }
  }
}

class NatsTicket implements JobTicket {
  readonly scope: JobScope;
  readonly deliveries: number;
  readonly #connection: NatsConnection;
  readonly #message: JsMsg;

  constructor(connection: NatsConnection, message: JsMsg, scope: JobScope) {
    this.#connection = connection;
    this.scope = scope;
    this.deliveries = message.info.deliveryCount;
    this.#message = message;
  }

  working(): void {
    if (!this.#connection.isClosed()) this.#message.working();
  }

  used(): void {
    if (!this.#connection.isClosed()) this.#message.ack();
  }

  again(afterMs: number): void {
    if (!this.#connection.isClosed()) this.#message.nak(Math.round(afterMs));
  }
}
