import { readFileSync } from 'node:fs';
import {
  articleBody,
  articleProperties,
  articleUrl,
  branchesUrl,
  folderUrl,
  nodesUrl,
  nodesUrlOf,
} from './support/corpus.ts';
import { type LoadRequest, sendAll } from './support/http-load.ts';
import { probe } from './support/probe.ts';
import type { Plan, Question } from './support/question.ts';
import type { Answer } from './support/answer.ts';
import { alternate, medianOf, type Sample } from './support/rounds.ts';
import { type LoadedGrove, progress } from './support/stage.ts';
import { cpu, rate, whole } from './support/table.ts';
import { wrk } from './support/wrk.ts';

const CONNECTIONS = 64;

const reads = { 'read-path': 'by path', 'read-id': 'by id', 'list-page': 'page of 100 children' } as const;
type Read = keyof typeof reads;

/** The samples of one kind of read, at the head and at revisions. */
interface Row {
  readonly versions: number;
  readonly read: Read;
  readonly head: readonly Sample[];
  readonly newest: readonly Sample[];
  readonly oldest: readonly Sample[];
}

/** What does it cost to read a past state? */
export const history: Question = {
  name: 'history',
  title: 'Reads at earlier revisions',
  async measure(plan, stage) {
    const grove = await stage.sizedGrove(plan.articles);
    const past = new Past(grove);
    await past.leaveBehind();
    const rows = await measureReads(plan, grove, 1, past);
    for (let version = 2; version <= plan.versions; version++) {
      progress(`making version ${version} of every article`);
      await past.updateAll(version);
    }
    await past.leaveBehind();
    rows.push(...(await measureReads(plan, grove, plan.versions, past)));
    await stage.discard(grove);
    return describe(plan, grove, rows);
  },
};

/** The revisions of a branch to read. */
class Past {
  readonly #grove: LoadedGrove;
  #oldest: string | undefined;
  #newest = '';

  constructor(grove: LoadedGrove) {
    this.#grove = grove;
  }

  /** The revision with every article in its first state. */
  get oldest(): string {
    return this.#oldest ?? this.#newest;
  }

  /** The revision with every article in its present state. */
  get newest(): string {
    return this.#newest;
  }

  /** Makes the present state a past one, by writing another node. */
  async leaveBehind(): Promise<void> {
    const { server } = this.#grove;
    this.#newest = ((await server.json('GET', `${branchesUrl}/main`)) as { head: string }).head;
    this.#oldest ??= this.#newest;
    await server.json('POST', `${nodesUrl}/`, JSON.parse(articleBody(`past-${this.#newest}`, 0)));
  }

  /** Updates every article, each by its own request. */
  async updateAll(version: number): Promise<void> {
    const { articles, server } = this.#grove;
    const updates = function* (): Generator<LoadRequest> {
      for (let number = 0; number < articles; number++) {
        const body = JSON.stringify({ properties: articleProperties(version * articles + number) });
        yield { method: 'PUT', path: articleUrl(nodesUrl, number), body };
      }
    };
    await sendAll(server.port, server.token, updates());
  }
}

async function measureReads(
  plan: Plan,
  grove: LoadedGrove,
  versions: number,
  { newest, oldest }: Past,
): Promise<Row[]> {
  const { articles, idsFile, server } = grove;
  const moments = [nodesUrl, nodesUrlOf('main', `rev/${newest}`), nodesUrlOf('main', `rev/${oldest}`)];
  await requireStates(grove, moments, versions);
  const rows: Row[] = [];
  for (const read of Object.keys(reads) as Read[]) {
    progress(`reading ${reads[read]} with ${versions} versions`);
    const target = { script: read, port: server.port, token: server.token, articles, idsFile };
    const contenders = moments.map((moment) => ({
      name: moment,
      pid: server.pid,
      run: (seconds: number) => wrk({ ...target, nodesUrl: moment }, CONNECTIONS, seconds),
    }));
    for (const { run } of contenders) await run(1);
    const [head = [], atNewest = [], atOldest = []] = await alternate(plan, contenders);
    rows.push({ versions, read, head, newest: atNewest, oldest: atOldest });
  }
  return rows;
}

/** Checks that each kind of read finds the state it is measured for. */
async function requireStates(
  { articles, idsFile, server }: LoadedGrove,
  [head, newest, oldest]: readonly string[],
  versions: number,
): Promise<void> {
  const present = versions === 1 ? 0 : versions * articles;
  for (const [moment, rank] of [
    [head, present],
    [newest, present],
    [oldest, 0],
  ] as const) {
    const title = `"title":"Title ${rank}"`;
    await probe(server, articleUrl(moment as string, 0), title);
    await probe(server, `${folderUrl(moment as string, 0)}/?limit=100`, title);
    const firstId = readFileSync(idsFile, 'latin1').slice(0, 36);
    await probe(server, `${moment}/$ref/${firstId}`, `"id":"${firstId}"`);
  }
}

function describe(plan: Plan, { articles }: LoadedGrove, rows: readonly Row[]): Answer {
  return {
    columns: [
      'versions a node',
      'read',
      'at the head/s',
      'at the newest revision/s',
      'at the oldest revision/s',
      'server µs of processor a read: head / newest / oldest',
      'oldest / head',
    ],
    rows: rows.map(({ head, newest, oldest, read, versions }) => [
      String(versions),
      reads[read],
      rate(head),
      rate(newest),
      rate(oldest),
      `${cpu(head)} / ${cpu(newest)} / ${cpu(oldest)}`,
      (medianOf(oldest, 'cpuUs') / medianOf(head, 'cpuUs')).toFixed(2),
    ]),
    notes: [
      `Store of ${whole(articles)} articles, ${CONNECTIONS} connections. At first every article has the one version its creation wrote, then each is updated ${plan.versions - 1} times, every time by a request and so a revision of its own. The newest revision is the one before a last write of something else: what is present was there already. At the oldest revision every article had its first state; with ${plan.versions} versions that is the one furthest away from the present. The ratio is that of processor time.`,
    ],
  };
}
