import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';

import { InvariantError } from '#runtime/base/assert.ts';
import { sleep, systemClock } from '#runtime/base/time/clock.ts';
import { EventLoopLag } from '#runtime/telemetry/event-loop-lag.ts';
import { Counter, Histogram } from '#runtime/telemetry/instruments.ts';
import { Metrics } from '#runtime/telemetry/metrics.ts';

/** The samples of a page: name with labels, and value. */
async function samplesOf(metrics: Metrics): Promise<Map<string, number>> {
  const lines = (await metrics.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const cut = line.lastIndexOf(' ');
      return [line.slice(0, cut), Number(line.slice(cut + 1))];
    }),
  );
}

describe('Counter', () => {
  it('adds up', () => {
    const counter = new Counter();
    counter.add();
    counter.add(4);
    expect(counter.value).toBe(5);
  });
});

describe('Histogram', () => {
  it('counts an observation at a bound into the bucket of that bound', () => {
    const histogram = new Histogram([1, 2]);
    for (const value of [0.5, 1, 1.5, 2, 3]) histogram.observe(value);
    expect(histogram.cumulativeCounts()).toEqual([2, 4]);
    expect([histogram.count, histogram.sum]).toEqual([5, 8]);
  });

  it('agrees with counting by hand for any bounds and observations', () => {
    const values = fc.array(fc.integer({ min: -5, max: 40 }), { maxLength: 50 });
    const bounds = fc.uniqueArray(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(bounds, values, (unsorted, observed) => {
        const sorted = unsorted.sort((a, b) => a - b);
        const histogram = new Histogram(sorted);
        for (const value of observed) histogram.observe(value);
        expect(histogram.cumulativeCounts()).toEqual(
          sorted.map((bound) => observed.filter((value) => value <= bound).length),
        );
        expect(histogram.count).toBe(observed.length);
      }),
    );
  });

  it.each([[[]], [[2, 1]], [[1, 1]]])('refuses bounds that do not rise: %j', (bounds) => {
    expect(() => new Histogram(bounds)).toThrow(InvariantError);
  });
});

