/**
 * An ordinary member with subscribers to committed changes in its process. The subscribers only record the time of each
 * event. The parent process sends a {@link MemberOrder}; the member answers each with a {@link MemberReport}.
 *
 * Run: node --expose-gc bench/members/subscribed-member.ts, with the environment of server/main.ts
 */
import { readFileSync } from 'node:fs';
import { drainOnSignals } from '#server/drain.ts';
import { startMember } from '#server/wiring.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { Bus, BusSubscription } from '#runtime/bus/ports.ts';
import { loadOptions } from '#runtime/config/load-options.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { createLog } from '#runtime/telemetry/log-context.ts';
import { memoryOf } from '../support/process-stat.ts';
import type { MemberMemory, MemberOrder, MemberReport } from './member-orders.ts';
import { Tally } from './tally.ts';

/** Most subscriptions opened concurrently. */
const OPENING_MAX = 32;

const options = loadOptions(process.env, (path) => readFileSync(path, 'utf8'));
const log = createLog({ level: options.server.logLevel, clock: systemClock });
const member = await startMember({
  options,
  clock: systemClock,
  random: systemRandom,
  log,
  version: 'bench',
  print: (text) => void process.stdout.write(`${text}\n`),
  collectDefaultMetrics: true,
});
drainOnSignals(
  process,
  {
    drain: () => member.drain(options.server.shutdownGraceMs),
    exit: (code) => process.exit(code),
  },
  systemClock,
);

const subscriptions: BusSubscription[] = [];
const tally = new Tally((told) => send({ say: 'told', ...told }));

process.on('message', (order: MemberOrder) => void obey(order));

async function obey(order: MemberOrder): Promise<void> {
  switch (order.do) {
    case 'listen':
      send({ say: 'heard', branch: await nextBranch(member.bus) });
      return;
    case 'subscribe':
      await subscribe(order.branch, order.subscribers);
      send({ say: 'subscribed' });
      return;
    case 'weigh':
      send({ say: 'weighed', ...memoryNow() });
  }
}

/** Opens subscriptions up to a total number. */
async function subscribe(branch: ActorId, subscribers: number): Promise<void> {
  let opened = subscriptions.length;
  const open = async (): Promise<void> => {
    while (opened < subscribers) {
      opened += 1;
      const subscription = await member.bus.subscribe(branch);
      subscriptions.push(subscription);
      void follow(subscription);
    }
  };
  await Promise.all(Array.from({ length: OPENING_MAX }, open));
  tally.subscribers = subscriptions.length;
}

/** The branch of the next commit. Clients do not know its actor id. */
async function nextBranch(bus: Bus): Promise<ActorId> {
  const everything = bus.subscribeUnder('');
  send({ say: 'listening' });
  const { done, value } = await everything.next();
  everything.close();
  if (done === true) throw new Error('the bus was closed');
  return value.branch;
}

async function follow(subscription: BusSubscription): Promise<void> {
  try {
    for await (const { event } of subscription) tally.count(event.revision, monotonicMs());
  } catch (error) {
    // Any other error is noticed because a subscriber receives no event.
    if (!(error instanceof ServiceError) || error.code !== 'SHUTTING_DOWN')
      log.error('a subscriber', { error });
  }
}

/** Memory that is in use, in bytes. */
function memoryNow(): MemberMemory {
  if (globalThis.gc === undefined) throw new Error('run it with --expose-gc');
  globalThis.gc();
  return { heapBytes: process.memoryUsage().heapUsed, residentBytes: memoryOf(process.pid).anonymous };
}

/** A clock shared by all processes of a machine. */
function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

function send(report: MemberReport): void {
  process.send?.(report);
}
