import { EtcdCluster } from './support/etcd-cluster.ts';
import { flushNote, type GroveCluster } from './support/grove-cluster.ts';
import type { Question } from './support/question.ts';
import { alternate, type Contender, type Parts, type Sample } from './support/rounds.ts';
import { progress } from './support/stage.ts';
import { cpu, cpuOf, latency, rate, ratio } from './support/table.ts';
import { runScript, type WrkScript } from './support/wrk.ts';

const locksUrl = '/api/shop/main';
const CONNECTIONS = 64;

/** How many lock requests and claims of one hot pool can three members process, compared with three nodes of etcd? */
export const clusterLocks: Question = {
  name: 'cluster-locks',
  title: 'Locks and inventory on three members',
  async measure(plan, stage) {
    const cluster = await stage.startCluster();
    await cluster.json('POST', '/api/repositories', { repo_id: 'shop' });
    await probe(cluster);
    const etcd = await EtcdCluster.start(stage.folder, 3);
    const { owner } = await cluster.ownerOf('shop');
    const parts = await cluster.partsFor('shop');
    const etcdParts: Parts = { owner: [etcd.leaderPid], others: etcd.followerPids };
    const over = (name: string, script: WrkScript, pid: Parts, port: number): Contender => ({
      name,
      pid,
      run: (seconds) =>
        runScript(script, port, CONNECTIONS, seconds, {
          BENCH_TOKEN: cluster.token,
          BENCH_LOCKS_URL: locksUrl,
        }),
    });
    const ours = (script: WrkScript): readonly Contender[] => [
      over('owner', script, parts, owner.port),
      over('balanced', script, parts, cluster.balancer.port),
    ];
    for (const contender of ours('lock')) await contender.run(2);
    progress('locks');
    const [lock = [], balancedLock = [], etcdLock = []] = await alternate(plan, [
      ...ours('lock'),
      over('etcd', 'etcd-lock', etcdParts, etcd.port),
    ]);
    progress('claims');
    const [claim = [], balancedClaim = []] = await alternate(plan, ours('claim'));
    const durability = await cluster.durability();
    await etcd.stop();
    await cluster.stop();
    return {
      columns: [
        '',
        'servers',
        'requests/s',
        'p50 / p99 ms',
        'Grove to it',
        'µs of processor a request: owner or leader',
        'the others',
        'NATS servers',
        'all',
      ],
      rows: [
        row('lock requests', 'Grove, asked of the owner', lock),
        row('', 'Grove, through HAProxy', balancedLock),
        row('', 'etcd, asked of the leader', etcdLock, lock),
        row('claims of one pool', 'Grove, asked of the owner', claim),
        row('', 'Grove, through HAProxy', balancedClaim),
      ],
      notes: [
        `${CONNECTIONS} connections. An acquire and the release that follows it count as two; every key is of one client at a time. Three members and three NATS servers, durability ${durability}; three nodes of etcd asked over the JSON gateway of the leader: a transaction that makes the key if it is not there, then its removal, without a lease. ${flushNote(durability)} All processes of a contender share one core; HAProxy runs on the core of the load generator and is not counted.`,
        `${cluster.natsVersion}; ${EtcdCluster.version}.`,
      ],
    };
  },
};

/** Sends each kind of request once before the load. @throws {Error} unless the answers are as expected */
async function probe(cluster: GroveCluster): Promise<void> {
  const lock = await cluster.json('POST', `${locksUrl}/locks/acquire`, { key: 'probe', ttl_ms: 1000 });
  const { token } = lock as { token: number };
  const released = await cluster.json('POST', `${locksUrl}/locks/release`, { key: 'probe', token });
  const claim = { pool: 'hot', n: 1, capacity: 1_000_000_000 };
  const claimed = await cluster.json('POST', `${locksUrl}/inventory/claim`, claim);
  const said = JSON.stringify([released, claimed]);
  if (said === '[{"released":true},{"claimed":true,"remaining":999999999}]') return;
  throw new Error(`unexpected answers: ${said}`);
}

/** @param ours samples to compare with */
function row(what: string, who: string, samples: readonly Sample[], ours?: readonly Sample[]): string[] {
  const hasNats = samples[0]?.partsUs.nats !== undefined;
  return [
    what,
    who,
    rate(samples),
    latency(samples),
    ours === undefined ? '' : ratio(ours, samples),
    cpuOf(samples, 'owner'),
    cpuOf(samples, 'others'),
    hasNats ? cpuOf(samples, 'nats') : '',
    cpu(samples),
  ];
}
