import type { ClusterOverview } from '#protocols/rest/ports.ts';
import {
  type ClusterWarningCode,
  clusterWarnings,
  clusterWarningSeverities,
} from '#protocols/rest/management/cluster-warnings.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { LabelledValue, Metrics } from '#runtime/telemetry/metrics.ts';

/** Minimum interval of readings of the status, in milliseconds. Each sends requests to other members and NATS. */
const READ_MS = 10_000;

/** Source of the status metrics. */
export interface StatusSource {
  readonly clock: Clock;
  readonly mode: ClusterOverview['mode'];
  /** Reads the status; rejects while the member starts. */
  readonly read: (signal: AbortSignal) => Promise<ClusterOverview>;
}

const codes = Object.keys(clusterWarningSeverities) as readonly ClusterWarningCode[];

/**
 * Exports the status as metrics: its warnings by code, and this member's lag in the partitions it follows.
 *
 * A collector gets the values of the last reading at once, and triggers a new reading for the next time, because
 * during an outage reading takes up to two seconds.
 */
export class StatusMetrics {
  readonly #source: StatusSource;
  readonly #end = new AbortController();
  /** Undefined before the first reading, and after a failed one. */
  #overview: ClusterOverview | undefined;
  #readMs = Number.NEGATIVE_INFINITY;

  constructor(metrics: Metrics, source: StatusSource) {
    this.#source = source;
    metrics.gauges('svc_warnings', 'Warnings of the status, by code and severity.', () => this.#warnings());
    if (source.mode === 'embedded') return;
    metrics.gauges(
      'svc_follower_records_behind',
      'Records of a followed partition that this member has not applied yet.',
      () => this.#recordsBehind(),
    );
  }

  /** Reads the status now. Never rejects. */
  async refresh(): Promise<void> {
    this.#readMs = this.#source.clock.monotonicMs();
    try {
      this.#overview = await this.#source.read(this.#end.signal);
    } catch {
      this.#overview = undefined;
    }
  }

  /** Stops all readings. */
  stop(): void {
    this.#readMs = Number.POSITIVE_INFINITY;
    this.#end.abort();
  }

  #latest(): ClusterOverview | undefined {
    if (this.#source.clock.monotonicMs() - this.#readMs >= READ_MS) void this.refresh();
    return this.#overview;
  }

  /** Returns every code, so that a new warning changes an existing series. */
  #warnings(): readonly LabelledValue[] {
    const overview = this.#latest();
    if (overview === undefined) return [];
    const counts = new Map<ClusterWarningCode, number>(codes.map((code) => [code, 0]));
    for (const { code } of clusterWarnings(overview)) counts.set(code, (counts.get(code) as number) + 1);
    return [...counts].map(([code, value]) => ({
      labels: { code, severity: clusterWarningSeverities[code] },
      value,
    }));
  }

  #recordsBehind(): readonly LabelledValue[] {
    const overview = this.#latest();
    const self = overview?.members.find(({ isSelf }) => isSelf)?.id;
    return (overview?.partitions ?? []).flatMap(({ followers, partition }) => {
      const behind = followers.find(({ member }) => member === self)?.recordsBehind;
      return behind === undefined ? [] : [{ labels: { partition: String(partition) }, value: behind }];
    });
  }
}
