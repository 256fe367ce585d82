import type { NatsConnection } from '#cluster/nats/connection.ts';
import type { MemberFinding } from '#protocols/rest/ports.ts';
import type { Clock, Timer } from '#runtime/base/time/clock.ts';
import type { SpaceGate } from '#runtime/space/space-gate.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import { readServerStorage } from '#cluster/nats/server-storage.ts';
import { readStreamPulse } from '#cluster/nats/stream-pulse.ts';
import type { Subjects } from '#cluster/nats/subjects.ts';
import { LogClock, SKEW_ALARM_MS } from '#cluster/replication/log-clock.ts';
import type { LogStream } from '#cluster/replication/log-stream.ts';
import type { PartitionLog } from '#cluster/replication/partition-log.ts';
import type { Moment } from '#cluster/replication/read-lease.ts';

/** Interval of the checks of the logs, in milliseconds: writes in between must fit above the marks. */
const CHECK_MS = 1_000;

/** Number of checks of the logs per check of the servers' stores, which fill more slowly. */
const CHECKS_PER_SERVER_CHECK = 5;

const MS_PER_SECOND = 1_000;

/** Dependencies of the watch. */
export interface LogWatchEnvironment {
  readonly connection: NatsConnection;
  readonly subjects: Subjects;
  /** `[cluster] nats_monitor_urls` */
  readonly monitorUrls: readonly string[];
  readonly gate: SpaceGate;
  readonly clock: Clock;
  readonly log: Log;
}

/** A log that this member writes, and its clock. */
interface WatchedLog {
  readonly log: PartitionLog;
  readonly clock: LogClock;
}

/**
 * Checks once a second the logs that this member writes: their fill levels, and the skew of this member's clock.
 * Every five seconds it reads the fill levels of the servers from their monitoring pages.
 *
 * @see docs/partition-log.md#clocks-of-members; docs/decisions/0023-disk-space-limits.md
 */
export class LogWatch {
  readonly #environment: LogWatchEnvironment;
  /** Logs that this member writes, by partition. */
  readonly #open = new Map<number, WatchedLog>();
  /** The clocks of all logs that this member has written: their state counts when it writes them again. */
  readonly #clocks = new Map<number, LogClock>();
  readonly #servers = new Map<string, string>();
  #looks = 0;
  #isSkewed = false;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(environment: LogWatchEnvironment) {
    this.#environment = environment;
  }

  start(): void {
    void this.#check().finally(() => this.#schedule());
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  /**
   * Returns the clock for the writer of a log that was just opened: before the first revision is made, it is compared
   * with the stream's time of the opening record.
   */
  async clockOf(partition: number, log: PartitionLog, stream: LogStream): Promise<LogClock> {
    const clock = this.#clocks.get(partition) ?? new LogClock(this.#environment.clock);
    this.#clocks.set(partition, clock);
    clock.forget();
    const { sequence, sent, seen } = log.newestStored;
    try {
      const record = await stream.fetch(sequence);
      if (record !== undefined) clock.note(record.storedMs, sent, seen);
    } catch {
      // Without a reply the first check shows it.
    }
    this.#open.set(partition, { log, clock });
    this.#tellSkew();
    return clock;
  }

  /** The largest lead of the wall clock over the logs, in milliseconds; negative: behind. */
  get skewMs(): number {
    let most = 0;
    for (const { clock } of this.#open.values())
      if (Math.abs(clock.skewMs) > Math.abs(most)) most = clock.skewMs;
    return most;
  }

  /** The status findings about the clock. */
  get findings(): readonly MemberFinding[] {
    const { skewMs } = this;
    if (Math.abs(skewMs) <= SKEW_ALARM_MS) return [];
    const seconds = Math.round(Math.abs(skewMs) / MS_PER_SECOND);
    const where = skewMs > 0 ? 'ahead of' : 'behind';
    return [
      {
        code: 'clock-skew',
        message: `its wall clock is ${seconds} s ${where} the clocks of the NATS servers`,
      },
    ];
  }

  #schedule(): void {
    if (this.#isStopped) return;
    this.#timer = this.#environment.clock.after(CHECK_MS, () => this.start());
  }

  /** Never rejects. */
  async #check(): Promise<void> {
    for (const [partition, { log }] of this.#open) if (log.ended !== undefined) this.#forget(partition);
    // A step is measured from the last check: other members write meanwhile.
    for (const { steps } of this.#clocks.values()) steps.now();
    const isServersTurn = this.#looks % CHECKS_PER_SERVER_CHECK === 0;
    this.#looks += 1;
    await Promise.all([
      ...[...this.#open].map(([partition, watched]) => this.#lookAt(partition, watched)),
      ...(isServersTurn ? this.#environment.monitorUrls.map((url) => this.#checkServer(url)) : []),
    ]);
    this.#tellSkew();
  }

  async #lookAt(partition: number, watched: WatchedLog): Promise<void> {
    const { clock, connection, gate, subjects } = this.#environment;
    const before = watched.log.newestStored;
    const pulse = await readStreamPulse(connection, subjects.logStream(partition));
    if (pulse === undefined || watched.log.ended !== undefined || this.#isStopped) return;
    const { freeBytes, lastSequence, lastStoredMs, usedBytes } = pulse;
    if (freeBytes !== undefined) gate.note(placeOf(partition), partition, { usedBytes, freeBytes });
    // The newest message was stored after the previously known one, and before this reply.
    if (lastSequence < before.sequence) return;
    const now: Moment = { monotonicMs: clock.monotonicMs(), wallMs: clock.wallMs() };
    const seen = lastSequence === before.sequence ? before.seen : now;
    watched.clock.note(lastStoredMs, before.sent, seen);
  }

  async #checkServer(url: string): Promise<void> {
    const { gate } = this.#environment;
    const storage = await readServerStorage(url);
    const known = this.#servers.get(url);
    if (storage === undefined) {
      if (known !== undefined) gate.forget(known);
      return;
    }
    const place = `the store of NATS server ${storage.server}`;
    this.#servers.set(url, place);
    gate.note(place, 'member', storage);
  }

  #forget(partition: number): void {
    this.#open.delete(partition);
    this.#clocks.get(partition)?.forget();
    this.#environment.gate.forget(placeOf(partition));
  }

  #tellSkew(): void {
    const { skewMs } = this;
    const isSkewed = Math.abs(skewMs) > SKEW_ALARM_MS;
    if (isSkewed === this.#isSkewed) return;
    this.#isSkewed = isSkewed;
    const { log } = this.#environment;
    if (isSkewed) log.warn('clock: the wall clock differs from those of the NATS servers', { skewMs });
    else log.info('clock: the wall clock agrees with those of the NATS servers again', { skewMs });
  }
}

function placeOf(partition: number): string {
  return `the log of partition ${partition}`;
}
