/**
 * What commands cost whose tables are drained at their front: creates with idempotency keys in a store whose keys of
 * yesterday have just expired, and claims of jobs beside enqueues. The engine alone, without sockets. Processor time of
 * the main thread is told besides, for it does not depend on what else the machine does.
 *
 * Run: node bench/drained-queues.ts [count] (with UV_THREADPOOL_SIZE=32)
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { branchActor } from '#actors/branch/branch-actor.ts';
import { jobsActor } from '#actors/jobs/jobs-actor.ts';
import { policyFor } from '#runtime/access/policy.ts';
import type { Principal } from '#runtime/access/principal.ts';
import { ActorHost } from '#runtime/actor/actor-host.ts';
import { type Clock, systemClock } from '#runtime/base/clock.ts';
import { realFileSystem } from '#runtime/base/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { SliceScheduler } from '#runtime/base/slice-scheduler.ts';
import type { ActorKind, Caller } from '#runtime/commit/behaviour.ts';
import { Journal } from '#runtime/embedded/journal.ts';

const count = Number(process.argv[2] ?? 20_000);
const DAY_MS = 86_400_000;
const folder = mkdtempSync(join(tmpdir(), 'grove-queues-'));
let shiftMs = 0;
const clock: Clock = { ...systemClock, wallMs: () => systemClock.wallMs() + shiftMs };
const workspace = {
  name: 'content',
  allowed_node_types: [],
  allowed_root_node_types: [],
  config: { default_branch: 'main', node_type_pins: {} },
};
const languages = { defaultLanguage: 'en', supportedLanguages: ['en'], fallbackChains: {} };
const repository: ActorKind = {
  kind: 'repository',
  tables: [],
  create: () => ({ execute: () => undefined, query: () => ({ workspace, languages }) }),
};
const journal = await Journal.open({
  folder: join(folder, 'journal'),
  durability: 'local',
  files: realFileSystem,
  clock,
  random: systemRandom,
  report: () => {},
});
const host = new ActorHost({
  folder: join(folder, 'actors'),
  log: journal,
  clock,
  random: systemRandom,
  kinds: [
    branchActor({ commitNodesMax: 100_000 }),
    jobsActor({ activeMax: 1_000_000, finalMax: 1_000_000, retentionMs: DAY_MS, deadLetterMs: DAY_MS }),
    repository,
  ],
  slices: new SliceScheduler(clock),
  limits: {
    commit: {
      mailboxMax: 4096,
      batchCommandsMax: 512,
      batchBytesMax: 4 << 20,
      applyPendingBytesMax: 64 << 20,
      idempotency: { ttlMs: DAY_MS, entriesMax: 1_000_000 },
    },
    apply: { applyBytes: 16 << 20, applyDelayMs: 1000 },
    openActorsMax: 100,
    idleCloseMs: 300_000,
  },
  observer: { batchDurable: () => {}, events: () => {}, stopped: console.error, applyFailed: console.error },
});
const principal: Principal = { kind: 'system', tenant: 'default' };
const caller: Caller = { principal, policy: policyFor(principal, 'default') };
const branch = 'default/bench~1/main~1/branch';
const jobs = 'default/bench~1/jobs';
for (const actor of ['default/bench~1/repository', branch, jobs]) await host.create(actor);
const definition = { name: 'bench:Article', properties: [{ name: 'title', type: 'String', required: true }] };
await host.command(branch, { type: 'PutDefinition', kind: 'node_type', definition }, { caller });

/** Processor time of the main thread so far, in milliseconds. */
function workedMs(): number {
  return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ', 1)[0]) / 1e6;
}

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
await host.close();
await journal.close();
rmSync(folder, { recursive: true });
