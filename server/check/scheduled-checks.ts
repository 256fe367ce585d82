import type { Checks } from '#protocols/rest/management/check-ports.ts';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import type { CheckResults } from './check-results.ts';

/** Time between two looks at whether a check is due, in milliseconds. */
const LOOK_MS = 10 * 60 * 1000;

const MS_PER_HOUR = 3_600_000;

/** Dependencies of {@link ScheduledChecks}. */
export interface ScheduledChecksEnvironment {
  readonly checks: Pick<Checks, 'start'>;
  readonly results: Pick<CheckResults, 'begin' | 'isUnreadable' | 'sinceMs'>;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  /** Time between two checks in hours; 0: none is started. */
  readonly intervalHours: number;
}

/**
 * Starts a check of the stored data of this member when the last complete one is old, so that damage of data that nobody reads
 * is found while there are copies of it. A scan verifies only what leaves it.
 *
 * The first look is some minutes after the start. A check that fails, is cancelled or cannot start is tried again at the next
 * look.
 */
export class ScheduledChecks {
  readonly #environment: ScheduledChecksEnvironment;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(environment: ScheduledChecksEnvironment) {
    this.#environment = environment;
    if (environment.results.isUnreadable)
      environment.log.warn('last-check.json cannot be read: what the last check found is not known');
    if (environment.intervalHours === 0) return;
    environment.results.begin().catch((error: unknown) => {
      environment.log.warn('time of the next check could not be written', { error });
    });
    this.#schedule();
  }

  /** No check is started any more. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#timer = this.#environment.clock.after(
      LOOK_MS,
      () => void this.#look().then(() => this.#schedule()),
    );
  }

  async #look(): Promise<void> {
    const { checks, clock, intervalHours, log, results } = this.#environment;
    const sinceMs = clock.wallMs() - results.sinceMs;
    // A clock that was set back must not put checks off for good.
    if (sinceMs >= 0 && sinceMs < intervalHours * MS_PER_HOUR) return;
    try {
      await checks.start();
    } catch (error) {
      log.warn('scheduled check could not start', { error });
    }
  }
}
