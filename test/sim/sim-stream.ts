import { assert } from '#runtime/base/assert.ts';
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

/** The servers that have a copy. */
const SERVERS: readonly string[] = ['s1', 's2', 's3'];

/** Time after which an append without an answer has an unknown outcome, in milliseconds. */
const APPEND_MS_MAX = 2000;

/** How much later than the others a straggling append lands at most, in milliseconds. */
const STRAGGLE_MS_MAX = 30_000;

/** How late an append arrives over a slow connection at most, in milliseconds: longer than it is waited for. */
const SLOW_MS_MAX = 4000;

/** How much later than the append is stored a late answer to it comes at most, in milliseconds: after it was given up. */
const LATE_ANSWER_MS_MAX = 3000;

/** Between two looks of who follows, in milliseconds, unless it is said. */
const FOLLOW_MS = 20;

/**
 * A stream on servers that lose leaders, answers and requests, deliver late and twice, answer long after they stored,
 * refuse what the others store, and sometimes answer with what they knew some time ago. It never breaks a promise of
 * {@link LogStream}.
 */
export class SimStream {
  /** All of them, also those that were cut off. */
  readonly messages: StoredMessage[] = [];
  /** Between two looks of who follows, in milliseconds. */
  readonly followMs: number;
  #firstSequence = 1;
  readonly #scheduler: SimScheduler;
  readonly #random: SimRandom;
  #leader: string | undefined = 's1';
  /** Rises with each leader. */
  #term = 1;
  #isFull = false;
  /** Up to where the leader's own copy goes while it alone has no space; undefined: it has what the others have. */
  #refusesBehind: number | undefined;
  /** Once true, everything works at once. */
  #isHealed = false;
  /** Of a process whose server takes itself for the leader: the messages that one has. */
  readonly #stale = new Map<SimProcess, { readonly first: number; readonly last: number }>();
  readonly #cut = new Set<SimProcess>();
  readonly #slow = new Set<SimProcess>();
  /** Messages that are on the disks of the servers. */
  #flushed = 0;
  /** The messages of servers that have more than the one that leads. */
  #whole: StoredMessage[] = [];
  /** Rises when the servers lose their power: what was on the way is gone, and so is who followed. */
  #generation = 0;

