import type { Clock } from '#runtime/base/time/clock.ts';
import { inTime } from '#runtime/base/time/within.ts';

/** Times of a {@link StateCache}, in milliseconds. */
export interface StateCacheTimes {
  /** Age up to which a value is used without a read. */
  readonly freshMs: number;
  /** Age up to which a value is used while reads fail or take long. */
  readonly graceMs: number;
  /** Time to wait for a read where a value of that age is there. */
  readonly waitMs: number;
  /** Time after a failed read before the next one, where such a value is there. */
  readonly retryMs: number;
}

/** What a cache reads from, and its bounds. */
export interface StateCacheSource<Value> extends StateCacheTimes {
  readonly clock: Clock;
  /** Entries that are kept; the oldest are dropped. */
  readonly entriesMax: number;
  /** Reads the present value; an error means that it cannot be read at present. */
  readonly read: (key: string) => Value | Promise<Value>;
}

/** A time before all others. */
const NEVER_MS = Number.NEGATIVE_INFINITY;

interface Entry<Value> {
  readonly value: Value;
  readonly readMs: number;
  /** Whether a change may have been missed. */
  isDoubtful: boolean;
  /** When the last read failed, on the monotonic clock; {@link NEVER_MS}: none has. */
  failedMs: number;
}

interface Read<Value> {
  readonly startedMs: number;
  readonly answer: Promise<Value>;
  /** Whether the value may have changed after the read began. */
  isVoid: boolean;
}

/**
 * Values of another member that decide whether a caller is admitted, for each request. A value is read again after a
 * short time, and at once after {@link StateCache.forget}. While it cannot be read, because its owner has just died, the
 * last one is used for a bounded time, so that requests that need nothing else of that owner go on.
 */
export class StateCache<Value> {
  readonly #source: StateCacheSource<Value>;
  /** Oldest first. */
  readonly #entries = new Map<string, Entry<Value>>();
  readonly #reads = new Map<string, Read<Value>>();

  constructor(source: StateCacheSource<Value>) {
    this.#source = source;
  }

  /**
   * The value of a key. A fresh one is answered without a promise.
   *
   * @throws the error of the read, when no earlier value may be used
   */
  get(key: string): Value | Promise<Value> {
    const { clock, freshMs, graceMs, retryMs, waitMs } = this.#source;
    const nowMs = clock.monotonicMs();
    const entry = this.#entries.get(key);
    if (entry !== undefined && !entry.isDoubtful && nowMs - entry.readMs < freshMs) return entry.value;
    const spare = entry !== undefined && nowMs - entry.readMs < graceMs ? entry : undefined;
    if (spare !== undefined && nowMs - spare.failedMs < retryMs) return spare.value;
    const under = this.#reads.get(key);
    if (spare !== undefined && under !== undefined && nowMs - under.startedMs >= waitMs) return spare.value;
    const answer = under?.answer ?? this.#read(key, nowMs);
    if (!(answer instanceof Promise)) return answer;
    if (spare === undefined) return answer;
    if (spare.failedMs === NEVER_MS) return this.#orSpare(key, answer, spare);
    // Somebody has waited in vain: until a read succeeds, it is made beside the requests.
    answer.catch(() => undefined);
    return spare.value;
  }

  /** The value has changed: it is read before it is used again, and a read under way does not count. */
  forget(key: string): void {
    this.#entries.delete(key);
    this.#end(key);
  }

  /** Changes may have been missed: all values are read again, and used meanwhile if they cannot be read. */
  doubt(): void {
    for (const entry of this.#entries.values()) entry.isDoubtful = true;
    for (const key of [...this.#reads.keys()]) this.#end(key);
  }

  #end(key: string): void {
    const read = this.#reads.get(key);
    if (read !== undefined) read.isVoid = true;
    this.#reads.delete(key);
  }

  #read(key: string, nowMs: number): Value | Promise<Value> {
    let answer: Value | Promise<Value>;
    try {
      answer = this.#source.read(key);
    } catch (error) {
      answer = Promise.reject(error as Error);
    }
    if (!(answer instanceof Promise)) {
      this.#keep(key, answer, nowMs);
      return answer;
    }
    const read: Read<Value> = {
      startedMs: nowMs,
      isVoid: false,
      answer: answer.then(
        (value) => {
          if (read.isVoid) return this.get(key);
          this.#reads.delete(key);
          this.#keep(key, value, nowMs);
          return value;
        },
        (error: unknown) => {
          if (!read.isVoid) this.#reads.delete(key);
          const entry = this.#entries.get(key);
          if (entry !== undefined) entry.failedMs = this.#source.clock.monotonicMs();
          throw error;
        },
      ),
    };
    this.#reads.set(key, read);
    return read.answer;
  }

  async #orSpare(key: string, answer: Promise<Value>, spare: Entry<Value>): Promise<Value> {
    const { clock, waitMs } = this.#source;
    const read = await inTime(
      clock,
      waitMs,
      answer.then((found) => ({ found })),
    );
    if (read !== undefined) return read.found;
    // Forgotten meanwhile: then the earlier value is known to be out of date.
    return this.#entries.get(key) === spare ? spare.value : this.get(key);
  }

  /** @param readMs when the read began: what it answers may be that old */
  #keep(key: string, value: Value, readMs: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, readMs, isDoubtful: false, failedMs: NEVER_MS });
    if (this.#entries.size <= this.#source.entriesMax) return;
    const oldest = this.#entries.keys().next();
    if (oldest.done !== true) this.#entries.delete(oldest.value);
  }
}
