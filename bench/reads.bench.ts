import { readFileSync } from 'node:fs';
import { BareUws } from './support/bare-uws.ts';
import { nodesUrl } from './support/corpus.ts';
import { probe } from './support/probe.ts';
import type { Question } from './support/question.ts';
import { alternate } from './support/rounds.ts';
import { progress } from './support/stage.ts';
import { cpu, latency, rate, ratio } from './support/table.ts';
import { wrk } from './support/wrk.ts';

/**
 * How fast is a read of one node, by path and by id, compared with an HTTP server with constant answers and with point
 * selects of PostgreSQL? Every article is equally likely, and no article is read twice in a row.
 */
export const reads: Question = {
  name: 'reads',
  title: 'Reads of one node',
  async measure(plan, stage) {
    const { server, articles, idsFile } = await stage.grove(plan.articles);
    const postgres = await stage.postgres(plan.articles);
    const body = await probe(server, `${nodesUrl}/f-0/n-7`, '"name":"n-7"');
    const firstId = readFileSync(idsFile, 'latin1').slice(0, 36);
    await probe(server, `${nodesUrl}/$ref/${firstId}`, `"id":"${firstId}"`);
    const bare = await BareUws.start(stage.folder, body);
    const target = { port: server.port, token: server.token, articles, idsFile };
    const barePort = { ...target, port: bare.port };
    await wrk({ ...target, script: 'read-path' }, 64, 2);
    const rows: string[][] = [];
    for (const connections of plan.connections) {
      progress(`reads at ${connections} connections`);
      const run = (name: string, pid: number, go: (seconds: number) => ReturnType<typeof wrk>) => ({
        name,
        pid,
        run: go,
      });
      const [byPath = [], byId = [], ceiling = [], sqlPath = [], sqlId = []] = await alternate(plan, [
        run('path', server.pid, (seconds) => wrk({ ...target, script: 'read-path' }, connections, seconds)),
        run('id', server.pid, (seconds) => wrk({ ...target, script: 'read-id' }, connections, seconds)),
        run('bare', bare.pid, (seconds) => wrk({ ...barePort, script: 'read-path' }, connections, seconds)),
        run('sql path', postgres.pid, (seconds) => postgres.pgbench('read-path', connections, seconds)),
        run('sql id', postgres.pid, (seconds) => postgres.pgbench('read-id', connections, seconds)),
      ]);
      const row = (what: string, ours: typeof byPath, sql: typeof byPath): string[] => [
        what,
        String(connections),
        rate(ours),
        latency(ours),
        rate(ceiling),
        ratio(ours, ceiling),
        rate(sql),
        ratio(ours, sql),
        `${cpu(ours)} / ${cpu(ceiling)} / ${cpu(sql)}`,
      ];
      rows.push(row('by path', byPath, sqlPath), row('by id', byId, sqlId));
    }
    await bare.stop();
    return {
      columns: [
        'Read',
        'connections',
        'Grove/s',
        'p50 / p99 ms',
        'bare uWebSockets.js/s',
        'ratio',
        'PostgreSQL/s',
        'ratio',
        'server µs of processor a read: Grove / bare / PostgreSQL',
      ],
      rows,
      notes: [
        `Store of ${articles.toLocaleString('en-US')} articles. An answer is ${Buffer.byteLength(body)} bytes of JSON; Grove checks a bearer token, the path and the policy for it. The bare server sends the same body with its content type and looks at nothing. PostgreSQL selects the row by a prepared statement (\`pgbench -M prepared\`).`,
      ],
    };
  },
};
