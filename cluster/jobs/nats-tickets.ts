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
import { type Clock, sleep } from '#runtime/base/clock.ts';
import type { JobScope } from '#runtime/jobs/ports.ts';
import type { JobTicket, JobTickets } from '#runtime/jobs/tickets.ts';
import { ensureStream } from '#cluster/nats/streams.ts';
import type { Subjects } from '#cluster/nats/subjects.ts';
import type { SealedLink } from '#cluster/seal/sealed-link.ts';
import { ensureTicketConsumer } from './ticket-consumer.ts';
import { decodeTicket, encodeTicket } from './ticket-format.ts';

/** How the tickets of a cluster are kept. */
export interface TicketSettings {
  /** Servers that hold each; 3, or 5; 1 in tests only. */
  readonly replicas: number;
  /** Time a ticket is nobody else's without a sign of life, in milliseconds: the lease of a job. */
  readonly leaseMs: number;
}

/** What tickets work with. */
export interface TicketEnvironment {
  readonly sealed: SealedLink;
  readonly subjects: Subjects;
  readonly settings: TicketSettings;
  readonly clock: Clock;
  /** Told when the servers cannot be asked for tickets, once until they can, and of what is no ticket. */
  readonly report: (problem: string, cause: unknown) => void;
}

/** Name of the consumer all members take tickets from. */
const CONSUMER = 'workers';

/** Size of all tickets together, in bytes: some hundred thousand of them. The servers reserve it. */
const STREAM_BYTES_MAX: number = 64 * 1024 * 1024;

/** Time within which an id that is issued again is the same ticket, in nanoseconds: the servers' own default. */
const DUPLICATE_NS = 120_000_000_000;

const NS_PER_MS = 1_000_000;

/** Time one request may take, in milliseconds. */
const REQUEST_MS_MAX = 2_000;

/** Time the servers keep a question for a ticket, in milliseconds; then it is asked again. */
const PULL_MS = 5_000;

/** Time after which the servers are asked again when they could not be, in milliseconds. */
const RETRY_MS = 1_000;

/** Time after which a ticket of a newer version is offered to somebody else, in milliseconds. */
const NEWER_MS = 5_000;

/**
 * The stream of tickets: a work queue, from which each goes when it is used up. None ages, so that a job waits as long
 * as it has to; when the stream is full an issue is refused and tried again.
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

/** A question for one ticket. It outlives whoever asked it: the next one takes it over. */
interface Pull {
  wanted: ((message: JsMsg | null) => void) | undefined;
}

/**
 * Tickets in JetStream: one work-queue stream, and one durable consumer all members pull from, whatever the number of
 * repositories, types and members.
 *
 * A ticket is handed out as often as it takes: how often a *job* is tried is counted by its actor, which knows of
 * retries that cost nothing (a worker that stops on purpose) and of dead letters.
 *
 * @see Reliability: NATS settings and versions; Limits
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
  /** Questions nobody waits for. */
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
   * Makes the stream and its consumer where they are not there.
   *
   * @throws {OptionError} when the stream has other settings, or cannot be made in time
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
      // Those that wait to be looked at again count as handed out; new ones must not wait behind them.
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
        this.#report('a message that is no ticket was removed', message.seq);
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

  /** The next message, or null when there was none for a while or the signal aborted. */
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
      // Nobody here wants it any more.
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
