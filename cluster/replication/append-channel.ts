import { headers, type Msg, type NatsConnection, type Subscription } from '@nats-io/transport-node';
import type { Clock, Timer } from '#runtime/base/clock.ts';
import { newInbox } from '#cluster/nats/connection.ts';
import { STORED_SEAL_HEADER } from '#cluster/seal/log-seal.ts';
import type { AppendOutcome } from './log-stream.ts';

/** Time an append is waited for, in milliseconds. A leader that is gone answers nothing. */
const APPEND_MS_MAX = 5000;

/** "wrong last sequence", and that another append with the same expectation is under way. */
const WRONG_SEQUENCE: ReadonlySet<number> = new Set([10_071, 10_164]);

/**
 * Limits of one server or account are exceeded: account, server, memory or storage. It says nothing of whether the append
 * is stored. Servers before 2.12 also look at their limits when the append has been agreed on, each at its own: the one
 * that leads refuses what others store. Later ones look before, but a leader that was replaced and does not know it yet
 * may get the same append as its successor, and answer first. Another leader may have space in either case.
 */
const LIMIT_EXCEEDED: ReadonlySet<number> = new Set([10_002, 10_023, 10_028, 10_047]);

/** "store failed": of space when it says so; of anything else other replicas may have stored it. */
const STORE_FAILED = 10_077;

/** How a store says that the bound of the stream is reached, which is the same one on all servers. */
const fullText = /maximum (?:bytes|messages) exceeded/;

interface Waiting {
  readonly stream: string;
  readonly untilMs: number;
  readonly startedMs: number;
  readonly resolve: (outcome: AppendOutcome) => void;
}

/** What an append channel may be told besides its connection. */
export interface AppendChannelOptions {
  /** Told of each append and the milliseconds until its outcome was known. */
  readonly observe?: (outcome: AppendOutcome, elapsedMs: number) => void;
}

/** What JetStream answers to an append. */
interface Answer {
  readonly stream?: string;
  readonly seq?: number;
  readonly error?: { readonly err_code?: number; readonly description?: string };
}

/**
 * Conditional appends of all partitions over one connection: one subscription takes all answers, so that thousands a
 * second cost no subscription and no timer each.
 */
export class AppendChannel {
  readonly #connection: NatsConnection;
  readonly #clock: Clock;
  readonly #observe: (outcome: AppendOutcome, elapsedMs: number) => void;
  readonly #inbox: string;
  readonly #answers: Subscription;
  readonly #waiting = new Map<string, Waiting>();
  readonly #lostListeners = new Set<() => void>();
  #next = 0;
  #timer: Timer | undefined;
  #isConnected = true;

  /**
   * @param connection closed by its owner; then every append has an unknown outcome
   */
  constructor(connection: NatsConnection, clock: Clock, options: AppendChannelOptions = {}) {
    this.#connection = connection;
    this.#clock = clock;
    this.#observe = options.observe ?? (() => {});
    this.#inbox = newInbox(connection);
    this.#answers = connection.subscribe(`${this.#inbox}.*`, {
      callback: (error, message) => {
        if (error === null) this.#answered(message);
      },
    });
    void this.#watch();
  }

  /** Whether the client is connected to a server. */
  get isConnected(): boolean {
    return this.#isConnected && !this.#connection.isClosed();
  }

  /**
   * Calls back when the connection is lost: what servers had on its way then never arrives.
   *
   * @returns stops listening
   */
  onLost(listener: () => void): () => void {
    this.#lostListeners.add(listener);
    return () => this.#lostListeners.delete(listener);
  }

  /**
   * Publishes to a stream, to be stored behind the message with sequence `expected`.
   *
   * @param bytes stay as they are: the client may hold them until it has reconnected
   * @param seal of the message behind `expected`
   */
  append(
    stream: string,
    subject: string,
    expected: number,
    bytes: Uint8Array,
    seal?: string,
  ): Promise<AppendOutcome> {
    if (!this.isConnected) return Promise.resolve(unknown('not connected'));
    return new Promise((resolve) => {
      const token = String(this.#next++);
      const startedMs = this.#clock.monotonicMs();
      this.#waiting.set(token, { stream, startedMs, untilMs: startedMs + APPEND_MS_MAX, resolve });
      const conditions = headers();
      conditions.set('Nats-Expected-Stream', stream);
      conditions.set('Nats-Expected-Last-Sequence', String(expected));
      if (seal !== undefined) conditions.set(STORED_SEAL_HEADER, seal);
      try {
        this.#connection.publish(subject, bytes, { headers: conditions, reply: `${this.#inbox}.${token}` });
      } catch (error) {
        this.#settle(token, unknown(String(error)));
      }
      this.#schedule();
    });
  }

  /** Takes no answers any more. */
  close(): void {
    this.#timer?.cancel();
    this.#answers.unsubscribe();
    this.#giveUp('closed');
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type === 'disconnect' || type === 'close') {
        this.#isConnected = false;
        // Their answers go to a connection that is no more.
        this.#giveUp('the connection was lost');
        for (const listener of this.#lostListeners) listener();
      }
      if (type === 'reconnect') this.#isConnected = true;
    }
    this.#isConnected = false;
    this.#giveUp('the connection was closed');
  }

  #giveUp(reason: string): void {
    for (const token of [...this.#waiting.keys()]) this.#settle(token, unknown(reason));
  }

  #answered(message: Msg): void {
    const token = message.subject.slice(this.#inbox.length + 1);
    const waiting = this.#waiting.get(token);
    if (waiting !== undefined) this.#settle(token, outcomeOf(message, waiting.stream));
  }

  #settle(token: string, outcome: AppendOutcome): void {
    const waiting = this.#waiting.get(token);
    if (waiting === undefined) return;
    this.#waiting.delete(token);
    this.#observe(outcome, this.#clock.monotonicMs() - waiting.startedMs);
    waiting.resolve(outcome);
  }

  /** One timer for the oldest: they all wait equally long. */
  #schedule(): void {
    if (this.#timer !== undefined) return;
    const oldest = this.#waiting.values().next().value;
    if (oldest === undefined) return;
    this.#timer = this.#clock.after(Math.max(1, oldest.untilMs - this.#clock.monotonicMs()), () => {
      this.#timer = undefined;
      const nowMs = this.#clock.monotonicMs();
      for (const [token, { untilMs }] of this.#waiting) {
        if (untilMs > nowMs) break;
        this.#settle(token, unknown(`no answer in ${APPEND_MS_MAX} ms`));
      }
      this.#schedule();
    });
  }
}

function unknown(reason: string): AppendOutcome & { readonly kind: 'unknown' } {
  return { kind: 'unknown', reason };
}

function outcomeOf(message: Msg, stream: string): AppendOutcome {
  // Nobody takes the subject at present; who knows what took it before that.
  if (message.data.length === 0) return unknown(`status ${message.headers?.code ?? 0}`);
  let answer: Answer;
  try {
    answer = message.json<Answer>();
  } catch {
    return unknown('an answer that cannot be read');
  }
  const { error, seq } = answer;
  if (error === undefined) {
    if (answer.stream === stream && typeof seq === 'number') return { kind: 'stored', sequence: seq };
    return unknown(`an answer of stream ${answer.stream}`);
  }
  const { err_code: code = 0, description = '' } = error;
  if (WRONG_SEQUENCE.has(code)) return { kind: 'wrong-sequence' };
  if (code === STORE_FAILED && fullText.test(description)) return { kind: 'full', reason: description };
  if (LIMIT_EXCEEDED.has(code)) return { ...unknown(`${code} ${description}`), isRefused: true };
  return unknown(`${code} ${description}`);
}
