import { join } from 'node:path';
import { defineCorpus } from './support/corpus.ts';
import { loadArticles } from './support/load-articles.ts';
import type { Question } from './support/question.ts';
import { alternate, type Contender } from './support/rounds.ts';
import { progress } from './support/stage.ts';
import { cpu, cpuOf, latency, rate, ratio, whole } from './support/table.ts';
import { runScript, type WrkScript, wrk } from './support/wrk.ts';

/** Articles in the store at the start. */
const ARTICLES_MAX = 10_000;

const connectionCounts = [1, 64];

/** A kind of request. */
interface Kind {
  /** Its name in the table. */
  readonly name: string;
  readonly script: WrkScript;
  /** `X-Svc-Consistency`; default: none, which reads the newest state under the read lease. */
  readonly consistency?: string;
}

const kinds: readonly Kind[] = [
  { name: 'read by path', script: 'read-path' },
  { name: 'read by path, local', script: 'read-path', consistency: 'local' },
  { name: 'read by path, strict', script: 'read-path', consistency: 'strict' },
  { name: 'create', script: 'create' },
  { name: 'lock request', script: 'lock' },
];

/** What does it cost to send a request to a member that does not own its repository? */
export const forwarding: Question = {
  name: 'forwarding',
  title: 'Asked of the owner and of another member',
  async measure(plan, stage) {
    const articles = Math.min(plan.articles, ARTICLES_MAX);
    const idsFile = join(stage.folder, 'forwarding-ids');
    const cluster = await stage.startCluster();
    const { token } = cluster;
    progress(`loading ${whole(articles)} articles`);
    await defineCorpus(cluster);
    const { others, owner } = await cluster.ownerOf('bench');
    await loadArticles({ port: owner.port, token }, 0, articles, idsFile);
    const asked = others[0] as (typeof others)[number];
    const parts = {
      owner: [owner.pid],
      asked: [asked.pid],
      rest: [...others.slice(1), ...cluster.natsServers].map(({ pid }) => pid),
    };
    const send = ({ consistency, script }: Kind, port: number, connections: number, seconds: number) => {
      if (script === 'lock') {
        const settings = { BENCH_TOKEN: token, BENCH_LOCKS_URL: '/api/bench/main' };
        return runScript(script, port, connections, seconds, settings);
      }
      const headers: Record<string, string> =
        consistency === undefined ? {} : { 'X-Svc-Consistency': consistency };
      return wrk({ script, port, token, articles, idsFile, headers }, connections, seconds);
    };
    const ask = (name: string, kind: Kind, port: number, connections: number): Contender => ({
      name,
      pid: parts,
      run: (seconds) => send(kind, port, connections, seconds),
    });
    const rows: string[][] = [];
    for (const kind of kinds) {
      for (const port of [owner.port, asked.port]) await send(kind, port, 64, 1);
      for (const connections of connectionCounts) {
        progress(`${kind.name} at ${connections} connections`);
        const [direct = [], forwarded = []] = await alternate(plan, [
          ask('direct', kind, owner.port, connections),
          ask('forwarded', kind, asked.port, connections),
        ]);
        for (const [who, samples] of [['the owner', direct] as const, ['another', forwarded] as const])
          rows.push([
            kind.name,
            String(connections),
            who,
            rate(samples),
            latency(samples),
            ratio(samples, direct),
            ...['owner', 'asked', 'rest'].map((part) => cpuOf(samples, part)),
            cpu(samples),
          ]);
      }
    }
    const durability = await cluster.durability();
    await cluster.stop();
    return {
      columns: [
        '',
        'connections',
        'asked of',
        'requests/s',
        'p50 / p99 ms',
        'to direct',
        'µs of processor a request: owner',
        'the other member',
        'third member and NATS',
        'all',
      ],
      rows,
      notes: [
        `Store of ${whole(articles)} articles at the start, durability ${durability}. A member passes what it does not own to the owner over NATS, but for local reads, which it answers from its own copy; a strict read waits for an append to the log. "The other member" is the one that is asked in the rows of "another"; it follows the partition of the repository in all rows. An acquire and the release that follows it count as two lock requests. All six processes share one core. ${cluster.natsVersion}.`,
      ],
    };
  },
};
