import type { PartitionRole } from '#cluster/ownership/partition-environment.ts';
import type { AppendOutcome } from '#cluster/replication/log-stream.ts';
import type { LogEvent } from '#cluster/replication/log-events.ts';
import { type Counter, flushSecondsBounds, type Histogram } from '#runtime/telemetry/instruments.ts';
import type { Metrics } from '#runtime/telemetry/metrics.ts';

const MS_PER_SECOND = 1000;

/** Metrics of this member's work on the partitions of a cluster. */
export class PartitionMetrics {
  readonly #events: Readonly<Partial<Record<LogEvent['kind'], Counter>>>;
  readonly #appendSeconds: Histogram;
  readonly #refusedAppends: Counter;

  /** @param roles returns this member's current role for each partition it has data of */
  constructor(metrics: Metrics, roles: () => Iterable<PartitionRole>) {
    const count = (...wanted: PartitionRole[]): number => {
      let found = 0;
      for (const role of roles()) if (wanted.includes(role)) found += 1;
      return found;
    };
    metrics.gauge('svc_partitions_owned', 'Partitions this member owns.', () => count('owning'));
    metrics.gauge('svc_partitions_followed', 'Partitions this member follows.', () =>
      count('following', 'opening'),
    );
    metrics.gauge('svc_partitions_quarantined', 'Partitions this member does nothing more for.', () =>
      count('quarantined'),
    );
    this.#events = {
      opened: metrics.counter('svc_partition_openings_total', 'Partitions this member took over.'),
      fenced: metrics.counter('svc_partition_fences_total', 'Partitions another member took from this one.'),
      'outcome-unknown': metrics.counter(
        'svc_append_unknown_outcomes_total',
        'Times it had to be found out what became of appends.',
      ),
      'void-record': metrics.counter('svc_void_records_total', 'Records read that do not count.'),
      'storage-full': metrics.counter('svc_log_full_total', 'Times a log had no space.'),
    };
    this.#appendSeconds = metrics.histogram(
      'svc_append_seconds',
      'Time NATS takes to store a record on most servers.',
      flushSecondsBounds,
    );
    this.#refusedAppends = metrics.counter('svc_appends_refused_total', 'Records NATS did not store.');
  }

  /** Counts an event of a log. */
  event({ kind }: LogEvent): void {
    this.#events[kind]?.add();
  }

  /** Counts one append. @param elapsedMs from sending it until its outcome was known */
  append({ kind }: AppendOutcome, elapsedMs: number): void {
    if (kind === 'stored') this.#appendSeconds.observe(elapsedMs / MS_PER_SECOND);
    else this.#refusedAppends.add();
  }
}
