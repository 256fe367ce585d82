import { articleProperties, branchesUrl, defineCorpus, nodesUrl, nodesUrlOf } from './support/corpus.ts';
import type { Answer } from './support/answer.ts';
import { type GroveServer, newDataDir } from './support/grove-server.ts';
import { type LoadRequest, sendAll } from './support/http-load.ts';
import { loadRootArticles } from './support/load-articles.ts';
import { LongReads } from './support/long-reads.ts';
import { nowMs, PacedWrites } from './support/paced-writes.ts';
import { percentile } from './support/percentile.ts';
import { type PgbenchScript, PostgresServer } from './support/postgres-server.ts';
import type { Plan, Question } from './support/question.ts';
import { alternate, median, medianOf, type Sample, undisturbed } from './support/rounds.ts';
import { progress, type Stage } from './support/stage.ts';
import { isScanServed, type ScanRequest, sendScans } from './support/scan-requests.ts';
import { rate, ratio, whole } from './support/table.ts';

/** Commits between the revision that is read and the head. */
const COMMITS_BACK = 1_000;

/** Numbers of scans that run while creates are timed. */
const SCANS_BESIDE = [0, 1, 5, 20] as const;

/** Creates a second, far below what the server can do, and the connections for them. */
const CREATES_PER_SECOND = 200;
const CREATE_CONNECTIONS = 8;

/** Time that scans run before creates are timed. */
const WARM_UP_MS = 300;

/** A way to read many nodes, in both systems. */
interface Scan {
  readonly name: string;
  /** Nodes that are looked at or answered, by which the cost is divided. */
  rows(nodes: number): number;
  /** @param base URL of the nodes at some moment */
  request(base: string, nodes: number): ScanRequest;
  readonly sql: PgbenchScript;
}

const ofType = { node_type: { eq: 'bench:Article' } } as const;

function dsl(base: string, filter: object): ScanRequest {
  return { method: 'POST', path: `${base}/query/dsl`, body: JSON.stringify(filter) };
}

const ways: readonly Scan[] = [
  {
    name: 'filter by a property without index',
    rows: (nodes) => nodes,
    request: (base) => dsl(base, { ...ofType, 'properties.title': { eq: 'Title 7' } }),
    sql: 'filter-title',
  },
  {
    name: 'equality on an index, the first 20 by id',
    rows: () => 20,
    request: (base) =>
      dsl(base, { ...ofType, 'properties.author': { eq: 'author-7' }, order_by: { id: 'asc' }, limit: 20 }),
    sql: 'equality-top',
  },
  {
    name: 'range on an index, the first 20',
    rows: () => 20,
    request: (base, nodes) =>
      dsl(base, {
        ...ofType,
        'properties.rank': { gte: nodes / 2 },
        order_by: { 'properties.rank': 'asc' },
        limit: 20,
      }),
    sql: 'range-top',
  },
  {
    name: 'page of 100 in the middle, by path',
    rows: () => 100,
    request: (base, nodes) => ({
      method: 'POST',
      path: `${base}/query`,
      body: JSON.stringify({ nodeType: 'bench:Article', offset: nodes / 2, limit: 100 }),
    }),
    sql: 'middle-page',
  },
  {
    name: 'first 100 children',
    rows: () => 100,
    request: (base) => ({ method: 'GET', path: `${base}/?limit=100` }),
    sql: 'list-page',
  },
  {
    name: 'subtree, everything',
    rows: (nodes) => nodes,
    request: (base) => ({ method: 'GET', path: `${base}/?deep=true` }),
    sql: 'subtree',
  },
];

/** Figures of one scan. Without samples of Grove it refused the request. */
interface Measured {
  readonly nodes: number;
  readonly scan: Scan;
  readonly head: readonly Sample[] | undefined;
  readonly past: readonly Sample[] | undefined;
  readonly sql: readonly Sample[];
}

