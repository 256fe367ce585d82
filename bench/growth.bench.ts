import { join } from 'node:path';
import { ARTICLES_PER_FOLDER, defineCorpus, nodesUrl } from './support/corpus.ts';
import { diskBytesOf } from './support/disk.ts';
import { type GroveServer, newDataDir } from './support/grove-server.ts';
import { loadArticles } from './support/load-articles.ts';
import { probe } from './support/probe.ts';
import { type Memory, memoryOf } from './support/process-stat.ts';
import type { Plan, Question } from './support/question.ts';
import { alternate, type Effort, median, medianOf, type Sample } from './support/rounds.ts';
import { progress, type Stage } from './support/stage.ts';
import { megabytes, whole } from './support/table.ts';
import { wrk } from './support/wrk.ts';

const CONNECTIONS = 64;
const STARTS = 5;
/** Long enough for the timers of the start to run, short enough that no actor is closed as idle. */
const IDLE_MS = 2_000;
/** Writes change the measured size, so they are measured for a short time. */
const WRITE_SECONDS = 1;

const reads = ['read-path', 'read-id', 'list-page'] as const;
const writes = ['update', 'create'] as const;
type Work = (typeof reads)[number] | (typeof writes)[number];

/** Content of the branch. */
interface Content {
  /** Articles used by reads and updates. */
  readonly articles: number;
  /** Articles created while measuring creates. */
  readonly extra: number;
  /** Updates sent while measuring updates. */
  readonly updates: number;
}

/** Results at one size. */
interface SizeReport {
  readonly size: number;
  readonly loadPerSecond: number;
  readonly samples: Record<Work, Sample[]>;
  readonly busy: Memory;
  readonly idle: Memory;
  readonly opened: Memory;
  readonly firstReadMs: number;
  readonly readyMs: number;
  readonly readyAfterKillMs: number;
  readonly diskBytes: number;
  /** Nodes and replaced versions on the disk. */
  readonly stored: number;
}

/**
 * Does any operation get slower as a branch grows? Each node is created by its own request, so there are as many
 * revisions as nodes.
 */
export const growth: Question = {
  name: 'growth',
  title: 'Growth: one branch from ten thousand to a million nodes and revisions',
  async measure(plan, stage) {
    const dataDir = newDataDir(stage.folder);
    const idsFile = join(stage.folder, 'growth-ids');
    const reports: SizeReport[] = [];
    let content: Content = { articles: 0, extra: 0, updates: 0 };
    let server = await stage.startGrove(dataDir);
    await defineCorpus(server);
    for (const size of plan.sizes) {
      const articles = articlesFor(size, content);
      progress(`growing to ${whole(size)} nodes`);
      const began = performance.now();
      await loadArticles(server, content.articles, articles, idsFile);
      const loadPerSecond = ((articles - content.articles) / (performance.now() - began)) * 1000;
      content = { ...content, articles };
      progress(`measuring at ${whole(size)} nodes`);
      const measured = await measureSize(plan, server, content, idsFile);
      content = measured.content;
      const restarted = await measureStarts(stage, server, size);
      server = restarted.server;
      const { samples, busy } = measured;
      const stored = nodesOf(content) + content.updates;
      reports.push({ size, loadPerSecond, samples, busy, stored, ...restarted.seen });
    }
    await server.stop();
    return { columns: ['', ...reports.map(({ size }) => whole(size)), 'last / first'], ...describe(reports) };
  },
};

/** Number of nodes, including folders. */
function nodesOf({ articles, extra }: Content): number {
  return articles + articles / ARTICLES_PER_FOLDER + extra;
}

/** Number of articles in a branch of `size` nodes, including those created while measuring. */
function articlesFor(size: number, { articles, extra }: Content): number {
  const folders = Math.floor((size - extra) / (ARTICLES_PER_FOLDER + 1));
  return Math.max(articles, folders * ARTICLES_PER_FOLDER);
}

/** Measures reads first, before writes change the size. */
async function measureSize(
  plan: Plan,
  server: GroveServer,
  content: Content,
  idsFile: string,
): Promise<Pick<SizeReport, 'samples' | 'busy'> & { readonly content: Content }> {
  const { articles } = content;
  await probe(server, `${nodesUrl}/f-${articles / ARTICLES_PER_FOLDER - 1}/n-99`, '"name":"n-99"');
  const target = { port: server.port, token: server.token, articles, idsFile };
  const measure = async (works: readonly Work[], effort: Effort): Promise<[Work, Sample[]][]> => {
    for (const script of works) await wrk({ ...target, script }, CONNECTIONS, 1);
    const samples = await alternate(
      effort,
      works.map((script) => ({
        name: script,
        pid: server.pid,
        run: (seconds: number) => wrk({ ...target, script }, CONNECTIONS, seconds),
      })),
    );
    return works.map((script, index) => [script, samples[index] as Sample[]]);
  };
  const readSamples = await measure(reads, plan);
  const writeSamples = await measure(writes, { ...plan, seconds: WRITE_SECONDS });
  const samples = Object.fromEntries([...readSamples, ...writeSamples]) as Record<Work, Sample[]>;
  // Requests of the warm-up were not counted. Their number is taken as the median of the samples.
  const made = (work: Work): number =>
    samples[work].reduce((sum, { requests }) => sum + requests, medianOf(samples[work], 'requests'));
  return {
    samples,
    busy: memoryOf(server.pid),
    content: {
      articles,
      extra: content.extra + made('create'),
      updates: content.updates + made('update'),
    },
  };
}

/** Restarts the member several times. The last one keeps running. */
async function measureStarts(
  stage: Stage,
  running: GroveServer,
  size: number,
): Promise<{
  server: GroveServer;
  seen: Pick<SizeReport, 'idle' | 'opened' | 'firstReadMs' | 'readyMs' | 'readyAfterKillMs' | 'diskBytes'>;
}> {
  progress(`starting at ${whole(size)} nodes`);
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
  const diskBytes = diskBytesOf(running.dataDir);
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
  const rateOf = (work: Work) => (report: SizeReport) => medianOf(report.samples[work], 'perSecond');
  const cpuOf = (work: Work) => (report: SizeReport) => medianOf(report.samples[work], 'cpuUs');
  const latencyOf = (work: Work) => (report: SizeReport) => medianOf(report.samples[work], 'p99Ms');
  const micros = (value: number): string => value.toFixed(1);
  const tenths = (value: number): string => `${value.toFixed(1)} ms`;
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
      row('p99 of a read by path', latencyOf('read-path'), tenths),
      row('p99 of a create', latencyOf('create'), tenths),
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
      row('disk a node or replaced version, bytes', (report) => report.diskBytes / report.stored, whole),
    ],
    notes: [
      `${CONNECTIONS} connections. A size is the number of nodes when the reads were measured, every one made by a request and so a revision of its own; they choose among all articles but those that measuring creates at smaller sizes added. Updates, then creates are measured after the reads, in runs of ${WRITE_SECONDS} s, and make the branch larger.`,
      'Own memory is what the process holds itself. Mapped pages are LMDB\'s file and program text in the page cache, which the kernel takes back when it needs the room. "Disk" is journal and shards after a clean stop and start, with free pages inside of the files.',
    ],
  };
}
