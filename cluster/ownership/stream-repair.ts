import { type Backoff, backoffMs } from '#runtime/base/time/backoff.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { isOtherRecord } from '#cluster/replication/log-errors.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';
import type { FlushedReplica } from '#cluster/replica-durability/flushed-replica.ts';
import { mayPass } from './passing-failure.ts';

/** Interval of the attempts, in milliseconds. */
const RETRY_MS = 1000;

/** Interval of the attempts when the stream had other records, in milliseconds: each check compares many messages. */
const OTHER_RECORD_RETRY_MS = 10_000;

/**
 * Time before another leader of the stream is requested, for the first time and again. The leader may stay the same: a
 * server of 2.9 that names its successor stays leader when that one does not take over.
 */
const LEADER: Backoff = { firstMs: 15_000, factor: 1.5, mostMs: 600_000 };

/** Dependencies of the repair. */
export interface StreamRepairOptions {
  readonly flushed: Pick<FlushedReplica, 'mend' | 'requestOtherLeader'>;
  readonly clock: Clock;
  readonly random: Random;
  /** Position of the shards. */
  readonly position: () => LogPosition | undefined;
  /** Called after each attempt with the reason why it failed, for operators; undefined after a success. */
  readonly hear: (trouble: string | undefined) => void;
  /** Called when the stream is complete. @param signal aborts when the result is no longer needed */
  readonly onWhole: (signal: AbortSignal) => void;
  /** Called when an operator must decide. */
  readonly onFailure: (cause: unknown) => void;
}

/**
 * Tries to repair a stream that lost its end, repeatedly, while its partition is in quarantine for that. If this
 * fails it requests other leaders, which may have the end, until each server with a copy has led and lacked the end.
 * A stream with other records is not written to, only checked: following resumes when it has its former records
 * again.
 *
 * @see docs/partition-log.md#a-log-that-lost-its-end
 */
export class StreamRepair {
  readonly #options: StreamRepairOptions;
  #controller: AbortController | undefined;

  constructor(options: StreamRepairOptions) {
    this.#options = options;
  }

  /** Starts, or starts again. */
  begin(): void {
    this.stop();
    this.#controller = new AbortController();
    void this.#run(this.#controller.signal);
  }

  /** Cancels it. */
  stop(): void {
    this.#controller?.abort();
  }

  /** Never rejects. */
  async #run(signal: AbortSignal): Promise<void> {
    const { clock, flushed, hear, onFailure, onWhole, position } = this.#options;
    const leaders = new LeaderDoubts(this.#options);
    let hasFailed = false;
    for (let retryMs = RETRY_MS; ; ) {
      await sleep(clock, retryMs);
      if (signal.aborted) return;
      try {
        const trouble = await flushed.mend(position());
        hear(trouble);
        if (trouble === undefined) break;
        hasFailed = false;
        retryMs = RETRY_MS;
      } catch (cause) {
        if (signal.aborted) return;
        if (mayPass(cause)) {
          hear((cause as Error).message);
          continue;
        }
        if (!hasFailed) onFailure(cause);
        if (!isOtherRecord(cause)) return;
        hasFailed = true;
        retryMs = OTHER_RECORD_RETRY_MS;
      }
      if (!signal.aborted) await leaders.doubt().catch(onFailure);
    }
    onWhole(signal);
  }
}

/** Requests one leader after another. A server that cannot be asked is asked at the next check. */
class LeaderDoubts {
  readonly #options: StreamRepairOptions;
  /** Servers that led, lacked the end, and were asked to step down. */
  readonly #asked = new Set<string>();
  #retries = 0;
  #nextMs: number;
  #isOver = false;

  constructor(options: StreamRepairOptions) {
    this.#options = options;
    this.#nextMs = options.clock.monotonicMs() + backoffMs(LEADER, 0, options.random);
  }

  async doubt(): Promise<void> {
    const { clock, flushed, position, random } = this.#options;
    if (this.#isOver || clock.monotonicMs() < this.#nextMs) return;
    const doubted = await flushed.requestOtherLeader(position());
    if (doubted === undefined) return;
    this.#asked.add(doubted.leader);
    this.#isOver = doubted.servers.every((server) => this.#asked.has(server));
    this.#retries += 1;
    this.#nextMs = clock.monotonicMs() + backoffMs(LEADER, this.#retries, random);
  }
}
