import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { BareUws } from './support/bare-uws.ts';
import { EtcdCluster } from './support/etcd-cluster.ts';
import { type GroveServer, newDataDir } from './support/grove-server.ts';
import { PostgresServer } from './support/postgres-server.ts';
import type { Plan, Question } from './support/question.ts';
import type { Answer } from './support/answer.ts';
import { RedisServer } from './support/redis-server.ts';
import { alternate, type Contender, type Sample } from './support/rounds.ts';
import { progress, type Stage } from './support/stage.ts';
import { cpu, latency, rate, ratio } from './support/table.ts';
import { runScript, type WrkScript } from './support/wrk.ts';

const locksUrl = '/api/shop/main';

/** Connections of the row with a target. */
const CONNECTIONS = 64;

/** Answers of the bare peer. They equal answers of Grove, so that the script handles both in the same way. */
const bareAnswers = {
  lock: '{"acquired":true,"key":"1-1-1","token":123456,"expires_at_ms":1764000000000}',
  claim: '{"claimed":true,"remaining":999999999}',
} as const;

/**
 * How many durable lock requests and claims of one hot pool can one branch process, compared with an HTTP server with
 * constant answers, Redis, etcd and PostgreSQL?
 */
export const locks: Question = {
  name: 'locks',
  title: 'Locks and inventory',
  measure: measureLocks,
};

async function measureLocks(plan: Plan, stage: Stage): Promise<Answer> {
  const server = await stage.startGrove(newDataDir(stage.folder));
  await server.json('POST', '/api/repositories', { repo_id: 'shop' });
  await probe(server);
  const redis = await RedisServer.start(stage.folder);
  const etcd = await EtcdCluster.start(stage.folder, 1);
  const postgres = await PostgresServer.start(stage.folder);
  await postgres.value('CREATE TABLE pool (name text PRIMARY KEY, remaining bigint NOT NULL)');
  await postgres.value("INSERT INTO pool VALUES ('hot', 1000000000000)");
  const lockBare = await startBare(stage, 'lock');
  const claimBare = await startBare(stage, 'claim');
  try {
    const send = (script: WrkScript, port: number, seconds: number) =>
      runScript(script, port, CONNECTIONS, seconds, {
        BENCH_TOKEN: server.token,
        BENCH_LOCKS_URL: locksUrl,
      });
    const over = (name: string, script: WrkScript, pid: number, port: number): Contender => ({
      name,
      pid,
      run: (seconds) => send(script, port, seconds),
    });
    await send('lock', server.port, 2);
    progress('locks');
    const [lock = [], bareLock = [], set = [], etcdLock = []] = await alternate(plan, [
      over('grove', 'lock', server.pid, server.port),
      over('bare', 'lock', lockBare.pid, lockBare.port),
      { name: 'redis', pid: redis.pid, run: (seconds) => redis.setIfFree(CONNECTIONS, seconds) },
      over('etcd', 'etcd-lock', etcd.leaderPid, etcd.port),
    ]);
    progress('claims');
    const [claim = [], bareClaim = [], update = []] = await alternate(plan, [
      over('grove', 'claim', server.pid, server.port),
      over('bare', 'claim', claimBare.pid, claimBare.port),
      { name: 'sql', pid: postgres.pid, run: (seconds) => postgres.pgbench('claim', CONNECTIONS, seconds) },
    ]);
    return answerOf(
      [
        row('lock requests', 'Grove', lock),
        row('', 'bare uWebSockets.js', bareLock, lock),
        row('', 'Redis `SET NX PX`', set, lock),
        row('', 'etcd', etcdLock, lock),
        row('claims of one pool', 'Grove', claim),
        row('', 'bare uWebSockets.js', bareClaim, claim),
        row('', 'PostgreSQL', update, claim),
      ],
      RedisServer.version,
      EtcdCluster.version,
    );
  } finally {
    for (const peer of [lockBare, claimBare, redis, etcd, postgres]) await peer.stop();
    await server.stop();
  }
}

/** Sends each kind of request once before the load. @throws {Error} unless the answers are as expected */
async function probe(server: GroveServer): Promise<void> {
  const lock = await server.json('POST', `${locksUrl}/locks/acquire`, { key: 'probe', ttl_ms: 1000 });
  const { token } = lock as { token: number };
  const released = await server.json('POST', `${locksUrl}/locks/release`, { key: 'probe', token });
  const claim = { pool: 'hot', n: 1, capacity: 1_000_000_000 };
  const claimed = await server.json('POST', `${locksUrl}/inventory/claim`, claim);
  const said = JSON.stringify([released, claimed]);
  if (said === '[{"released":true},{"claimed":true,"remaining":999999999}]') return;
  throw new Error(`unexpected answers: ${said}`);
}

function startBare(stage: Stage, what: keyof typeof bareAnswers): Promise<BareUws> {
  const folder = join(stage.folder, `bare-${what}`);
  mkdirSync(folder);
  return BareUws.start(folder, bareAnswers[what]);
}

/** @param ours samples to compare with */
function row(what: string, who: string, samples: readonly Sample[], ours?: readonly Sample[]): string[] {
  const latencies = samples[0]?.p50Ms === undefined ? '' : latency(samples);
  return [what, who, rate(samples), latencies, ours === undefined ? '' : ratio(ours, samples), cpu(samples)];
}

function answerOf(rows: readonly string[][], ...versions: readonly string[]): Answer {
  return {
    columns: ['', 'server', 'requests/s', 'p50 / p99 ms', 'Grove to it', 'server µs of processor a request'],
    rows,
    notes: [
      `${CONNECTIONS} connections. An acquire and the release that follows it count as two; every key is of one client at a time. Grove's answers wait for its disk. Redis flushes its append-only file before every answer (\`appendfsync always\`) and is asked by \`redis-benchmark\`; its rate is of acquiring alone. etcd is one server asked over its JSON gateway: a transaction that makes the key if it is not there, then its removal, without a lease. PostgreSQL runs \`UPDATE … SET remaining = remaining - 1 WHERE name = … AND remaining >= 1\` on one row (\`pgbench -M prepared\`), fsync and synchronous_commit on.`,
      `${versions.join('; ')}.`,
    ],
  };
}