describe('Metrics', () => {
  it('exports requests by route, method and class of status', async () => {
    const metrics = new Metrics();
    const get = metrics.httpRoute('GET', '/api/workspaces/:repo');
    get.observe(200, 0.0002);
    get.observe(204, 0.003);
    get.observe(404, 20);
    metrics.httpRoute('POST', '/api/workspaces/:repo').observe(503, 0.1);
    const samples = await samplesOf(metrics);
    const labels = 'method="GET",route="/api/workspaces/:repo"';
    expect(samples.get(`svc_http_requests_total{${labels},status="2xx"}`)).toBe(2);
    expect(samples.get(`svc_http_requests_total{${labels},status="4xx"}`)).toBe(1);
    expect(samples.get(`svc_http_requests_total{${labels},status="5xx"}`)).toBe(0);
    expect(samples.get(`svc_http_request_seconds_bucket{${labels},le="0.0005"}`)).toBe(1);
    expect(samples.get(`svc_http_request_seconds_bucket{${labels},le="10"}`)).toBe(2);
    expect(samples.get(`svc_http_request_seconds_bucket{${labels},le="+Inf"}`)).toBe(3);
    expect(samples.get(`svc_http_request_seconds_count{${labels}}`)).toBe(3);
    expect(samples.get(`svc_http_request_seconds_sum{${labels}}`)).toBeCloseTo(20.0032);
  });

  it('has few series for a route: classes that alarms count from the start, all else once there is something', async () => {
    const metrics = new Metrics();
    const route = metrics.httpRoute('GET', '/api/a');
    const seriesOf = async (): Promise<string[]> =>
      [...(await samplesOf(metrics)).keys()].filter((name) => name.includes('route="/api/a"'));
    expect((await seriesOf()).map((name) => /status="(\dxx)"/.exec(name)?.[1])).toEqual([
      '2xx',
      '4xx',
      '5xx',
    ]);
    route.observe(304, 0.001);
    expect(await seriesOf()).toHaveLength(4 + 8 + 3);
    expect(
      (await samplesOf(metrics)).get('svc_http_requests_total{method="GET",route="/api/a",status="3xx"}'),
    ).toBe(1);
  });

  it('exports one value for each set of labels that exists at that moment', async () => {
    const metrics = new Metrics();
    const values = [{ labels: { code: 'a', severity: 'alarm' }, value: 2 }];
    metrics.gauges('svc_things', 'Things.', () => values);
    expect([...(await samplesOf(metrics))].filter(([name]) => name.startsWith('svc_things'))).toEqual([
      ['svc_things{code="a",severity="alarm"}', 2],
    ]);
    values.pop();
    expect([...(await samplesOf(metrics)).keys()].filter((name) => name.startsWith('svc_things'))).toEqual(
      [],
    );
    metrics.gauges('svc_floods', 'Too many.', () =>
      Array.from({ length: 2_001 }, (_, each) => ({ labels: { each: String(each) }, value: 1 })),
    );
    await expect(metrics.text()).rejects.toThrow(InvariantError);
  });

  it('gives the same numbers object for the same route', () => {
    const metrics = new Metrics();
    expect(metrics.httpRoute('GET', '/health')).toBe(metrics.httpRoute('GET', '/health'));
    expect(metrics.httpRoute('PUT', '/health')).not.toBe(metrics.httpRoute('GET', '/health'));
  });

  it('is bounded in routes, so that an address used as a route is found out', () => {
    const metrics = new Metrics();
    const flood = (): void => {
      for (let index = 0; index < 10_000; index += 1) metrics.httpRoute('GET', `/node-${index}`);
    };
    expect(flood).toThrow(InvariantError);
  });

  it('refuses a status that does not exist', () => {
    expect(() => new Metrics().httpRoute('GET', '/').observe(0, 1)).toThrow(InvariantError);
  });

  it('exports commits, batches and flushes', async () => {
    const metrics = new Metrics();
    metrics.commitBatches.add(2);
    metrics.batchCommands.observe(3);
    metrics.batchBytes.observe(1_000);
    metrics.commitSeconds.observe(0.002);
    metrics.journalFsyncSeconds.observe(0.0005);
    const samples = await samplesOf(metrics);
    expect(samples.get('svc_commit_batches_total')).toBe(2);
    expect(samples.get('svc_commit_batch_commands_bucket{le="2"}')).toBe(0);
    expect(samples.get('svc_commit_batch_commands_bucket{le="4"}')).toBe(1);
    expect(samples.get('svc_commit_batch_bytes_sum')).toBe(1_000);
    expect(samples.get('svc_commit_seconds_count')).toBe(1);
    expect(samples.get('svc_journal_fsync_seconds_bucket{le="0.0005"}')).toBe(1);
  });

  it('reads gauges when it is asked, not before', async () => {
    const metrics = new Metrics();
    let open = 1;
    metrics.watchOpenActors(() => open);
    metrics.watchMemtableBytes(() => open * 10);
    metrics.watchInFlightRequests(() => open * 100);
    open = 7;
    const samples = await samplesOf(metrics);
    expect(samples.get('svc_open_actors')).toBe(7);
    expect(samples.get('svc_memtable_bytes')).toBe(70);
    expect(samples.get('svc_in_flight_requests')).toBe(700);
  });

  it('declares each metric with help and type before its samples', async () => {
    const metrics = new Metrics();
    const text = await metrics.text();
    expect(text).toContain('# HELP svc_commit_batches_total ');
    expect(text).toContain('# TYPE svc_commit_batches_total counter\nsvc_commit_batches_total 0\n');
    expect(text).toContain('# TYPE svc_commit_seconds histogram\n');
    expect(metrics.contentType).toMatch(/^text\/plain; version=0\.0\.4/);
  });

  it('adds the numbers of the process on request', async () => {
    const text = await new Metrics({ collectDefaults: true }).text();
    expect(text).toContain('process_cpu_user_seconds_total');
    expect(text).toContain('nodejs_heap_size_used_bytes');
    expect(await new Metrics().text()).not.toContain('process_cpu');
  });

  it('refuses a name twice and names outside of our space', () => {
    const metrics = new Metrics();
    metrics.counter('svc_merges_total', 'Merges.');
    expect(() => metrics.counter('svc_merges_total', 'Merges.')).toThrow(InvariantError);
    expect(() => metrics.counter('merges_total', 'Merges.')).toThrow(InvariantError);
    expect(() => metrics.counter('svc_merges', 'Merges.')).toThrow(InvariantError);
  });
});

describe('EventLoopLag', () => {
  const block = (milliseconds: number): void => {
    const end = performance.now() + milliseconds;
    while (performance.now() < end);
  };

  it('counts by how much each sample was late, and does not forget when it is read', async () => {
    const lag = new EventLoopLag(systemClock);
    const metrics = new Metrics();
    metrics.watchEventLoopLag(lag);
    lag.start();
    lag.start();
    const overOf = (samples: ReadonlyMap<string, number>, bound: string): number =>
      (samples.get('svc_event_loop_lag_seconds_count') as number) -
      (samples.get(`svc_event_loop_lag_seconds_bucket{le="${bound}"}`) as number);
    await vi.waitFor(async () => {
      block(200);
      // The sample that was due meanwhile is taken first.
      await sleep(systemClock, 1);
      expect(overOf(await samplesOf(metrics), '0.1')).toBeGreaterThan(0);
    }, 20_000);
    const before = await samplesOf(metrics);
    lag.stop();
    await sleep(systemClock, 50);
    const after = await samplesOf(metrics);
    for (const [name, value] of before) expect([name, after.get(name)]).toEqual([name, value]);
    expect(after.get('svc_event_loop_lag_seconds_sum')).toBeGreaterThan(0.1);
  });
});
