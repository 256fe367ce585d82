import { constants, fstatSync, openSync, writeSync } from 'node:fs';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';

/** Limit of buffered text while the reader does not read, in bytes; further text is dropped and counted. */
const WAITING_BYTES_MAX = 1024 * 1024;

/** Wait before the next try while the reader does not read, in milliseconds; doubled up to the maximum. */
const RETRY_MS_MIN = 10;
const RETRY_MS_MAX = 320;

/** Longest wait of {@link ProcessOutput.flush} for a reader that does not read, in milliseconds. */
const FLUSH_MS_MAX = 1_000;

/** Pause between two tries of a flush, in milliseconds. */
const FLUSH_STEP_MS = 5;

/**
 * Standard output or standard error of a process. Its text may be lost but never blocks the process.
 *
 * No call waits for the reader, except {@link ProcessOutput.flush} for a bounded time: a pipe, a terminal and a socket
 * are written without blocking. Text that does not fit waits in a bounded buffer. Beyond it lines are dropped and
 * counted, and the count is written as a line of its own once the reader reads again. A closed reader (`EPIPE`), a full
 * disk under a log file and a closed descriptor only lose lines.
 *
 * `process.stdout` does not have these properties: its buffer is unbounded, a broken pipe is an event that ends the
 * process, and buffered text is lost at `process.exit`. The destination of pino waits indefinitely in its exit handler
 * for a pipe that is not read.
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
   * @param render formats its own log line about dropped lines, which is JSON; default: unchanged
   */
  constructor(stream: 1 | 2, clock: Clock, render: (line: string) => string = (line) => line) {
    this.#stream = stream;
    this.#clock = clock;
    this.#render = render;
  }

  /** Number of dropped texts since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  /** Buffers text, whole lines with their line feed. It is written at the end of the turn; never throws. */
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

  /**
   * Writes the buffer at the end of a process; waits at most a second for a reader that does not read. Never throws.
   */
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

  /** @returns whether the buffer is empty; false: the reader does not read at present */
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

  /** Drops the buffer, because there is no reader. A named pipe may get another one, so later text is tried again. */
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
        // Opened again, because every process that inherited the descriptor shares its mode.
        const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants;
        return openSync(`/proc/self/fd/${stream}`, O_WRONLY | O_NONBLOCK | O_NOCTTY);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENXIO') throw error;
      }
    }
    if (facts.isSocket() || facts.isFIFO()) {
      // A socket cannot be opened again. Node makes it non-blocking when its stream is first accessed.
      const held = stream === 1 ? process.stdout : process.stderr;
      held.on('error', () => undefined);
    }
    return stream;
  }
}
