import { Agent, request } from 'node:http';
import { articleProperties, articleUrl, nodesUrl } from './support/corpus.ts';
import { LongReads } from './support/long-reads.ts';
import { percentile } from './support/percentile.ts';
import type { Question } from './support/question.ts';
import type { Answer } from './support/answer.ts';
import { median, undisturbed } from './support/rounds.ts';
import { type LoadedGrove, progress } from './support/stage.ts';
import { whole } from './support/table.ts';

/** Nodes of the store. A read of all nodes takes about a second without other load. */
const NODES = 100_000;

/** Numbers of concurrent writers, each of which sends one update after the other. */
const WRITERS = [1, 8] as const;

/** Numbers of concurrent long reads. */
const READERS = [0, 1, 8, 32] as const;

/** Warm-up time of the readers. */
const WARM_UP_MS = 300;

/** Results for one number of writers and readers. */
interface Seen {
  readonly writesPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly readMegabytesPerSecond: number;
}

/** How much do long reads and concurrent writes slow each other down? */
export const readersAndWriters: Question = {
  name: 'readers-and-writers',
  title: 'Writers beside long reads',
  async measure(plan, stage) {
    const grove = await stage.sizedGrove(NODES);
    const rows: string[][] = [];
    for (const writers of WRITERS) {
      let alone = 0;
      for (const readers of READERS) {
        progress(`${whole(writers)} writers beside ${whole(readers)} deep reads`);
        const seen: Seen[] = [];
        for (let round = 0; round < plan.rounds; round++) {
          seen.push(
            await undisturbed(plan.disturbance, () => together(grove, writers, readers, plan.seconds * 1000)),
          );
        }
        const of = (figure: keyof Seen): number => median(seen.map((one) => one[figure]));
        if (readers === 0) alone = of('writesPerSecond');
        rows.push([
          whole(writers),
          whole(readers),
          whole(of('writesPerSecond')),
          (of('writesPerSecond') / alone).toFixed(2),
          of('p50Ms').toFixed(2),
          of('p99Ms').toFixed(2),
          of('readMegabytesPerSecond').toFixed(1),
        ]);
      }
    }
    await stage.discard(grove);
    return describe(rows);
  },
};

async function together(
  grove: LoadedGrove,
  writers: number,
  readers: number,
  lengthMs: number,
): Promise<Seen> {
  const agent = new Agent({ keepAlive: true });
  const latencies: number[] = [];
  const reads = new LongReads(grove.server, readers);
  await new Promise((resolve) => setTimeout(resolve, WARM_UP_MS));
  const bytesBefore = reads.bytes;
  const startMs = performance.now();
  const untilMs = startMs + lengthMs;
  await Promise.all(
    Array.from({ length: writers }, (_, writer) => write(grove, agent, writer, untilMs, latencies)),
  );
  const seconds = (performance.now() - startMs) / 1000;
  const megabytes = (reads.bytes - bytesBefore) / 1e6;
  agent.destroy();
  await reads.end();
  latencies.sort((a, b) => a - b);
  return {
    writesPerSecond: latencies.length / seconds,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
    readMegabytesPerSecond: megabytes / seconds,
  };
}

async function write(
  { articles, server }: LoadedGrove,
  agent: Agent,
  writer: number,
  untilMs: number,
  latencies: number[],
): Promise<void> {
  const headers = { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' };
  for (let count = 0; performance.now() < untilMs; count++) {
    const fromMs = performance.now();
    const path = articleUrl(nodesUrl, (writer * 7_919 + count * 101) % articles);
    const body = JSON.stringify({ properties: articleProperties(count) });
    await new Promise<void>((resolve, reject) => {
      request({ host: '127.0.0.1', port: server.port, method: 'PUT', path, agent, headers }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`an update was answered ${response.statusCode}`));
        response.resume().on('end', resolve).on('error', reject);
      })
        .on('error', reject)
        .end(body);
    });
    latencies.push(performance.now() - fromMs);
  }
}

function describe(rows: readonly (readonly string[])[]): Answer {
  return {
    columns: ['writers', 'deep reads', 'updates/s', 'to alone', 'p50 ms of an update', 'p99 ms', 'MB read/s'],
    rows,
    notes: [
      `A deep read is \`GET …/head/content/?deep=true\` over ${whole(NODES)} nodes, one after the other on each ` +
        'connection. Writers send one update after the other.',
    ],
  };
}
