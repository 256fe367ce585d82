import { logUnavailable } from '#cluster/replication/log-errors.ts';
import type {
  AppendOutcome,
  LogStream,
  StoredMessage,
  StreamState,
} from '#cluster/replication/log-stream.ts';

/** A stream in memory that works at once and never fails, for what is above the log. */
export class MemoryStream {
  /** All of them, also those that were cut off. */
  readonly messages: StoredMessage[] = [];
  /** The oldest message that is still there. */
  firstSequence = 1;
  /** What each server does to the messages that comes to lead because the one before it was asked to step down. */
  readonly leads: (() => void)[] = [];
  readonly #waiting = new Set<() => void>();

  /** Followers that have read everything and wait for more. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /** The stream as one member sees it. */
  link(): MemoryLink {
    return new MemoryLink(this);
  }

  /** Stores a message behind the one with sequence `expected`. */
  append(expected: number, bytes: Buffer): AppendOutcome {
    if (expected !== this.messages.length) return { kind: 'wrong-sequence' };
    const sequence = expected + 1;
    this.messages.push({ sequence, bytes: Buffer.from(bytes), storedMs: Date.now() });
    for (const wake of [...this.#waiting]) wake();
    return { kind: 'stored', sequence };
  }

  /** The message at a sequence, while it is there. */
  at(sequence: number): StoredMessage | undefined {
    return sequence < this.firstSequence ? undefined : this.messages[sequence - 1];
  }

  /** Resolves when something is stored, or the signal is aborted. */
  news(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.add(done);
      signal.addEventListener('abort', done);
    });
  }
}

/** One member's side; it can be cut off. */
export class MemoryLink implements LogStream {
  readonly #stream: MemoryStream;
  isConnected = true;
  /** Whether the servers answer appends; a connection they do not use may be there all the same. */
  answers = true;

  constructor(stream: MemoryStream) {
    this.#stream = stream;
  }

  async append(expected: number, bytes: Buffer): Promise<AppendOutcome> {
    await null;
    if (!this.isConnected) return { kind: 'unknown', reason: 'cut off' };
    if (!this.answers) return { kind: 'unknown', reason: 'no answer' };
    return this.#stream.append(expected, bytes);
  }

  async state(): Promise<StreamState> {
    await this.#reach();
    const lastSequence = this.#stream.messages.length;
    const { firstSequence, messages } = this.#stream;
    const bytes = messages.slice(firstSequence - 1).reduce((sum, message) => sum + message.bytes.length, 0);
    return {
      identity: 'memory',
      firstSequence,
      lastSequence,
      bytes,
      leader: 's1',
      servers: ['s1', 's2', 's3'],
    };
  }

  async fetch(sequence: number): Promise<StoredMessage | undefined> {
    await this.#reach();
    return this.#stream.at(sequence);
  }

  async *range(first: number, last: number): AsyncGenerator<StoredMessage> {
    for (let sequence = first; sequence <= last; sequence++) {
      const message = await this.fetch(sequence);
      if (message === undefined) return;
      yield message;
    }
  }

  async *follow(first: number, signal: AbortSignal): AsyncGenerator<StoredMessage> {
    for (let sequence = first; !signal.aborted; ) {
      await this.#reach();
      // As JetStream does: a consumer that begins too early is given what there is.
      sequence = Math.max(sequence, this.#stream.firstSequence);
      const message = this.#stream.at(sequence);
      if (message === undefined) await this.#stream.news(signal);
      else {
        sequence += 1;
        yield message;
      }
    }
  }

  async truncate(before: number): Promise<void> {
    await this.#reach();
    this.#stream.firstSequence = Math.max(this.#stream.firstSequence, before);
  }

  async stepDown(): Promise<void> {
    await this.#reach();
    this.#stream.leads.shift()?.();
  }

  async #reach(): Promise<void> {
    await null;
    if (!this.isConnected) throw logUnavailable('cut off');
  }
}
