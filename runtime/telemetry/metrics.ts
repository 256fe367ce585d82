import { collectDefaultMetrics, type Metric, type MetricValue, Registry } from 'prom-client';

import { assert } from '#runtime/base/assert.ts';
import type { EventLoopLag } from './event-loop-lag.ts';
import {
  batchBytesBounds,
  batchCommandsBounds,
  commitSecondsBounds,
  Counter,
  flushSecondsBounds,
  Histogram,
  routeSecondsBounds,
} from './instruments.ts';

/** Limit of label sets of one metric: each costs memory here and in every system that collects them. */
const seriesMax = 2_000;

const statusClasses = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const;

/** Classes that few routes answer; they are exported only when their count is not zero. */
const rareClasses: ReadonlySet<string> = new Set(['1xx', '3xx']);

type Labels = Readonly<Record<string, string>>;

/** A value with the labels that identify it. */
export interface LabelledValue {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

type Sample = MetricValue<string> & { readonly metricName?: string };

/** Metrics of one method of one route; found once at set-up, so that a request needs no look-up. */
export class HttpRouteMetrics {
  /** Requests by status class, index 0 for 1xx. */
  readonly byStatusClass: readonly Counter[] = statusClasses.map(() => new Counter());
  /** Seconds from the request's head to the end of its answer. */
  readonly seconds = new Histogram(routeSecondsBounds);

  /**
   * Counts one answered request.
   *
   * @param status HTTP status, 100 to 599
   * @param seconds from the request's head to the end of its answer
   */
  observe(status: number, seconds: number): void {
    const counter = this.byStatusClass[Math.floor(status / 100) - 1];
    assert(counter !== undefined, `HTTP status ${status} does not exist`);
    counter.add();
    this.seconds.observe(seconds);
  }
}

/**
 * The metrics of a member in the text format of Prometheus. Instruments are plain objects, and their values are read by
 * {@link Metrics.text} only, so that counting a request costs tens of nanoseconds. Names start with `svc_`, times are
 * in seconds, sizes in bytes.
 */
export class Metrics {
  readonly #registry = new Registry();
  readonly #routes = new Map<string, { readonly labels: Labels; readonly metrics: HttpRouteMetrics }>();

  /** Batches that became durable. */
  readonly commitBatches: Counter;
  /** Commands in one batch. */
  readonly batchCommands: Histogram;
  /** Bytes of one batch in the journal. */
  readonly batchBytes: Histogram;
  /** Seconds from the arrival of a command to its durable answer. */
  readonly commitSeconds: Histogram;
  /** Seconds of one journal write with its flush; under `relaxed` of the flush alone. */
  readonly journalFsyncSeconds: Histogram;

  /** @param settings `collectDefaults` adds process and garbage collection metrics; off in tests */
  constructor(settings: { readonly collectDefaults?: boolean } = {}) {
    if (settings.collectDefaults === true) collectDefaultMetrics({ register: this.#registry });
    this.#export('svc_http_requests_total', 'Requests answered.', 'counter', () => this.#requestSamples());
    // Most routes are never requested, and an empty histogram has no information.
    this.#export('svc_http_request_seconds', 'Time to answer a request.', 'histogram', (name) =>
      [...this.#routes.values()].flatMap(({ labels, metrics }) =>
        metrics.seconds.count === 0 ? [] : histogramSamples(name, metrics.seconds, labels),
      ),
    );
    this.commitBatches = this.counter('svc_commit_batches_total', 'Batches that became durable.');
    this.batchCommands = this.histogram(
      'svc_commit_batch_commands',
      'Commands in one batch.',
      batchCommandsBounds,
    );
    this.batchBytes = this.histogram('svc_commit_batch_bytes', 'Bytes of one batch.', batchBytesBounds);
    this.commitSeconds = this.histogram(
      'svc_commit_seconds',
      'Time from the arrival of a command to its durable answer.',
      commitSecondsBounds,
    );
    this.journalFsyncSeconds = this.histogram(
      'svc_journal_fsync_seconds',
      'Time of one journal write with its flush; under relaxed of a flush alone.',
      flushSecondsBounds,
    );
  }

  /**
   * The metrics of one route and method; the same object at every call.
   *
   * @param route the pattern (`/api/workspaces/:repo`), never the path of a request
   */
  httpRoute(method: string, route: string): HttpRouteMetrics {
    const key = `${method} ${route}`;
    const known = this.#routes.get(key);
    if (known !== undefined) return known.metrics;
    assert(this.#routes.size < seriesMax, 'route metrics are bounded: pass route patterns, not addresses');
    const metrics = new HttpRouteMetrics();
    this.#routes.set(key, { labels: { method, route }, metrics });
    return metrics;
  }

  /** A new counter; the name ends in `_total`. */
  counter(name: string, help: string): Counter {
    assert(name.endsWith('_total'), `counter ${name} ends in _total`);
    const counter = new Counter();
    this.#export(name, help, 'counter', () => [{ labels: {}, value: counter.value }]);
    return counter;
  }

  /** A new histogram; the name ends in the unit of its bounds. */
  histogram(name: string, help: string, bounds: readonly number[]): Histogram {
    const histogram = new Histogram(bounds);
    this.#export(name, help, 'histogram', (exported) => histogramSamples(exported, histogram, {}));
    return histogram;
  }

  /** A value that rises and falls; it is read only when the metrics are exported. */
  gauge(name: string, help: string, read: () => number): void {
    this.#export(name, help, 'gauge', () => [{ labels: {}, value: read() }]);
  }

  /**
   * Labelled values of one kind that rise and fall; they are read only when the metrics are exported.
   *
   * @param read at most 2,000 values: labels must be bounded sets, such as codes and partitions, never caller input
   */
  gauges(name: string, help: string, read: () => readonly LabelledValue[]): void {
    this.#export(name, help, 'gauge', () => {
      const values = read();
      assert(values.length <= seriesMax, `the series of ${name} are bounded`);
      return values.map(({ labels, value }) => ({ labels: { ...labels }, value }));
    });
  }