/** Latencies of creates beside a number of scans, in milliseconds. */
interface Beside {
  readonly nodes: number;
  readonly scans: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** What does it cost to read many nodes, at the head and at a revision, and what do others notice of it? */
export const scans: Question = {
  name: 'scans',
  title: 'Scans of many nodes',
  async measure(plan, stage) {
    const server = await stage.startGrove(newDataDir(stage.folder));
    await defineCorpus(server);
    const measured: Measured[] = [];
    const beside: Beside[] = [];
    let loaded = 0;
    for (const nodes of plan.sizes) {
      progress(`loading ${whole(nodes - loaded)} articles`);
      await loadRootArticles(server, loaded, nodes);
      loaded = nodes;
      measured.push(...(await measureAt(plan, stage, server, nodes)));
      beside.push(...(await createsBeside(plan, server, nodes)));
    }
    await server.stop();
    return describe(measured, beside);
  },
};

async function measureAt(plan: Plan, stage: Stage, server: GroveServer, nodes: number): Promise<Measured[]> {
  const past = nodesUrlOf('main', `rev/${await leaveBehind(server, nodes)}`);
  const postgres = await PostgresServer.start(stage.folder);
  await postgres.load(nodes);
  const measured: Measured[] = [];
  for (const scan of ways) {
    progress(`${scan.name} of ${whole(nodes)}`);
    const sql = {
      name: 'sql',
      pid: postgres.pid,
      run: (seconds: number) => postgres.pgbench(scan.sql, 1, seconds),
    };
    const requests = [scan.request(nodesUrl, nodes), scan.request(past, nodes)];
    const served: ScanRequest[] = [];
    for (const request of requests) if (await isScanServed(server, request)) served.push(request);
    const ours = served.map((request) => ({
      name: request.path,
      pid: server.pid,
      run: (seconds: number) => sendScans(server, request, seconds),
    }));
    const samples = await alternate(plan, [...ours, sql]);
    const of = (request: ScanRequest | undefined): Sample[] | undefined =>
      samples[served.indexOf(request as ScanRequest)];
    measured.push({
      nodes,
      scan,
      head: of(requests[0]),
      past: of(requests[1]),
      sql: samples.at(-1) as Sample[],
    });
  }
  await postgres.stop();
  return measured;
}

/** Updates some articles, each by a commit of its own. @returns the revision before */
async function leaveBehind(server: GroveServer, nodes: number): Promise<string> {
  const { head } = (await server.json('GET', `${branchesUrl}/main`)) as { head: string };
  const updates = function* (): Generator<LoadRequest> {
    for (let commit = 0; commit < COMMITS_BACK; commit++) {
      const number = Math.floor((commit * nodes) / COMMITS_BACK);
      const body = JSON.stringify({ properties: articleProperties(number) });
      yield { method: 'PUT', path: `${nodesUrl}/n-${number}`, body };
    }
  };
  await sendAll(server.port, server.token, updates());
  return head;
}

async function createsBeside(plan: Plan, server: GroveServer, nodes: number): Promise<Beside[]> {
  const found: Beside[] = [];
  for (const beside of SCANS_BESIDE) {
    progress(`creates beside ${beside} scans of ${whole(nodes)}`);
    const rounds: number[][] = [];
    for (let round = 0; round < plan.rounds; round++)
      rounds.push(await undisturbed(plan.disturbance, () => createLatencies(server, beside, plan.seconds)));
    const of = (share: number): number => median(rounds.map((latencies) => percentile(latencies, share)));
    found.push({ nodes, scans: beside, p50Ms: of(0.5), p99Ms: of(0.99) });
  }
  return found;
}

/** Latencies of creates while scans run, ascending. */
async function createLatencies(server: GroveServer, beside: number, seconds: number): Promise<number[]> {
  const reads = new LongReads(server, beside);
  const creates = new PacedWrites({ server, articles: 0 }, 'create', CREATE_CONNECTIONS, CREATES_PER_SECOND);
  await creates.begun();
  await pause(WARM_UP_MS);
  const fromMs = nowMs();
  await pause(seconds * 1000);
  const span = { fromMs, toMs: nowMs() };
  const latencies = await creates.end();
  await reads.end();
  return latencies.during([span]);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function describe(measured: readonly Measured[], beside: readonly Beside[]): Answer {
  const perRow = (samples: readonly Sample[] | undefined, rows: number): string =>
    samples === undefined ? '' : whole((medianOf(samples, 'cpuUs') * 1000) / rows);
  const rows = measured.map(({ head, nodes, past, scan, sql }) => {
    const count = scan.rows(nodes);
    return [
      whole(nodes),
      scan.name,
      whole(count),
      head === undefined ? 'refused' : rate(head),
      rate(sql),
      head === undefined ? '' : ratio(head, sql),
      past === undefined ? 'refused' : rate(past),
      `${perRow(head, count)} / ${perRow(past, count)} / ${perRow(sql, count)}`,
    ];
  });
  const latencies = beside.map(
    ({ nodes, p50Ms, p99Ms, scans }) =>
      `${whole(nodes)} nodes, ${scans} scans: ${p50Ms.toFixed(2)} / ${p99Ms.toFixed(2)}`,
  );
  return {
    columns: [
      'nodes',
      'scan',
      'rows',
      'Grove/s',
      'PostgreSQL/s',
      'ratio',
      `${whole(COMMITS_BACK)} commits back/s`,
      'server ns of processor a row: Grove / commits back / PostgreSQL',
    ],
    rows,
    notes: [
      'One connection. The articles are children of the root in Grove, because its boolean query reads no others, and in folders of 100 in PostgreSQL. Rows are the nodes that an answer has; for the filter, which finds one, the nodes it has to look at. A request is refused where it takes more work or memory than one may (`request_work_ms`, `request_memory_bytes`).',
      'Every commit since that revision updated another article.',
      `p50 / p99 ms of a create, ${CREATES_PER_SECOND} a second over ${CREATE_CONNECTIONS} connections, while reads of everything run: ${latencies.join('; ')}. The time counts from when a create was due.`,
    ],
  };
}
