import { logUnavailable } from '#cluster/replication/log-errors.ts';
import type {
  AppendOutcome,
  LogStream,
  StoredMessage,
  StreamState,
} from '#cluster/replication/log-stream.ts';

/** A stream in memory that works at once and never fails, for what is above the log. */
export class MemoryStream {
  readonly messages: StoredMessage[] = [];
  readonly #waiting = new Set<() => void>();

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

  constructor(stream: MemoryStream) {
    this.#stream = stream;
  }

  async append(expected: number, bytes: Buffer): Promise<AppendOutcome> {
    await null;
    if (!this.isConnected) return { kind: 'unknown', reason: 'cut off' };
    return this.#stream.append(expected, bytes);
  }

  async state(): Promise<StreamState> {
    await this.#reach();
    const lastSequence = this.#stream.messages.length;
    return { identity: 'memory', firstSequence: 1, lastSequence, leader: 's1' };
  }

  async fetch(sequence: number): Promise<StoredMessage | undefined> {
    await this.#reach();
    return this.#stream.messages[sequence - 1];
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
      const message = this.#stream.messages[sequence - 1];
      if (message === undefined) await this.#stream.news(signal);
      else {
        sequence += 1;
        yield message;
      }
    }
  }

  async #reach(): Promise<void> {
    await null;
    if (!this.isConnected) throw logUnavailable('cut off');
  }
}
