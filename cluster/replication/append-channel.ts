import { headers, type Msg, type NatsConnection, type Subscription } from '@nats-io/transport-node';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import { newInbox } from '#cluster/nats/connection.ts';
import { STORED_SEAL_HEADER } from '#cluster/seal/log-seal.ts';
import type { AppendOutcome } from './log-stream.ts';

/** Time for which the reply to an append is awaited, in milliseconds. A leader that is gone does not reply. */
const APPEND_MS_MAX = 5000;

/** "wrong last sequence", and that another append with the same expectation is under way. */
const WRONG_SEQUENCE: ReadonlySet<number> = new Set([10_071, 10_164]);

/**
 * A limit of an account or a server is exceeded, for its memory or its storage. The append may be stored nevertheless.
 * Before 2.12 each server also checks its own limits after the servers have agreed on the append: the leader may refuse
 * an append that the others store. Later versions check before. But a leader that was replaced without noticing may get
 * the same append as its successor, and reply first. In either case another leader may have space.
 */
const LIMIT_EXCEEDED: ReadonlySet<number> = new Set([10_002, 10_023, 10_028, 10_047]);

/**
 * "store failed": for lack of space when the text says so; after any other failure other replicas may have stored it.
 */
const STORE_FAILED = 10_077;

/** Text of a store whose stream has reached its limit, which is the same one on all servers. */
const fullText = /maximum (?:bytes|messages) exceeded/;

interface Waiting {
  readonly stream: string;
  readonly untilMs: number;
  readonly startedMs: number;
  readonly resolve: (outcome: AppendOutcome) => void;
}

/** Options of an append channel. */
export interface AppendChannelOptions {
  /** Called for each append with its outcome and the milliseconds until it was known. */
  readonly observe?: (outcome: AppendOutcome, elapsedMs: number) => void;
}

/** JetStream's reply to an append. */
interface Answer {
  readonly stream?: string;
  readonly seq?: number;
  readonly error?: { readonly err_code?: number; readonly description?: string };
}

/**
 * Conditional appends of all partitions over one connection: one subscription receives all replies, so that thousands a
 * second need no subscription and no timer each.
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
   * Registers a listener for a lost connection: messages that servers had in transit then never arrive.
   *
   * @returns a function that removes the listener
   */
  onLost(listener: () => void): () => void {
    this.#lostListeners.add(listener);
    return () => this.#lostListeners.delete(listener);
  }

  /**
   * Publishes to a stream, to be stored directly after the message with sequence `expected`.
   *
   * @param bytes must not change: the client may hold them until it has reconnected
   * @param seal of the message after `expected`
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

  /** Stops receiving replies. */
  close(): void {
    this.#timer?.cancel();
    this.#answers.unsubscribe();
    this.#giveUp('closed');
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.#connection.status()) {
      if (type === 'disconnect' || type === 'close') {
        this.#isConnected = false;
        // Their replies go to the lost connection.
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

  /** One timer for the oldest append: all have the same time limit. */
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
  // The subject has no stream at present; an earlier one may have stored it.
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
