import { assert } from '#runtime/base/assert.ts';

/**
 * A number that only rises. It is a plain field: counting costs an addition, and the exporter reads the field on
 * demand.
 */
export class Counter {
  #value = 0;

  /** @param amount zero or more */
  add(amount = 1): void {
    this.#value += amount;
  }

  /** The present count. */
  get value(): number {
    return this.#value;
  }
}

/**
 * Counts observations in fixed buckets. An observation walks over a short array and does three additions, without
 * allocation, because it happens on every request and every flush.
 */
export class Histogram {
  /** Upper bounds of the buckets, ascending; larger observations count in `+Inf` only. */
  readonly bounds: readonly number[];
  readonly #counts: Float64Array;
  #sum = 0;
  #count = 0;

  constructor(bounds: readonly number[]) {
    assert(bounds.length > 0 && bounds.length <= 64, 'a histogram has 1 to 64 buckets');
    assert(
      bounds.every((bound, index) => index === 0 || bound > (bounds[index - 1] as number)),
      'histogram bounds rise',
    );
    this.bounds = Object.freeze([...bounds]);
    this.#counts = new Float64Array(bounds.length);
  }

  /** Counts one observation, in the unit of the bounds. */
  observe(value: number): void {
    const { bounds } = this;
    let index = 0;
    while (index < bounds.length && value > (bounds[index] as number)) index += 1;
    if (index < bounds.length) this.#counts[index] = (this.#counts[index] as number) + 1;
    this.#sum += value;
    this.#count += 1;
  }

  /** Sum of all observations. */
  get sum(): number {
    return this.#sum;
  }

  /** Number of observations. */
  get count(): number {
    return this.#count;
  }

  /** Number of observations at or below each bound. */
  cumulativeCounts(): number[] {
    let total = 0;
    return Array.from(this.#counts, (count) => {
      total += count;
      return total;
    });
  }
}

/**
 * Bounds in seconds for answering a request, per route: from 500 µs, within which a cached read is answered, to 10 s.
 * They are few because there are more than a hundred routes, and each bound is a series of each of them.
 */
export const routeSecondsBounds: readonly number[] = Object.freeze([
  0.0005, 0.0025, 0.01, 0.05, 0.25, 1, 2.5, 10,
]);

/** Bounds in seconds for a durable answer: 50 µs to 10 s. */
export const commitSecondsBounds: readonly number[] = Object.freeze([
  0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]);

/** Bounds in seconds for event loop lag: from 2.5 ms, which is normal for a timer, to 5 s. */
export const eventLoopSecondsBounds: readonly number[] = Object.freeze([
  0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
]);

/** Bounds in seconds for a disk flush: from 20 µs on a battery-backed disk to 5 s on a failing one. */
export const flushSecondsBounds: readonly number[] = Object.freeze([
  0.00002, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1, 5,
]);

/** Bounds for counts of commands in a batch. */
export const batchCommandsBounds: readonly number[] = Object.freeze([
  1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 4_096,
]);

/** Bounds in bytes for a batch: 256 bytes to 64 MiB. */
export const batchBytesBounds: readonly number[] = Object.freeze([
  256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304, 16_777_216, 67_108_864,
]);
