import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { defineCorpus, nodesUrl } from './support/corpus.ts';
import { type GroveServer, newDataDir } from './support/grove-server.ts';
import { loadArticles } from './support/load-articles.ts';
import { probe } from './support/probe.ts';
import { memoryOf } from './support/process-stat.ts';
import type { Plan, Question } from './support/question.ts';
import { alternate, median, medianOf, type Sample } from './support/rounds.ts';
import { progress, type Stage } from './support/stage.ts';
import { megabytes, whole } from './support/table.ts';
import { wrk } from './support/wrk.ts';

const CONNECTIONS = 64;
const STARTS = 5;
/** Long enough for timers of the start to have run, short enough that nothing was closed for idleness. */
const IDLE_MS = 2_000;

const works = ['read-path', 'read-id', 'list-page', 'update', 'create'] as const;

/** What was seen at one size. */
interface SizeReport {
  readonly articles: number;
  readonly loadPerSecond: number;
  readonly rates: Record<(typeof works)[number], Sample[]>;
  readonly busy: { readonly anonymous: number; readonly mapped: number };
  readonly idle: { readonly anonymous: number; readonly mapped: number };
  readonly opened: { readonly anonymous: number; readonly mapped: number };
  readonly firstReadMs: number;
  readonly readyMs: number;
  readonly readyAfterKillMs: number;
  readonly diskBytes: number;
}

/** Does anything get slower as a branch grows? Every node is made by a request of its own: as many revisions as nodes. */
export const growth: Question = {
  name: 'growth',
  title: 'Growth: one branch from ten thousand to a million nodes and revisions',
  async measure(plan, stage) {
    const dataDir = newDataDir(stage.folder);
    const idsFile = join(stage.folder, 'growth-ids');
    const reports: SizeReport[] = [];
    let server = await stage.startGrove(dataDir);
    await defineCorpus(server);
    for (const articles of plan.sizes) {
      const from = reports.at(-1)?.articles ?? 0;
      progress(`growing from ${whole(from)} to ${whole(articles)} articles`);
      const began = performance.now();
      await loadArticles(server, from, articles, idsFile);
      const loadPerSecond = ((articles - from) / (performance.now() - began)) * 1000;
      const measured = await measureSize(plan, server, articles, idsFile);
      const restarted = await measureStarts(stage, server, articles);
      server = restarted.server;
      reports.push({ articles, loadPerSecond, ...measured, ...restarted.seen });
    }
    await server.stop();
    return {
      columns: ['', ...reports.map(({ articles }) => whole(articles)), 'last / first'],
      ...describe(reports),
    };
  },
};

async function measureSize(
  plan: Plan,
  server: GroveServer,
  articles: number,
  idsFile: string,
): Promise<Pick<SizeReport, 'rates' | 'busy'>> {
  await probe(server, `${nodesUrl}/f-${articles / 100 - 1}/n-99`, '"name":"n-99"');
  const target = { port: server.port, token: server.token, articles, idsFile };
  for (const script of works) await wrk({ ...target, script }, CONNECTIONS, 1);
  progress(`measuring at ${whole(articles)} articles`);
  const samples = await alternate(
    plan,
    works.map((script) => ({
      name: script,
      pid: server.pid,
      run: (seconds: number) => wrk({ ...target, script }, CONNECTIONS, seconds),
    })),
  );
  const rates = Object.fromEntries(works.map((script, index) => [script, samples[index]]));
  return { rates: rates as SizeReport['rates'], busy: memoryOf(server.pid) };
}

/** Stops the member and starts it again some times; ends with a running one. */
async function measureStarts(
  stage: Stage,
  running: GroveServer,
  articles: number,
): Promise<{
  server: GroveServer;
  seen: Pick<SizeReport, 'idle' | 'opened' | 'firstReadMs' | 'readyMs' | 'readyAfterKillMs' | 'diskBytes'>;
}> {
  progress(`starting at ${whole(articles)} articles`);
  await running.kill();
  let server = await stage.startGrove(running.dataDir);
  const readyAfterKillMs = server.readyMs;
  const readyMs: number[] = [];
  for (let start = 0; start < STARTS; start++) {
    await server.stop();
    server = await stage.startGrove(running.dataDir);
    readyMs.push(server.readyMs);
  }
  await new Promise((resolve) => setTimeout(resolve, IDLE_MS));
  const idle = memoryOf(server.pid);
  const began = performance.now();
  await probe(server, `${nodesUrl}/f-0/n-0`, '"name":"n-0"');
  const firstReadMs = performance.now() - began;
  const opened = memoryOf(server.pid);
  const diskBytes = Number(
    execFileSync('du', ['-s', '--block-size=1', running.dataDir], { encoding: 'utf8' }).split('\t')[0],
  );
  return {
    server,
    seen: { idle, opened, firstReadMs, readyMs: median(readyMs), readyAfterKillMs, diskBytes },
  };
}

function describe(reports: readonly SizeReport[]): { rows: string[][]; notes: string[] } {
  const first = reports[0] as SizeReport;
  const last = reports.at(-1) as SizeReport;
  const row = (
    label: string,
    figure: (report: SizeReport) => number,
    show: (value: number) => string,
  ): string[] => [
    label,
    ...reports.map((report) => show(figure(report))),
    (figure(last) / figure(first)).toFixed(2),
  ];
  const rateOf = (work: (typeof works)[number]) => (report: SizeReport) =>
    medianOf(report.rates[work], 'perSecond');
  const cpuOf = (work: (typeof works)[number]) => (report: SizeReport) =>
    medianOf(report.rates[work], 'cpuUs');
  const micros = (value: number): string => value.toFixed(1);
  const millis = (value: number): string => `${value.toFixed(0)} ms`;
  return {
    rows: [
      row('reads by path/s', rateOf('read-path'), whole),
      row('reads by id/s', rateOf('read-id'), whole),
      row('pages of 100 children/s', rateOf('list-page'), whole),
      row('durable updates/s', rateOf('update'), whole),
      row('durable creates/s', rateOf('create'), whole),
      row('server µs a read by path', cpuOf('read-path'), micros),
      row('server µs a read by id', cpuOf('read-id'), micros),
      row('server µs a page', cpuOf('list-page'), micros),
      row('server µs an update', cpuOf('update'), micros),
      row('server µs a create', cpuOf('create'), micros),
      row('creates/s on the way here', (report) => report.loadPerSecond, whole),
      row('own memory after this load', (report) => report.busy.anonymous, megabytes),
      row('mapped file pages after it', (report) => report.busy.mapped, megabytes),
      row('start to ready', (report) => report.readyMs, millis),
      row('start to ready after kill -9', (report) => report.readyAfterKillMs, millis),
      row('own memory idle', (report) => report.idle.anonymous, megabytes),
      row('mapped file pages idle', (report) => report.idle.mapped, megabytes),
      row('first read after the start', (report) => report.firstReadMs, millis),
      row('own memory after the first read', (report) => report.opened.anonymous, megabytes),
      row('disk', (report) => report.diskBytes, megabytes),
    ],
    notes: [
      `${CONNECTIONS} connections. Sizes are articles made by single creates; folders, and what the update and create rows wrote while measuring a size, come on top. Mapped pages are LMDB's file in the page cache and Node's own program text: the kernel takes them back when it needs them.`,
    ],
  };
}
