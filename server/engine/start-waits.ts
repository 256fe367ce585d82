import { backoffMs } from '#runtime/base/time/backoff.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import { NotThereYetError } from '#cluster/nats/not-there-yet.ts';
import { isPassing } from '#cluster/nats/patience.ts';

const RETRY = { firstMs: 100, factor: 2, mostMs: 2_000 };

/** Time between two log lines about the same wait, in milliseconds. */
const REPEAT_MS = 10_000;

/** Dependencies of the waits. */
export interface StartWaitsEnvironment {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/**
 * The waits of a start. Members, NATS servers and networks start in any order, so a member waits for its dependencies
 * without a time limit, and logs what it waits for: at once, and every {@link REPEAT_MS}. An error that only a change
 * of the configuration can repair ends the start.
 */
export class StartWaits {
  readonly #environment: StartWaitsEnvironment;

  constructor(environment: StartWaitsEnvironment) {
    this.#environment = environment;
  }

  /**
   * Repeats a step until it succeeds.
   *
   * @param what completes "waiting for …"
   * @param step must be safe to repeat
   * @throws errors that waiting cannot repair
   */
  async until<T>(what: string, step: () => Promise<T>): Promise<T> {
    const { clock, log, random } = this.#environment;
    const startedMs = clock.monotonicMs();
    let reportedMs = Number.NEGATIVE_INFINITY;
    for (let retries = 0; ; retries += 1) {
      try {
        return await step();
      } catch (error) {
        if (!mayPass(error)) throw error;
        const nowMs = clock.monotonicMs();
        if (nowMs - reportedMs >= REPEAT_MS) {
          reportedMs = nowMs;
          const reason = error instanceof Error ? error.message : String(error);
          log.warn(`waiting for ${what}`, { reason, waitedS: Math.round((nowMs - startedMs) / 1_000) });
        }
      }
      await sleep(clock, backoffMs(RETRY, retries, random));
    }
  }
}

function mayPass(error: unknown): boolean {
  if (error instanceof NotThereYetError) return true;
  if (error instanceof ServiceError) return error.entry.status === 503;
  return isPassing(error);
}