  /** @param followMs how long news take to those who follow at most, in milliseconds; each look takes time of the test */
  constructor(scheduler: SimScheduler, random: SimRandom, followMs = FOLLOW_MS) {
    this.#scheduler = scheduler;
    this.#random = random;
    this.followMs = followMs;
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
    this.#refusesBehind = undefined;
    for (const process of staleCandidates) {
      this.#stale.set(process, { first: this.#firstSequence, last: this.messages.length });
      this.#scheduler.after(this.#random.next() * 10_000, () => this.#stale.delete(process));
    }
    this.#scheduler.after(electionMs, () => {
      if (this.#leader === undefined) this.#lead(next);
    });
  }

  #lead(leader: string): void {
    this.#leader = leader;
    this.#term += 1;
  }

  /** Which leader in succession leads, or led last. */
  get term(): number {
    return this.#term;
  }

  /** Whether a server leads, so that no election is under way. */
  get isLed(): boolean {
    return this.#leader !== undefined;
  }

  /**
   * The server that leads has no space, and the others have: it refuses what they store, and says that the stream ends
   * where its own copy does. After some time another one leads.
   */
  refuseAlone(ms: number): void {
    if (this.#leader === undefined || this.#isHealed) return;
    this.#refusesBehind = this.messages.length;
    const term = this.#term;
    this.#scheduler.after(ms, () => {
      if (this.#term === term) this.loseLeader(this.#random.next() * 5000, []);
    });
  }

  /** How often the servers have lost their power. */
  get generation(): number {
    return this.#generation;
  }

  /** The servers bring everything to their disks, as they do from time to time. */
  flush(): void {
    this.#flushed = this.messages.length;
  }

  /** All servers lose their power, and with it any part of what they had not flushed. @returns how much */
  cutPower(electionMs: number): number {
    const lost = this.#random.below(this.messages.length - this.#flushed + 1);
    this.messages.length -= lost;
    this.#generation += 1;
    this.#stale.clear();
    this.loseLeader(electionMs, []);
    return lost;
  }

  /**
   * A server comes to lead whose copy lost its end, however long it was on all disks; nobody loses a connection. The
   * others have it until {@link findEnd}.
   *
   * @returns how many messages are missing
   */
  loseEnd(): number {
    if (this.#isHealed) return 0;
    const lost = this.#random.below(this.messages.length);
    if (this.#whole.length < this.messages.length) this.#whole = [...this.messages];
    this.messages.length -= lost;
    return lost;
  }

  /**
   * A server whose copy is whole leads again, if there is one that has more.
   *
   * @returns how many messages are back
   */
  findEnd(): number {
    const found = Math.max(0, this.#whole.length - this.messages.length);
    // Servers skip what they have, whatever a leader with less has taken meanwhile.
    if (found > 0) this.messages.splice(0, this.messages.length, ...this.#whole);
    this.#whole = [];
    return found;
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
    if (this.#leader === undefined || this.#refusesBehind !== undefined) this.#lead('s1');
    this.#refusesBehind = undefined;
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
      return stale.last === expected ? undefined : { kind: 'wrong-sequence' };
    }
    if (this.#leader === undefined)
      return this.#random.chance(0.5) ? undefined : { kind: 'unknown', reason: 'nobody leads' };
    if (this.#refusesBehind !== undefined) {
      // Refused before the others were asked, or afterwards.
      if (expected === this.messages.length && this.#random.chance(0.7)) this.#store(bytes);
      if (expected !== this.#refusesBehind) return { kind: 'wrong-sequence' };
      return { kind: 'unknown', reason: 'this server is full', isRefused: true };
    }
    if (expected !== this.messages.length) return { kind: 'wrong-sequence' };
    if (this.#isFull) return { kind: 'full', reason: 'the disks are full' };
    return { kind: 'stored', sequence: this.#store(bytes) };
  }

  #store(bytes: Buffer): number {
    const sequence = this.messages.length + 1;
    this.messages.push({ sequence, bytes: Buffer.from(bytes), storedMs: this.#scheduler.wallMs() });
    return sequence;
  }

  /** @returns undefined when nobody leads */
  state(process: SimProcess): StreamState | undefined {
    const stale = this.#stale.get(process);
    if (stale === undefined && this.#leader === undefined) return undefined;
    const { first, last } = stale ?? {
      first: this.#firstSequence,
      last: this.#refusesBehind ?? this.messages.length,
    };
    const bytes = this.messages
      .slice(first - 1, last)
      .reduce((sum, message) => sum + message.bytes.length, 0);
    return {
      identity: 'sim',
      firstSequence: first,
      lastSequence: last,
      bytes,
      leader: this.#leader ?? 'stale',
      servers: SERVERS,
    };
  }

  /** @returns whether a leader did it; the next one may have what it lacks */
  stepDown(process: SimProcess): boolean {
    if (this.#stale.has(process) || this.#leader === undefined) return false;
    const isWhole = this.#random.chance(0.5);
    // When nothing goes wrong any more there is no time without a leader.
    if (this.#isHealed) this.#lead(this.#leader === 's1' ? 's2' : 's1');
    this.loseLeader(300 + this.#random.next() * 5000, []);
    if (isWhole || this.#isHealed) this.findEnd();
    return true;
  }

  /** @returns whether a leader did it */
  truncate(process: SimProcess, before: number): boolean {
    if (this.#stale.has(process) || this.#leader === undefined) return false;
    this.#firstSequence = Math.max(this.#firstSequence, before);
    return true;
  }

  /** The message at a sequence as the servers have it at present. */
  present(sequence: number): StoredMessage | undefined {
    return sequence < this.#firstSequence ? undefined : this.messages[sequence - 1];
  }

  /** The oldest message there is at present. */
  get firstSequence(): number {
    return this.#firstSequence;
  }
}

/** An append on its way, in one copy or more. */
interface Delivery {
  readonly expected: number;
  readonly bytes: Buffer;
  readonly answer: (outcome: AppendOutcome, term: number) => void;
  /** Whether a copy was refused because the stream had no space. */
  isFull: boolean;
}

class SimLink implements LogStream {
  readonly #stream: SimStream;
  readonly #process: SimProcess;
  readonly #scheduler: SimScheduler;
  readonly #random: SimRandom;
  /** When the last append that went out in order arrives. */
  #arrivalMs = 0;
  /** Of the leader that refused an append for want of space, as this process knows. */
  #refusedTerm: number | undefined;

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
    // What that one takes when it has space again is on no other server.
    const isRefused = this.#stream.isLed && this.#refusedTerm === this.#stream.term;
    assert(!isRefused, 'an append goes to the leader that refused one for its own want of space');
    return new Promise((resolve) => {
      let isAnswered = false;
      const answer = (outcome: AppendOutcome, term?: number): void => {
        timeout.cancel();
        if (isAnswered) return;
        isAnswered = true;
        this.#process.run(() => {
          if (outcome.kind === 'unknown' && outcome.isRefused === true) this.#refusedTerm = term;
          resolve(outcome);
        });
      };
      const timeout = this.#scheduler.after(APPEND_MS_MAX, () =>
        answer({ kind: 'unknown', reason: 'no answer' }),
      );
      const copies = this.#happens(0.005) ? 2 : 1;
      const delivery: Delivery = { expected, bytes, answer, isFull: false };
      for (let copy = 0; copy < copies; copy += 1) this.#deliver(delivery);
    });
  }

  #deliver(delivery: Delivery): void {
    if (!this.isConnected || this.#happens(0.01)) return;
    const now = this.#scheduler.monotonicMs();
    const isSlow = this.#stream.isSlow(this.#process);
    const straggles = isSlow || this.#happens(0.02);
    const arrivesMs = straggles
      ? now + this.#random.next() * (isSlow ? SLOW_MS_MAX : STRAGGLE_MS_MAX)
      : Math.max(this.#arrivalMs, now + this.#random.next() * 10);
    if (!straggles) this.#arrivalMs = arrivesMs;
    const { generation } = this.#stream;
    this.#scheduler.after(arrivesMs - now, () => {
      if (generation !== this.#stream.generation) return;
      // That there was no space for it is true for ever, so a second copy must not find some.
      if (delivery.isFull) return;
      const { term } = this.#stream;
      const outcome = this.#stream.process(this.#process, delivery.expected, delivery.bytes);
      delivery.isFull = outcome?.kind === 'full';
      if (outcome === undefined || this.#happens(0.01)) return;
      const answersMs = this.#random.next() * (this.#happens(0.02) ? LATE_ANSWER_MS_MAX : 1);
      this.#scheduler.after(answersMs, () => {
        if (this.isConnected) delivery.answer(outcome, term);
      });
    });
  }

  state(): Promise<StreamState> {
    return this.#ask(() => this.#stream.state(this.#process));
  }

  fetch(sequence: number): Promise<StoredMessage | undefined> {
    return this.#ask(() => {
      const state = this.#stream.state(this.#process);
      return state && { found: found(this.#stream.messages, state, sequence) };
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
    const { generation } = this.#stream;
    for (let sequence = first; !signal.aborted; ) {
      if (this.#happens(0.01) || generation !== this.#stream.generation)
        throw logUnavailable('the consumer is gone');
      // The one behind it tells.
      if (sequence < this.#stream.messages.length && this.#happens(0.01)) sequence += 1;
      // As JetStream does: a consumer that begins too early is given what there is.
      sequence = Math.max(sequence, this.#stream.firstSequence);
      const message = await this.#ask(() => ({ found: this.#stream.present(sequence) }));
      if (message.found === undefined) {
        await new Promise<void>((resolve) => void this.#process.after(this.#stream.followMs, resolve));
        continue;
      }
      yield message.found;
      sequence += 1;
    }
  }

  #present(sequence: number): StoredMessage | undefined {
    const state = this.#stream.state(this.#process);
    return state && found(this.#stream.messages, state, sequence);
  }

  async truncate(before: number): Promise<void> {
    await this.#ask(() => (this.#stream.truncate(this.#process, before) ? true : undefined));
  }

  async stepDown(): Promise<void> {
    await this.#ask(() => (this.#stream.stepDown(this.#process) ? true : undefined));
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

function found(
  messages: readonly StoredMessage[],
  { firstSequence, lastSequence }: StreamState,
  sequence: number,
): StoredMessage | undefined {
  return sequence < firstSequence || sequence > lastSequence ? undefined : messages[sequence - 1];
}
