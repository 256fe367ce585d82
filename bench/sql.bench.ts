import { join } from 'node:path';
import { defineCorpus } from './support/corpus.ts';
import type { Answer } from './support/answer.ts';
import { type GroveServer, newDataDir } from './support/grove-server.ts';
import { loadArticles } from './support/load-articles.ts';
import { type PgbenchScript, PostgresServer } from './support/postgres-server.ts';
import type { Plan, Question } from './support/question.ts';
import { alternate, type Load, medianOf, type Sample } from './support/rounds.ts';
import { isScanServed, type ScanRequest, sendScans } from './support/scan-requests.ts';
import { progress, type Stage } from './support/stage.ts';
import { rate, ratio, whole } from './support/table.ts';
import { runScript } from './support/wrk.ts';

/** Above this number of articles a statement that reads them all takes longer than a round. */
const ARTICLES_MAX = 100_000;

/** URL of statements on the main branch. */
const sqlUrl = '/api/sql/bench';

/** A statement, in both systems. */
interface Statement {
  readonly name: string;
  /** Sent to Grove; a name is that of a script of bench/wrk, which chooses another article each time. */
  readonly ours: ((articles: number) => string) | 'sql-path' | 'sql-id';
  readonly theirs: PgbenchScript;
}

const statements: readonly Statement[] = [
  { name: 'one article by path', ours: 'sql-path', theirs: 'read-path' },
  { name: 'one article by id', ours: 'sql-id', theirs: 'read-id' },
  {
    name: 'equality on an index, the first 20 by id',
    ours: () => "SELECT * FROM content WHERE properties->>'author' = 'author-7' ORDER BY id LIMIT 20",
    theirs: 'equality-top',
  },
  {
    name: 'equality without an index',
    ours: () => "SELECT * FROM content WHERE properties->>'title' = 'Title 7' ORDER BY path",
    theirs: 'filter-title',
  },
  {
    name: 'filter and group by a property',
    ours: () =>
      "SELECT properties->>'author' AS author, COUNT(*) AS articles, MAX((properties->>'rank')::INT) AS highest " +
      "FROM content WHERE (properties->>'rank')::INT % 2 = 0 GROUP BY properties->>'author' ORDER BY author",
    theirs: 'sql-group',
  },
  {
    name: 'join of articles of one author with those of another in the same folder',
    ours: () =>
      'SELECT a.path AS path, b.path AS other FROM content a JOIN content b ON PARENT(b.path) = PARENT(a.path) ' +
      "WHERE a.properties->>'author' = 'author-7' AND b.properties->>'author' = 'author-8' ORDER BY a.path",
    theirs: 'sql-join',
  },
  {
    name: 'the first 20 in an order without index',
    ours: () =>
      "SELECT id, path, properties->>'title' AS title FROM content WHERE node_type = 'bench:Article' " +
      "ORDER BY properties->>'title' DESC LIMIT 20",
    theirs: 'sql-top',
  },
  {
    name: 'page of 100 behind a path in the middle',
    ours: (articles) =>
      `SELECT id, path, properties FROM content WHERE path > '/f-${articles / 200}/n-50' ORDER BY path LIMIT 100`,
    theirs: 'sql-keyset',
  },
];

/** Figures of one statement. Without samples of Grove it refused the statement. */
interface Measured {
  readonly articles: number;
  readonly statement: Statement;
  readonly ours: readonly Sample[] | undefined;
  readonly theirs: readonly Sample[];
}

/** How fast are statements of SQL over HTTP, beside the same ones in PostgreSQL? */
export const sql: Question = {
  name: 'sql',
  title: 'SQL statements',
  async measure(plan, stage) {
    const server = await stage.startGrove(newDataDir(stage.folder));
    await defineCorpus(server);
    const idsFile = join(stage.folder, 'sql-ids');
    const measured: Measured[] = [];
    let loaded = 0;
    for (const articles of plan.sizes.filter((size) => size <= ARTICLES_MAX)) {
      progress(`loading ${whole(articles - loaded)} articles`);
      await loadArticles(server, loaded, articles, idsFile);
      loaded = articles;
      measured.push(...(await measureAt(plan, stage, server, { articles, idsFile })));
    }
    await server.stop();
    return describe(measured);
  },
};

interface Store {
  readonly articles: number;
  readonly idsFile: string;
}

async function measureAt(plan: Plan, stage: Stage, server: GroveServer, store: Store): Promise<Measured[]> {
  const postgres = await PostgresServer.start(stage.folder);
  await postgres.load(store.articles);
  const measured: Measured[] = [];
  for (const statement of statements) {
    progress(`${statement.name}, of ${whole(store.articles)}`);
    const theirs = {
      name: 'PostgreSQL',
      pid: postgres.pid,
      run: (seconds: number) => postgres.pgbench(statement.theirs, 1, seconds),
    };
    const run = await runOf(server, statement, store);
    const ours = run === undefined ? [] : [{ name: 'Grove', pid: server.pid, run }];
    const samples = await alternate(plan, [theirs, ...ours]);
    measured.push({
      articles: store.articles,
      statement,
      ours: samples[1],
      theirs: samples[0] as Sample[],
    });
  }
  await postgres.stop();
  return measured;
}

/** How a statement is sent to Grove for some seconds; undefined: it is refused as too expensive. */
async function runOf(
  server: GroveServer,
  { ours }: Statement,
  { articles, idsFile }: Store,
): Promise<((seconds: number) => Promise<Load>) | undefined> {
  if (typeof ours === 'string') {
    const settings = {
      BENCH_TOKEN: server.token,
      BENCH_PATH: sqlUrl,
      BENCH_ARTICLES: String(articles),
      BENCH_IDS_FILE: idsFile,
    };
    return (seconds) => runScript(ours, server.port, 1, seconds, settings);
  }
  const request: ScanRequest = {
    method: 'POST',
    path: sqlUrl,
    body: JSON.stringify({ sql: ours(articles) }),
  };
  return (await isScanServed(server, request)) ? (seconds) => sendScans(server, request, seconds) : undefined;
}

function describe(measured: readonly Measured[]): Answer {
  const processor = (samples: readonly Sample[] | undefined): string =>
    samples === undefined ? '' : whole(medianOf(samples, 'cpuUs'));
  return {
    columns: [
      'articles',
      'statement',
      'Grove/s',
      'PostgreSQL/s',
      'ratio',
      'server µs of processor a statement: Grove / PostgreSQL',
    ],
    rows: measured.map(({ articles, ours, statement, theirs }) => [
      whole(articles),
      statement.name,
      ours === undefined ? 'refused' : rate(ours),
      rate(theirs),
      ours === undefined ? '' : ratio(ours, theirs),
      `${processor(ours)} / ${processor(theirs)}`,
    ]),
    notes: [
      'One connection. Articles are in folders of 100. Grove is sent the text of each statement over HTTP, parses and plans it, checks a bearer token and the policy, and answers JSON; PostgreSQL runs prepared statements (`pgbench -M prepared`). Articles by path and id are chosen at random; the other statements are always the same.',
    ],
  };
}
