import { type Clock, sleep } from './clock.ts';
import type { Random } from './random.ts';

/** How long to wait before something is tried again. */
export interface Backoff {
  /** The wait before the first retry, in milliseconds. */
  readonly firstMs: number;
  /** By how much each wait is longer than the one before it. */
  readonly factor: number;
  /** The longest wait, in milliseconds; what is added at random comes on top. */
  readonly mostMs: number;
}

/** Part of a wait that is added at random at most, so that what failed together does not come back together. */
const JITTER = 0.1;

/**
 * The wait before a retry: exponential, bounded, with up to a tenth of it added at random.
 *
 * @param retries how often it was retried before, 0 for the first retry
 * @returns milliseconds
 */
export function backoffMs({ firstMs, factor, mostMs }: Backoff, retries: number, random: Random): number {
  const wait = Math.min(firstMs * factor ** retries, mostMs);
  const [high, low] = random.bytes(2) as unknown as readonly [number, number];
  return Math.round(wait * (1 + (JITTER * (high * 256 + low)) / 0x10000));
}

/** The waits between the attempts at one thing. */
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

  /** An attempt got somewhere: the next wait is the first one again. */
  reset(): void {
    this.#done = 0;
  }
}
