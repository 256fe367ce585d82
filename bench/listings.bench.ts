import { nodesUrl } from './support/corpus.ts';
import { probe } from './support/probe.ts';
import type { Question } from './support/question.ts';
import { alternate } from './support/rounds.ts';
import { progress } from './support/stage.ts';
import { cpu, latency, rate, ratio } from './support/table.ts';
import { wrk } from './support/wrk.ts';

/** How fast is a page of 100 children, compared with a keyset page of PostgreSQL? */
export const listings: Question = {
  name: 'listings',
  title: 'Listings: a page of 100 children',
  async measure(plan, stage) {
    const { server, articles, idsFile } = await stage.grove(plan.articles);
    const postgres = await stage.postgres(plan.articles);
    const page = await probe(server, `${nodesUrl}/f-0/?limit=100`, '"next_cursor"');
    const count = (JSON.parse(page) as { items: unknown[] }).items.length;
    if (count !== 100) throw new Error(`a page has ${count} nodes instead of 100`);
    const target = {
      script: 'list-page',
      port: server.port,
      token: server.token,
      articles,
      idsFile,
    } as const;
    await wrk(target, 8, 1);
    const rows: string[][] = [];
    for (const connections of plan.connections) {
      progress(`listings at ${connections} connections`);
      const [ours = [], sql = []] = await alternate(plan, [
        { name: 'grove', pid: server.pid, run: (seconds) => wrk(target, connections, seconds) },
        {
          name: 'sql',
          pid: postgres.pid,
          run: (seconds) => postgres.pgbench('list-page', connections, seconds),
        },
      ]);
      rows.push([
        String(connections),
        rate(ours),
        latency(ours),
        rate(sql),
        ratio(ours, sql),
        `${cpu(ours)} / ${cpu(sql)}`,
      ]);
    }
    return {
      columns: [
        'connections',
        'Grove pages/s',
        'p50 / p99 ms',
        'PostgreSQL pages/s',
        'ratio',
        'server µs of processor a page: Grove / PostgreSQL',
      ],
      rows,
      notes: [
        `First page of 100 nodes in editorial order of any of ${(articles / 100).toLocaleString('en-US')} folders; ${Buffer.byteLength(page)} bytes of JSON from Grove, 100 rows in text form from PostgreSQL (\`WHERE parent = … AND order_key > … ORDER BY order_key LIMIT 100\` on its index).`,
      ],
    };
  },
};
