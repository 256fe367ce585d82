import type { ActorId } from '#runtime/actor/ports.ts';
import { type Backoff, backoffMs } from '#runtime/base/time/backoff.ts';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import type { FeedConsumer, OutsideConsumer } from './consumer.ts';

/** Waits before another attempt: for a branch that is not removed yet, and after a failure. */
const RETRIES: Backoff = { firstMs: 250, factor: 2, mostMs: 60_000 };

/** Branches whose consumers are told at a time. */
const TOLD_MAX = 4;

/** Dependencies of {@link EndedBranches}. */
export interface EndedBranchesEnvironment {
  /** Whether a branch was removed, and no consumer is given any of it here. */
  readonly isRemoved: (branch: ActorId) => Promise<boolean>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly consumers: readonly FeedConsumer[];
  /** Removes the record of a branch: every consumer was told. */
  readonly forget: (branch: ActorId) => Promise<void>;
}

interface Ending {
  readonly branch: ActorId;
  /** Consumers that this process has told. */
  readonly told: Set<string>;
  attempts: number;
  retry: Timer | undefined;
}

/**
 * Tells consumers with effects elsewhere which branches were removed. Each removal is recorded before it begins, and the
 * record is removed after every consumer was told, so each is told at least once; more than once only after a crash in
 * between. A branch that is not removed yet is waited for.
 */
export class EndedBranches {
  readonly #environment: EndedBranchesEnvironment;
  readonly #consumers: readonly OutsideConsumer[];
  readonly #endings = new Map<ActorId, Ending>();
  /** Those to be looked at, in order. */
  readonly #ready = new Set<Ending>();
  readonly #attempts = new Set<Promise<void>>();
  #isClosed = false;

  constructor(environment: EndedBranchesEnvironment) {
    this.#environment = environment;
    this.#consumers = environment.consumers.filter((consumer) => consumer.effects === 'elsewhere');
  }

  /** Whether there is a consumer to be told: otherwise removals need no record. */
  get hasConsumers(): boolean {
    return this.#consumers.length > 0;
  }

  /** Number of recorded branches that consumers were not told of, as far as is known here. */
  get size(): number {
    return this.#endings.size;
  }

  /** Branches were recorded, or removed since. */
  notice(branches: readonly ActorId[]): void {
    if (this.#isClosed) return;
    for (const branch of branches) {
      const ending = this.#endings.get(branch) ?? { branch, told: new Set(), attempts: 0, retry: undefined };
      this.#endings.set(branch, ending);
      ending.retry?.cancel();
      this.#ready.add(ending);
    }
    this.#run();
  }

  /** Tells nobody else, and waits for consumers that are being told. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { retry } of this.#endings.values()) retry?.cancel();
    this.#ready.clear();
    await Promise.all(this.#attempts);
    this.#endings.clear();
  }

  #run(): void {
    for (const ending of this.#ready) {
      if (this.#attempts.size >= TOLD_MAX) return;
      this.#ready.delete(ending);
      const attempt: Promise<void> = this.#attempt(ending).finally(() => {
        this.#attempts.delete(attempt);
        this.#run();
      });
      this.#attempts.add(attempt);
    }
  }

  /** Never rejects. */
  async #attempt(ending: Ending): Promise<void> {
    const { isRemoved, log } = this.#environment;
    const { branch } = ending;
    try {
      if (await isRemoved(branch)) await this.#tell(ending);
      else this.#later(ending);
    } catch (error) {
      log.warn('a consumer of a change feed could not be told that a branch was removed; it is tried again', {
        actor: branch,
        error,
      });
      this.#later(ending);
    }
  }

  async #tell({ branch, told }: Ending): Promise<void> {
    for (const consumer of this.#consumers) {
      if (this.#isClosed) return;
      if (told.has(consumer.name)) continue;
      await consumer.ended(branch);
      told.add(consumer.name);
    }
    await this.#environment.forget(branch);
    this.#endings.delete(branch);
  }

  #later(ending: Ending): void {
    const { clock, random } = this.#environment;
    if (this.#isClosed) return;
    const again = (): void => {
      this.#ready.add(ending);
      this.#run();
    };
    ending.retry?.cancel();
    ending.retry = clock.after(backoffMs(RETRIES, ending.attempts, random), again);
    ending.attempts += 1;
  }
}