  /** @param read bytes of durable write-sets that are not yet in their shard */
  watchMemtableBytes(read: () => number): void {
    this.gauge('svc_memtable_bytes', 'Bytes of write-sets not yet applied to their shard.', read);
  }

  /** @param read number of actors with an open shard */
  watchOpenActors(read: () => number): void {
    this.gauge('svc_open_actors', 'Actors with an open shard.', read);
  }

  /** @param read number of requests not yet answered */
  watchInFlightRequests(read: () => number): void {
    this.gauge('svc_in_flight_requests', 'Requests that have not been answered yet.', read);
  }

  /** Exports the event loop lag. */
  watchEventLoopLag({ seconds }: EventLoopLag): void {
    this.#export('svc_event_loop_lag_seconds', 'Lag of the event loop.', 'histogram', (name) =>
      histogramSamples(name, seconds, {}),
    );
  }

  /** All metrics as text. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** The `Content-Type` of {@link Metrics.text}. */
  get contentType(): string {
    return this.#registry.contentType;
  }

  #requestSamples(): Sample[] {
    return [...this.#routes.values()].flatMap(({ labels, metrics }) =>
      statusClasses.flatMap((status, index) => {
        const { value } = metrics.byStatusClass[index] as Counter;
        return value === 0 && rareClasses.has(status) ? [] : [{ labels: { ...labels, status }, value }];
      }),
    );
  }

  /**
   * prom-client's own instruments check and hash their labels at every call: 450 ns for one request, measured, against
   * 35 ns here. A registry uses only the name and `get()` of a metric, so ours answer from plain fields instead.
   */
  #export(
    name: string,
    help: string,
    type: 'counter' | 'gauge' | 'histogram',
    read: (name: string) => Sample[],
  ): void {
    assert(/^svc_[a-z0-9_]+$/.test(name), `metric name ${name} is svc_ and lower case`);
    assert(this.#registry.getSingleMetric(name) === undefined, `metric ${name} exists once`);
    const exported = {
      name,
      help,
      type,
      aggregator: 'sum',
      get: () => Promise.resolve({ name, help, type, values: read(name), aggregator: 'sum' }),
      reset: () => undefined,
    };
    this.#registry.registerMetric(exported as unknown as Metric<string>);
  }
}

function histogramSamples(name: string, histogram: Histogram, labels: Labels): Sample[] {
  const counts = histogram.cumulativeCounts();
  const buckets: Sample[] = histogram.bounds.map((bound, index) => ({
    metricName: `${name}_bucket`,
    labels: { ...labels, le: bound },
    value: counts[index] as number,
  }));
  return [
    ...buckets,
    { metricName: `${name}_bucket`, labels: { ...labels, le: '+Inf' }, value: histogram.count },
    { metricName: `${name}_sum`, labels: { ...labels }, value: histogram.sum },
    { metricName: `${name}_count`, labels: { ...labels }, value: histogram.count },
  ];
}
