import { join } from 'node:path';
import { defineCorpus } from './support/corpus.ts';
import { flushNote, type GroveCluster } from './support/grove-cluster.ts';
import { type GroveServer, newDataDir } from './support/grove-server.ts';
import { loadArticles } from './support/load-articles.ts';
import type { Plan, Question } from './support/question.ts';
import type { Answer } from './support/answer.ts';
import { alternate, type Load, type Sample } from './support/rounds.ts';
import { progress, type Stage } from './support/stage.ts';
import { cpu, cpuOf, latency, rate, ratio, whole } from './support/table.ts';
import { wrk } from './support/wrk.ts';

/** Articles in both stores at the start. */
const ARTICLES_MAX = 10_000;

/** The row with a target, and a single connection, which shows the latency of one write. */
const connectionCounts = [1, 64];

/** The two compared systems, with the same content. */
interface Contestants {
  readonly alone: GroveServer;
  readonly cluster: GroveCluster;
  readonly articles: number;
}

/**
 * What does replication cost? Durable creates on three members and three NATS servers compared with a single member,
 * with the processor time of each process for a write.
 */
export const clusterWrites: Question = {
  name: 'cluster-writes',
  title: 'Durable creates on three members',
  async measure(plan, stage) {
    const articles = Math.min(plan.articles, ARTICLES_MAX);
    const alone = await stage.startGrove(newDataDir(stage.folder));
    await defineCorpus(alone);
    await load(stage, alone, alone.token, articles);
    const rows: string[][] = [];
    const classes: string[] = [];
    let natsVersion = '';
    // The best durability class first, then the one that flushes later, if it is another.
    for (const wanted of [undefined, 'quorum']) {
      if (wanted !== undefined && classes.includes(wanted)) continue;
      const cluster = await stage.startCluster(wanted === undefined ? {} : { durability: wanted });
      await defineCorpus(cluster);
      await load(stage, (await cluster.ownerOf('bench')).owner, cluster.token, articles);
      classes.push(await cluster.durability());
      natsVersion = cluster.natsVersion;
      rows.push(...(await compare(plan, stage, { alone, cluster, articles })));
      await cluster.stop();
    }
    await alone.stop();
    return answerOf(rows, articles, classes, natsVersion);
  },
};

function load(stage: Stage, at: { readonly port: number }, token: string, articles: number): Promise<void> {
  progress(`loading ${whole(articles)} articles`);
  return loadArticles({ port: at.port, token }, 0, articles, idsFileOf(stage));
}

/** This benchmark has no reads by id. */
function idsFileOf(stage: Stage): string {
  return join(stage.folder, 'cluster-writes-ids');
}

async function compare(
  plan: Plan,
  stage: Stage,
  { alone, cluster, articles }: Contestants,
): Promise<string[][]> {
  const { owner } = await cluster.ownerOf('bench');
  const parts = await cluster.partsFor('bench');
  const create =
    ({ token }: { readonly token: string }, port: number, connections: number) =>
    (seconds: number): Promise<Load> =>
      wrk({ script: 'create', port, token, articles, idsFile: idsFileOf(stage) }, connections, seconds);
  for (const port of [owner.port, cluster.balancer.port]) await create(cluster, port, 64)(2);
  await create(alone, alone.port, 64)(2);
  const durability = await cluster.durability();
  const rows: string[][] = [];
  for (const connections of connectionCounts) {
    progress(`creates at ${connections} connections`);
    const [embedded = [], direct = [], balanced = []] = await alternate(plan, [
      { name: 'embedded', pid: alone.pid, run: create(alone, alone.port, connections) },
      { name: 'owner', pid: parts, run: create(cluster, owner.port, connections) },
      { name: 'balanced', pid: parts, run: create(cluster, cluster.balancer.port, connections) },
    ]);
    const row = (what: string, samples: readonly Sample[]): string[] => [
      what,
      durability,
      String(connections),
      rate(samples),
      latency(samples),
      ratio(samples, embedded),
      ...['owner', 'others', 'nats'].map((part) => cpuOf(samples, part)),
      cpu(samples),
    ];
    const single = ['one member, embedded', 'local', String(connections), rate(embedded), latency(embedded)];
    rows.push(
      [...single, '1.00', cpu(embedded), '', '', cpu(embedded)],
      row('three members, asked of the owner', direct),
      row('three members, through HAProxy', balanced),
    );
  }
  return rows;
}

function answerOf(
  rows: readonly string[][],
  articles: number,
  classes: readonly string[],
  natsVersion: string,
): Answer {
  return {
    columns: [
      '',
      'durability',
      'connections',
      'creates/s',
      'p50 / p99 ms',
      'to embedded',
      'µs of processor a create: owner',
      'two other members',
      'three NATS servers',
      'all',
    ],
    rows,
    notes: [
      `Stores of ${whole(articles)} articles at the start. All six processes of the cluster share the core that the embedded member has to itself, so the requests a second follow from the processor time; on machines of their own owner, followers and NATS servers work side by side. The logs have three replicas. ${classes.map(flushNote).join(' ')} HAProxy runs on the core of the load generator and spreads requests over the three members, which pass two of three on to the owner; its time is not counted. ${natsVersion}.`,
    ],
  };
}
