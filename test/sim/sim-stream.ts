import { logUnavailable } from '#cluster/replication/log-errors.ts';
import type {
  AppendOutcome,
  LogStream,
  StoredMessage,
  StreamState,
} from '#cluster/replication/log-stream.ts';
import type { SimProcess } from './sim-process.ts';
import type { SimRandom } from './sim-random.ts';
import type { SimScheduler } from './sim-scheduler.ts';

/** Time after which an append without an answer has an unknown outcome, in milliseconds. */
const APPEND_MS_MAX = 2000;

/** How much later than the others a straggling append lands at most, in milliseconds. */
const STRAGGLE_MS_MAX = 30_000;

/** How late an append arrives over a slow connection at most, in milliseconds: longer than it is waited for. */
const SLOW_MS_MAX = 4000;

/**
 * A stream on servers that lose leaders, answers and requests, deliver late and twice, and sometimes answer with
 * what they knew some time ago. It never breaks a promise of {@link LogStream}.
 */
export class SimStream {
  readonly messages: StoredMessage[] = [];
  readonly #scheduler: SimScheduler;
  readonly #random: SimRandom;
  #leader: string | undefined = 's1';
  #isFull = false;
  /** Once true, everything works at once. */
  #isHealed = false;
  /** Of a process whose server takes itself for the leader: how many messages that one has. */
  readonly #stale = new Map<SimProcess, number>();
  readonly #cut = new Set<SimProcess>();
  readonly #slow = new Set<SimProcess>();

  constructor(scheduler: SimScheduler, random: SimRandom) {
    this.#scheduler = scheduler;
    this.#random = random;
  }

  /** Whether nothing goes wrong any more. */
  get isHealed(): boolean {
    return this.#isHealed;
  }

  /** The stream as a process sees it. */
  link(process: SimProcess): LogStream {
    return new SimLink(this, process, this.#scheduler, this.#random);
  }

  /** The leader is lost; another is found after a while. Some processes are left with a server that knows no better. */
  loseLeader(electionMs: number, staleCandidates: readonly SimProcess[]): void {
    if (this.#leader === undefined || this.#isHealed) return;
    const next = `s${1 + this.#random.below(3)}`;
    this.#leader = undefined;
    for (const process of staleCandidates) {
      this.#stale.set(process, this.messages.length);
      this.#scheduler.after(this.#random.next() * 10_000, () => this.#stale.delete(process));
    }
    this.#scheduler.after(electionMs, () => {
      this.#leader ??= next;
    });
  }

  /** A process loses its connection for a while. */
  cutOff(process: SimProcess, ms: number): void {
    this.#cut.add(process);
    this.#scheduler.after(ms, () => this.#cut.delete(process));
  }

  /** The appends of a process arrive late and in any order for a while. */
  slowDown(process: SimProcess, ms: number): void {
    this.#slow.add(process);
    this.#scheduler.after(ms, () => this.#slow.delete(process));
  }

  isSlow(process: SimProcess): boolean {
    return this.#slow.has(process);
  }

