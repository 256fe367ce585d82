import type { Clock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';

/** Least time between two lines, in milliseconds: tenants choose how often requests fail. */
const BETWEEN_LINES_MS = 1_000;

/** Tells the operator why requests of one purpose fail, with what callers must not know. */
export class FailureLog {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #purpose: string;
  #lastMs = Number.NEGATIVE_INFINITY;
  #left = 0;

  constructor(log: Log, clock: Clock, purpose: string) {
    this.#log = log;
    this.#clock = clock;
    this.#purpose = purpose;
  }

  /** Writes a line for an error with a cause, if the last line is old enough; otherwise the next line counts it. */
  write(error: unknown, tenant: string): void {
    if (!(error instanceof ServiceError) || error.cause === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#lastMs < BETWEEN_LINES_MS) {
      this.#left += 1;
      return;
    }
    const { cause, code, message } = error;
    const facts = { purpose: this.#purpose, tenant, code, text: message, error: cause, leftOut: this.#left };
    this.#log.info('an outgoing request failed', facts);
    this.#lastMs = nowMs;
    this.#left = 0;
  }
}
