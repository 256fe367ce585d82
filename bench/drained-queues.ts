/**
 * Measures commands on tables whose first rows are removed: creates with idempotency keys in a store whose keys of the
 * previous day have just expired, and claims of jobs interleaved with enqueues. It runs the engine alone, without
 * sockets. It also prints the processor time of the main thread, which does not depend on other load of the machine.
 *
 * Run: npx node bench/drained-queues.ts [count] (with UV_THREADPOOL_SIZE=32)
 */
import { jobsActor } from '#actors/jobs/jobs-actor.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { BareEngine } from './support/bare-engine.ts';
import { workedMs } from './support/worked.ts';

const count = Number(process.argv[2] ?? 20_000);
const DAY_MS = 86_400_000;
let shiftMs = 0;
const clock: Clock = { ...systemClock, wallMs: () => systemClock.wallMs() + shiftMs };
const engine = await BareEngine.open({
  clock,
  kinds: [
    jobsActor({ activeMax: 1_000_000, finalMax: 1_000_000, retentionMs: DAY_MS, deadLetterMs: DAY_MS }),
  ],
  apply: { applyBytes: 16 << 20, applyDelayMs: 1000 },
});
const { branch, caller, host } = engine;
const jobs = 'default/bench~1/jobs';
await host.create(jobs);
const definition = { name: 'bench:Article', properties: [{ name: 'title', type: 'String', required: true }] };
await host.command(branch, { type: 'PutDefinition', kind: 'node_type', definition }, { caller });

async function measure(name: string, each: (index: number) => Promise<unknown>): Promise<void> {
  const startMs = performance.now();
  const workMs = workedMs();
  let next = 0;
  const sender = async (): Promise<void> => {
    while (next < count) await each(next++);
  };
  await Promise.all(Array.from({ length: 64 }, sender));
  const seconds = (performance.now() - startMs) / 1000;
  const us = ((workedMs() - workMs) * 1000) / count;
  const perSecond = Math.round(count / seconds);
  console.log(`${name.padEnd(44)} ${String(perSecond).padStart(7)}/s  ${us.toFixed(1).padStart(7)} µs each`);
}

function create(prefix: string): (index: number) => Promise<unknown> {
  return (index) => {
    const node = {
      name: `${prefix}-${index}`,
      nodeType: 'bench:Article',
      properties: { title: `T ${index}` },
    };
    const message = { type: 'CreateNode', workspace: 'content', parentPath: '/', node, deep: false };
    return host.command(branch, message, {
      caller,
      idempotency: { key: `${prefix}-${index}`, requestHash: 'hash' },
    });
  };
}

await measure('creates with keys', create('a'));
shiftMs += DAY_MS + 60_000;
await measure('creates while keys of yesterday are swept', create('b'));
await measure('enqueues', (index) => {
  const job = { id: `job-${String(index).padStart(9, '0')}`, type: 'bench:work', about: 'a', payload: null };
  return host.command(jobs, { type: 'EnqueueJob', job }, { caller });
});
await measure('claims and completions', async (index) => {
  const token = `token-${index}`;
  const claim = { type: 'ClaimJob', leaseMs: 600_000, token, types: ['bench:work'], worker: 'w' };
  const { job } = (await host.command(jobs, claim, { caller })) as { job: { id: string } };
  await host.command(jobs, { type: 'CompleteJob', id: job.id, token, result: null }, { caller });
});
await engine.remove();
