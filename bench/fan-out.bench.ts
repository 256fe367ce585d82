import { once } from 'node:events';
import type { MemberMemory, MemberOrder, MemberReport } from './members/member-orders.ts';
import type { Told } from './members/tally.ts';
import type { ClusterProcess } from './support/cluster-process.ts';
import type { GroveCluster } from './support/grove-cluster.ts';
import { percentile, rising } from './support/percentile.ts';
import { processorSecondsOf } from './support/process-stat.ts';
import type { Plan, Question } from './support/question.ts';
import { undisturbed } from './support/rounds.ts';
import { progress } from './support/stage.ts';
import { whole } from './support/table.ts';

/** Numbers of subscribers on one member, ascending; the last is the row with a target. */
const subscriberCounts = [1, 1_000, 10_000];

/** Revisions in a round, and the time between two of them. */
const WRITES_PER_ROUND = 50;
const INTERVAL_MS = 100;

/** Timeout until all subscribers have received an event, in milliseconds. */
const TOLD_MS_MAX = 30_000;

/** Timeout of an order to the member, in milliseconds. */
const ORDER_MS_MAX = 60_000;

const folderUrl = '/api/repository/bench/main/head/content/';

/** Delays of the event of one revision, in milliseconds after the answer to its writer. */
interface Delay {
  readonly first: number;
  readonly half: number;
  readonly last: number;
}

interface Round {
  readonly delays: readonly Delay[];
  /** Processor time for one revision of the member with the subscribers, in milliseconds. */
  readonly cpuMs: number;
}

/** How long after the answer to a write have ten thousand subscribers on another member received its event? */
export const fanOut: Question = {
  name: 'fan-out',
  title: 'Committed changes to many subscribers',
  async measure(plan, stage) {
    const cluster = await stage.startCluster({
      memberProgram: '--expose-gc bench/members/subscribed-member.ts',
    });
    await cluster.json('POST', '/api/repositories', { repo_id: 'bench' });
    await cluster.json('PUT', '/api/workspaces/bench/content', {
      allowed_node_types: ['svc:Folder'],
      allowed_root_node_types: ['svc:Folder'],
    });
    const { others, owner } = await cluster.ownerOf('bench');
    const listener = new Listener(others[0] as ClusterProcess);
    const writer = new Writer(cluster, owner);
    const branch = await listener.branchOf(writer);
    const rows: string[][] = [];
    const without = await listener.memory();
    for (const subscribers of subscriberCounts) {
      progress(`${whole(subscribers)} subscribers`);
      await listener.subscribe(branch, subscribers);
      const fresh = each(subscribers, without, await listener.memory());
      await measureRound(listener, writer);
      const rounds: Round[] = [];
      while (rounds.length < plan.rounds)
        rounds.push(await undisturbed(plan.disturbance, () => measureRound(listener, writer)));
      const used = each(subscribers, without, await listener.memory());
      rows.push([...rowOf(subscribers, rounds), fresh, used]);
    }
    const durability = await cluster.durability();
    await cluster.stop();
    return {
      columns: [
        'subscribers',
        'first told, p50 / p99 ms',
        'half of them',
        'all of them',
        'longest',
        'ms of processor a revision',
        'memory of a new one, heap / resident',
        'after these revisions',
      ],
      rows,
      effort: effortOf(plan),
      notes: [
        `Subscribers to one branch inside of one member, through the bus that streams are made of; each waits for the next item and takes the time when it comes. The branch is owned by another member, which is asked for a write each ${INTERVAL_MS} ms. Times count from the answer to the write, which is durable then (${durability}), until a subscriber has the event; p50 and p99 of all revisions. Below zero it was told before the answer arrived. The processor time is that of the member with the subscribers. Memory is what the member has more than without subscribers, after a garbage collection, for each of them. All members and NATS servers share one core. ${cluster.natsVersion}.`,
      ],
    };
  },
};

function effortOf({ rounds }: Plan): string {
  return `${rounds} rounds of ${WRITES_PER_ROUND} revisions for each row`;
}

async function measureRound(listener: Listener, writer: Writer): Promise<Round> {
  const cpuBefore = processorSecondsOf(listener.pid);
  const delays: Delay[] = [];
  for (let index = 0; index < WRITES_PER_ROUND; index++) {
    const next = pause(INTERVAL_MS);
    const { answeredMs, revision } = await writer.write();
    const { firstMs, halfMs, lastMs } = await listener.told(revision);
    delays.push({ first: firstMs - answeredMs, half: halfMs - answeredMs, last: lastMs - answeredMs });
    await next;
  }
  return { delays, cpuMs: ((processorSecondsOf(listener.pid) - cpuBefore) * 1000) / WRITES_PER_ROUND };
}

