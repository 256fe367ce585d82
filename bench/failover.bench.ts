import type { ClusterProcess } from './support/cluster-process.ts';
import { lengthOf, longestGap } from './support/gaps.ts';
import type { GroveCluster } from './support/grove-cluster.ts';
import { percentile, rising } from './support/percentile.ts';
import type { Question } from './support/question.ts';
import type { Answer } from './support/answer.ts';
import { median, undisturbed } from './support/rounds.ts';
import { progress } from './support/stage.ts';
import { SteadyCreates } from './support/steady-creates.ts';
import { whole } from './support/table.ts';

/** Kills of the owner for each round of the plan, and as many planned stops. */
const KILLS_PER_ROUND = 4;
const DRAINS_PER_ROUND = 2;

/**
 * Writing clients. Their rate is far below the capacity of the cluster, because the time without writes is measured.
 */
const CLIENTS = 16;
const WRITES_PER_SECOND = 200;

/** Time of writes before the owner ends, and after another member has taken over, in milliseconds. */
const BEFORE_MS = 1_000;
const AFTER_MS = 1_000;

/** Timeout for the next write, and until a member is ready again, in milliseconds. */
const GAP_MS_MAX = 60_000;
const READY_MS_MAX = 120_000;

/** The effect of one end of an owner. */
interface Ending {
  readonly gapMs: number;
  /** Writes in that time that were answered with an error or not answered. */
  readonly refused: number;
  readonly unanswered: number;
}

/** How long are writes unavailable when the member that owns a repository dies or is stopped? Are writes lost? */
export const failover: Question = {
  name: 'failover',
  title: 'Loss of an owner',
  async measure(plan, stage) {
    const cluster = await stage.startCluster();
    await cluster.json('POST', '/api/repositories', { repo_id: 'bench' });
    const folder = { name: 'load', node_type: 'svc:Folder', properties: {} };
    await cluster.json('PUT', '/api/workspaces/bench/content', {
      allowed_node_types: ['svc:Folder'],
      allowed_root_node_types: ['svc:Folder'],
    });
    await cluster.json('POST', '/api/repository/bench/main/head/content/', folder);
    const folderUrl = '/api/repository/bench/main/head/content/load';
    const target = { port: cluster.balancer.port, token: cluster.token, folderUrl };
    const writes = new SteadyCreates(target, CLIENTS, WRITES_PER_SECOND);
    const durability = await cluster.durability();
    const measured = async (signal: 'SIGKILL' | 'SIGTERM', times: number): Promise<Ending[]> => {
      const endings: Ending[] = [];
      while (endings.length < times) {
        endings.push(await undisturbed(plan.disturbance, () => endOwner(cluster, writes, signal)));
        progress(`${signal} ${endings.length} of ${times}: ${Math.round(endings.at(-1)?.gapMs ?? 0)} ms`);
      }
      return endings;
    };
    const killed = await measured('SIGKILL', plan.rounds * KILLS_PER_ROUND);
    const drained = await measured('SIGTERM', plan.rounds * DRAINS_PER_ROUND);
    await writes.end();
    const missing = await writes.missing();
    if (missing.length > 0) {
      throw new Error(
        `${missing.length} acknowledged writes are not there: ${missing.slice(0, 20).join(', ')}`,
      );
    }
    await cluster.stop();
    return answerOf(killed, drained, durability, writes, cluster.natsVersion);
  },
};

/** Ends the member that owns the repository, waits until another member accepts writes, and restarts it. */
async function endOwner(
  cluster: GroveCluster,
  writes: SteadyCreates,
  signal: 'SIGKILL' | 'SIGTERM',
): Promise<Ending> {
  await cluster.settled();
  const { owner } = await cluster.ownerOf('bench');
  await writes.acknowledgedSince(performance.now(), GAP_MS_MAX);
  await pause(BEFORE_MS);
  const endedMs = performance.now();
  const failuresBefore = writes.failures.length;
  await end(owner, signal);
  // A dead owner acknowledges nothing, so a write sent after its end is acknowledged by another member.
  await writes.acknowledgedSince(performance.now(), GAP_MS_MAX);
  await pause(AFTER_MS);
  await writes.acknowledgedSince(performance.now(), GAP_MS_MAX);
  const failures = writes.failures.slice(failuresBefore);
  const gap = longestGap(writes.acknowledgedMs, endedMs, performance.now() - AFTER_MS / 2);
  await owner.start(READY_MS_MAX);
  return {
    gapMs: lengthOf(gap),
    refused: failures.filter(({ status }) => status !== 0).length,
    unanswered: failures.filter(({ status }) => status === 0).length,
  };
}

async function end(owner: ClusterProcess, signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const code = await owner.end(signal);
  if (signal === 'SIGTERM' && code !== 0)
    throw new Error(`${owner.name} ended with ${code} on SIGTERM:\n${owner.log}`);
}

function answerOf(
  killed: readonly Ending[],
  drained: readonly Ending[],
  durability: string,
  writes: SteadyCreates,
  natsVersion: string,
): Answer {
  const row = (what: string, endings: readonly Ending[]): string[] => {
    const gaps = rising(endings.map(({ gapMs }) => gapMs));
    const count = (figure: 'refused' | 'unanswered'): string =>
      whole(endings.reduce((sum, each) => sum + each[figure], 0));
    return [
      what,
      String(endings.length),
      ...[percentile(gaps, 0), median(gaps), percentile(gaps, 0.9), percentile(gaps, 1)].map(
        (ms) => `${whole(ms)} ms`,
      ),
      count('refused'),
      count('unanswered'),
    ];
  };
  return {
    columns: [
      'the owner is',
      'times',
      'shortest gap',
      'median',
      'p90',
      'longest',
      'writes answered with an error',
      'without an answer',
    ],
    rows: [row('killed (kill -9)', killed), row('stopped (SIGTERM)', drained)],
    effort: `${killed.length} kills and ${drained.length} planned ends, each of the present owner`,
    notes: [
      `A gap is the longest time in which no write to a repository of that owner was acknowledged, from the last answer before to the first one after. ${CLIENTS} clients create nodes through HAProxy, ${WRITES_PER_SECOND} a second as long as they are answered, wait for each answer as long as it takes, and repeat nothing. The member is started again when the gap is over, and the next one ends when every partition has its followers and every member its share. Durability ${durability}, 32 partitions, read lease of 4 s. All members and NATS servers share one core. ${natsVersion}.`,
      `${whole(writes.acknowledgedMs.length)} writes were acknowledged in all. Every one of them was there at the end.`,
    ],
  };
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
