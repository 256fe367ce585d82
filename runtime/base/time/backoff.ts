import { type Clock, sleep } from './clock.ts';
import type { Random } from '../random.ts';

/** Waits between retries. */
export interface Backoff {
  /** The wait before the first retry, in milliseconds. */
  readonly firstMs: number;
  /** Ratio of each wait to the one before it. */
  readonly factor: number;
  /** The longest wait without jitter, in milliseconds. */
  readonly mostMs: number;
}

/** Maximum jitter, as part of a wait, so that simultaneous failures are not retried simultaneously. */
const JITTER = 0.1;

/**
 * The wait before a retry: exponential, bounded, with a jitter of up to a tenth.
 *
 * @param retries number of earlier retries, 0 for the first
 * @returns milliseconds
 */
export function backoffMs({ firstMs, factor, mostMs }: Backoff, retries: number, random: Random): number {
  const wait = Math.min(firstMs * factor ** retries, mostMs);
  const [high, low] = random.bytes(2) as unknown as readonly [number, number];
  return Math.round(wait * (1 + (JITTER * (high * 256 + low)) / 0x10000));
}

/** The waits between the attempts of one operation. */
export class Retries {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #backoff: Backoff;
  #done = 0;

  constructor(clock: Clock, random: Random, backoff: Backoff) {
    this.#clock = clock;
    this.#random = random;
    this.#backoff = backoff;
  }

  /** Waits before the next attempt. */
  async wait(): Promise<void> {
    await sleep(this.#clock, backoffMs(this.#backoff, this.#done, this.#random));
    this.#done += 1;
  }

  /** An attempt succeeded: the next wait is the first one again. */
  reset(): void {
    this.#done = 0;
  }
}