  /** The servers are out of space for a while. */
  fill(ms: number): void {
    this.#isFull = true;
    this.#scheduler.after(ms, () => {
      this.#isFull = false;
    });
  }

  /** From now on nothing goes wrong. */
  heal(): void {
    this.#isHealed = true;
    this.#isFull = false;
    this.#leader ??= 's1';
    this.#stale.clear();
    this.#cut.clear();
    this.#slow.clear();
  }

  isCut(process: SimProcess): boolean {
    return this.#cut.has(process);
  }

  /** What reaches the server a process talks to. @returns undefined when nobody answers */
  process(process: SimProcess, expected: number, bytes: Buffer): AppendOutcome | undefined {
    const stale = this.#stale.get(process);
    if (stale !== undefined) {
      // Taken by a server that has nobody behind it: it is never stored.
      return stale === expected ? undefined : { kind: 'wrong-sequence' };
    }
    if (this.#leader === undefined)
      return this.#random.chance(0.5) ? undefined : { kind: 'unknown', reason: 'nobody leads' };
    if (expected !== this.messages.length) return { kind: 'wrong-sequence' };
    if (this.#isFull) return { kind: 'full', reason: 'the disks are full' };
    const sequence = expected + 1;
    this.messages.push({ sequence, bytes: Buffer.from(bytes), storedMs: this.#scheduler.wallMs() });
    return { kind: 'stored', sequence };
  }

  /** @returns undefined when nobody leads */
  state(process: SimProcess): StreamState | undefined {
    const stale = this.#stale.get(process);
    if (stale === undefined && this.#leader === undefined) return undefined;
    const lastSequence = stale ?? this.messages.length;
    return { identity: 'sim', firstSequence: 1, lastSequence, leader: this.#leader ?? 'stale' };
  }
}

class SimLink implements LogStream {
  readonly #stream: SimStream;
  readonly #process: SimProcess;
  readonly #scheduler: SimScheduler;
  readonly #random: SimRandom;
  /** When the last append that went out in order arrives. */
  #arrivalMs = 0;

  constructor(stream: SimStream, process: SimProcess, scheduler: SimScheduler, random: SimRandom) {
    this.#stream = stream;
    this.#process = process;
    this.#scheduler = scheduler;
    this.#random = random;
  }

  get isConnected(): boolean {
    return !this.#stream.isCut(this.#process);
  }

  append(expected: number, bytes: Buffer): Promise<AppendOutcome> {
    return new Promise((resolve) => {
      const answer = (outcome: AppendOutcome): void => {
        timeout.cancel();
        this.#process.run(() => resolve(outcome));
      };
      const timeout = this.#scheduler.after(APPEND_MS_MAX, () =>
        answer({ kind: 'unknown', reason: 'no answer' }),
      );
      const copies = this.#happens(0.005) ? 2 : 1;
      for (let copy = 0; copy < copies; copy += 1) this.#deliver(expected, bytes, answer);
    });
  }

  #deliver(expected: number, bytes: Buffer, answer: (outcome: AppendOutcome) => void): void {
    if (!this.isConnected || this.#happens(0.01)) return;
    const now = this.#scheduler.monotonicMs();
    const isSlow = this.#stream.isSlow(this.#process);
    const straggles = isSlow || this.#happens(0.02);
    const arrivesMs = straggles
      ? now + this.#random.next() * (isSlow ? SLOW_MS_MAX : STRAGGLE_MS_MAX)
      : Math.max(this.#arrivalMs, now + this.#random.next() * 10);
    if (!straggles) this.#arrivalMs = arrivesMs;
    this.#scheduler.after(arrivesMs - now, () => {
      const outcome = this.#stream.process(this.#process, expected, bytes);
      if (outcome === undefined || this.#happens(0.01)) return;
      this.#scheduler.after(this.#random.next(), () => {
        if (this.isConnected) answer(outcome);
      });
    });
  }

  state(): Promise<StreamState> {
    return this.#ask(() => this.#stream.state(this.#process));
  }

  fetch(sequence: number): Promise<StoredMessage | undefined> {
    return this.#ask(() => {
      const state = this.#stream.state(this.#process);
      return (
        state && { found: sequence <= state.lastSequence ? this.#stream.messages[sequence - 1] : undefined }
      );
    }).then(({ found }) => found);
  }

  async *range(first: number, last: number): AsyncGenerator<StoredMessage, void, void> {
    for (let sequence = first; sequence <= last; sequence += 1) {
      // Most come with the answer before.
      const message =
        this.#happens(0.1) || sequence === first ? await this.fetch(sequence) : this.#present(sequence);
      if (message === undefined) return;
      yield message;
    }
  }

  async *follow(first: number, signal: AbortSignal): AsyncGenerator<StoredMessage, void, void> {
    for (let sequence = first; !signal.aborted; ) {
      if (this.#happens(0.01)) throw logUnavailable('the consumer is gone');
      if (this.#happens(0.01)) sequence += 1;
      const message = await this.#ask(() => ({ found: this.#stream.messages[sequence - 1] }));
      if (message.found === undefined) {
        await new Promise<void>((resolve) => void this.#process.after(20, resolve));
        continue;
      }
      yield message.found;
      sequence += 1;
    }
  }

  #present(sequence: number): StoredMessage | undefined {
    const state = this.#stream.state(this.#process);
    return state !== undefined && sequence <= state.lastSequence
      ? this.#stream.messages[sequence - 1]
      : undefined;
  }

  /** A question and its answer. @param look what the server says when the question arrives */
  #ask<T>(look: () => T | undefined): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#scheduler.after(this.#random.next(), () => {
        const isLost = !this.isConnected || this.#happens(0.01);
        const answer = isLost ? undefined : look();
        this.#scheduler.after(isLost ? 500 : this.#random.next(), () =>
          this.#process.run(() => {
            if (answer === undefined) reject(logUnavailable('nobody answers'));
            else resolve(answer);
          }),
        );
      });
    });
  }

  #happens(probability: number): boolean {
    return !this.#stream.isHealed && this.#random.chance(probability);
  }
}
