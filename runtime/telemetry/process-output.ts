import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import type { Clock, Timer } from '#runtime/base/clock.ts';

/** Text that waits for a reader that takes none, in bytes; what comes then is dropped and counted. */
const WAITING_BYTES_MAX = 1024 * 1024;

/** Time to the next try while the reader takes nothing, in milliseconds; doubled up to the maximum. */
const RETRY_MS_MIN = 10;
const RETRY_MS_MAX = 320;

/** Longest wait of {@link ProcessOutput.flush} for a reader that takes nothing, in milliseconds. */
const FLUSH_MS_MAX = 1_000;

/** Between two tries of a flush, in milliseconds. */
const FLUSH_STEP_MS = 5;

/**
 * Standard output or standard error of a process, as text that may be lost but never holds anything up.
 *
 * Nothing here waits for the reader, except {@link ProcessOutput.flush} for a bounded time: a pipe, a terminal and a
 * socket are written without blocking. What does not fit waits in a bounded buffer, and above it lines are dropped and
 * counted; the count is written as a line of its own once the reader reads again. A reader that went away (`EPIPE`), a
 * full disk under a log file and a closed descriptor lose lines and nothing else.
 *
 * `process.stdout` does none of that: its buffer has no bound, a broken pipe is an event that ends the process, and
 * what it holds is lost at `process.exit`. The destination of pino waits in its exit handler, for ever, for a pipe that
 * nobody reads.
 */
export class ProcessOutput {
  readonly #clock: Clock;
  readonly #stream: 1 | 2;
  readonly #render: (line: string) => string;
  #descriptor: number | undefined;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isScheduled = false;
  #retry: Timer | undefined;
  #retryMs = RETRY_MS_MIN;
  #dropped = 0;
  #droppedUnreported = 0;

  /**
   * @param stream 1: standard output, 2: standard error
   * @param render what becomes of its own log line about dropped ones, which is JSON; default: it stays JSON
   */
  constructor(stream: 1 | 2, clock: Clock, render: (line: string) => string = (line) => line) {
    this.#stream = stream;
    this.#clock = clock;
    this.#render = render;
  }

  /** Texts that were given up since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Takes text, whole lines with their line feed. It is written at the end of the turn; never throws. */
  write(text: string): void {
    if (this.#waitingBytes >= WAITING_BYTES_MAX) {
      this.#drop(1);
      return;
    }
    this.#enqueue(text);
    if (this.#isScheduled || this.#retry !== undefined) return;
    this.#isScheduled = true;
    this.#clock.soon(() => {
      this.#isScheduled = false;
      this.#pump();
    });
  }

  /** Writes what waits, for at most a second while the reader takes nothing; for the end of a process. Never throws. */
  flush(): void {
    const untilMs = this.#clock.monotonicMs() + FLUSH_MS_MAX;
    while (!this.#writeWaiting() && this.#clock.monotonicMs() < untilMs) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FLUSH_STEP_MS);
    }
  }

  #enqueue(text: string): void {
    const bytes = Buffer.from(text);
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
  }

  #drop(texts: number): void {
    this.#dropped += texts;
    this.#droppedUnreported += texts;
  }

  #pump(): void {
    if (this.#writeWaiting()) return;
    this.#retry = this.#clock.after(this.#retryMs, () => {
      this.#retry = undefined;
      this.#pump();
    });
    this.#retryMs = Math.min(2 * this.#retryMs, RETRY_MS_MAX);
  }

  /** @returns whether nothing waits any more; false: the reader takes nothing at present */
  #writeWaiting(): boolean {
    this.#retry?.cancel();
    this.#retry = undefined;
    while (this.#waiting.length > 0) {
      const bytes = this.#waiting.length === 1 ? (this.#waiting[0] as Buffer) : Buffer.concat(this.#waiting);
      try {
        this.#descriptor ??= this.#open();
        const written = writeSync(this.#descriptor, bytes);
        this.#retryMs = RETRY_MS_MIN;
        this.#waiting = written < bytes.length ? [bytes.subarray(written)] : [];
        this.#waitingBytes = bytes.length - written;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EAGAIN') {
          this.#waiting = [bytes];
          return false;
        }
        this.#giveUp();
        return true;
      }
      if (this.#waiting.length === 0) this.#tellDropped();
    }
    return true;
  }

  /** Nobody takes what waits. A named pipe may get another reader, so later text is tried again. */
  #giveUp(): void {
    this.#drop(this.#waiting.length);
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  #tellDropped(): void {
    if (this.#droppedUnreported === 0) return;
    const dropped = this.#droppedUnreported;
    this.#droppedUnreported = 0;
    const time = new Date(this.#clock.wallMs()).toISOString();
    const facts = { level: 'warn', time, dropped, msg: 'lines were dropped because nobody read them' };
    this.#enqueue(this.#render(`${JSON.stringify(facts)}\n`));
  }

  /** @returns a descriptor whose writes do not wait for a reader */
  #open(): number {
    const stream = this.#stream;
    const facts = fstatSync(stream);
    if (facts.isFile()) return stream;
    if (!facts.isSocket()) {
      try {
        // Opened anew, because the mode of a descriptor is shared with every process that inherited it.
        const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
        return openSync(`/proc/self/fd/${stream}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENXIO') throw error;
      }
    }
    if (facts.isSocket() || facts.isFIFO()) {
      // A socket cannot be opened anew. Node puts it in non-blocking mode when its stream is asked for.
      const held = stream === 1 ? process.stdout : process.stderr;
      held.on('error', () => undefined);
    }
    return stream;
  }
}
