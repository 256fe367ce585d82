import type { Clock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { clientNetwork } from './client-network.ts';
import { FailureBook, type FailureLimits } from './failure-book.ts';

/**
 * A hundred are free, for offices and schools whose people share one address and begin at the same time. One more is
 * free every 36 s: a hundred an hour, as many as a program may try that has one address. Waits are no longer than that, so
 * whoever shares the address with it is not held up for long. After an hour without any the network has all of them
 * again.
 */
export const networkLimits: FailureLimits = Object.freeze({
  freeFailures: 100,
  firstWaitMs: 1_000,
  waitMsMax: 36_000,
  forgiveMs: 36_000,
  forgetMs: 3_600_000,
  entriesMax: 10_000,
});

/**
 * Bounds what the clients of one network do together, whatever account or tenant it is about: {@link clientNetwork}. The
 * counts are those of one member, in bounded memory. A restart clears them.
 *
 * @see docs/decisions/0078-guesses-and-revisions.md
 */
export class NetworkLimit {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #refusal: string;
  readonly #book: FailureBook;

  /** @param refusal beginning of the message of a refusal */
  constructor(clock: Pick<Clock, 'monotonicMs'>, refusal: string, limits: FailureLimits = networkLimits) {
    this.#clock = clock;
    this.#refusal = refusal;
    this.#book = new FailureBook(limits);
  }

  /** How long the clients of a network have to wait, in milliseconds; 0: not at all. @param address of a client */
  waitMs(address: string): number {
    return this.#book.waitMs(clientNetwork(address), this.#clock.monotonicMs());
  }

  /** @param address of a client @throws {ServiceError} `RATE_LIMITED` with `retry_after_seconds` */
  requireOpen(address: string): void {
    const seconds = Math.ceil(this.waitMs(address) / 1000);
    if (seconds === 0) return;
    throw new ServiceError('RATE_LIMITED', `${this.#refusal}; wait ${seconds} seconds`, {
      details: { retry_after_seconds: seconds },
    });
  }

  /** @param address of a client */
  count(address: string): void {
    this.#book.count(clientNetwork(address), this.#clock.monotonicMs());
  }

  /** Takes one back that was counted too early. @param address of a client */
  takeBack(address: string): void {
    this.#book.takeBack(clientNetwork(address));
  }
}