function rowOf(subscribers: number, rounds: readonly Round[]): string[] {
  const delays = rounds.flatMap((round) => round.delays);
  const both = (figure: keyof Delay): string => {
    const times = rising(delays.map((delay) => delay[figure]));
    return `${percentile(times, 0.5).toFixed(1)} / ${percentile(times, 0.99).toFixed(1)}`;
  };
  const longest = Math.max(...delays.map(({ last }) => last));
  const cpuMs = percentile(rising(rounds.map((round) => round.cpuMs)), 0.5);
  return [
    whole(subscribers),
    both('first'),
    both('half'),
    both('last'),
    `${longest.toFixed(1)} ms`,
    cpuMs.toFixed(1),
  ];
}

/** Memory of one subscriber. Empty for few subscribers, whose memory is too small to measure in the process. */
function each(subscribers: number, before: MemberMemory, after: MemberMemory): string {
  if (subscribers < 100) return '';
  const kilobytes = (figure: keyof MemberMemory): string =>
    `${((after[figure] - before[figure]) / subscribers / 1000).toFixed(1)} kB`;
  return `${kilobytes('heapBytes')} / ${kilobytes('residentBytes')}`;
}

/** Writes one revision after the other. */
class Writer {
  readonly #cluster: GroveCluster;
  readonly #owner: ClusterProcess;
  #written = 0;

  constructor(cluster: GroveCluster, owner: ClusterProcess) {
    this.#cluster = cluster;
    this.#owner = owner;
  }

  /** @returns when the answer arrived, on the clock shared by all processes */
  async write(): Promise<{ revision: string; answeredMs: number }> {
    this.#written += 1;
    const body = { name: `n-${this.#written}`, node_type: 'svc:Folder', properties: {} };
    const { headers } = await this.#cluster.request('POST', folderUrl, body, this.#owner);
    const answeredMs = Number(process.hrtime.bigint()) / 1e6;
    const revision = headers.get('x-svc-revision');
    if (revision === null) throw new Error('a write was answered without its revision');
    return { revision, answeredMs };
  }
}

/** The member with the subscribers. */
class Listener {
  readonly #member: ClusterProcess;
  readonly #told = new Map<string, Told>();
  #wake: (() => void) | undefined;

  constructor(member: ClusterProcess) {
    this.#member = member;
    member.child.on('message', (report: MemberReport) => {
      if (report.say !== 'told') return;
      this.#told.set(report.revision, report);
      this.#wake?.();
    });
  }

  get pid(): number {
    return this.#member.pid;
  }

  /** The actor id of the branch of a writer, as used on the bus. */
  async branchOf(writer: Writer): Promise<string> {
    const listening = this.#hear('listening');
    const heard = this.#hear('heard');
    this.#order({ do: 'listen' });
    await listening;
    await writer.write();
    return (await heard).branch;
  }

  /** Opens subscriptions up to this total number. */
  async subscribe(branch: string, subscribers: number): Promise<void> {
    const subscribed = this.#hear('subscribed');
    this.#order({ do: 'subscribe', branch, subscribers });
    await subscribed;
  }

  /** Memory in use by the member. */
  async memory(): Promise<MemberMemory> {
    const weighed = this.#hear('weighed');
    this.#order({ do: 'weigh' });
    return await weighed;
  }

  /** When the subscribers received a revision. @throws {Error} after a timeout */
  async told(revision: string): Promise<Told> {
    const endMs = performance.now() + TOLD_MS_MAX;
    const timer = setTimeout(() => this.#wake?.(), TOLD_MS_MAX);
    while (!this.#told.has(revision) && performance.now() < endMs) {
      await new Promise<void>((resolve) => {
        this.#wake = () => resolve();
      });
    }
    clearTimeout(timer);
    const told = this.#told.get(revision);
    if (told === undefined) throw new Error(`not everybody was told of ${revision} in ${TOLD_MS_MAX} ms`);
    this.#told.delete(revision);
    return told;
  }

  async #hear<Say extends MemberReport['say']>(say: Say): Promise<Extract<MemberReport, { say: Say }>> {
    const signal = AbortSignal.timeout(ORDER_MS_MAX);
    for (;;) {
      const [report] = (await once(this.#member.child, 'message', { signal })) as [MemberReport];
      if (report.say === say) return report as Extract<MemberReport, { say: Say }>;
    }
  }

  #order(order: MemberOrder): void {
    this.#member.child.send(order);
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
