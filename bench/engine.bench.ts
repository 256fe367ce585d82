/**
 * Question: how fast is the engine without HTTP? Durable creates by 64 concurrent writers into one branch, and
 * point reads by path, through the actor host, the journal and LMDB.
 *
 * Run: node bench/engine.bench.ts [seconds]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { branchActor } from '#actors/branch/branch-actor.ts';
import { policyFor } from '#runtime/access/policy.ts';
import type { Principal } from '#runtime/access/principal.ts';
import { ActorHost } from '#runtime/actor/actor-host.ts';
import { systemClock } from '#runtime/base/clock.ts';
import { SliceScheduler } from '#runtime/base/slice-scheduler.ts';
import { realFileSystem } from '#runtime/base/file-system.ts';
import { systemRandom } from '#runtime/base/random.ts';
import type { ActorKind, Caller } from '#runtime/commit/behaviour.ts';
import { Journal } from '#runtime/embedded/journal.ts';

const seconds = Number(process.argv[2] ?? 5);
const folder = mkdtempSync(join(tmpdir(), 'grove-engine-'));
const journal = await Journal.open({
  folder: join(folder, 'journal'),
  durability: 'local',
  files: realFileSystem,
  clock: systemClock,
  random: systemRandom,
  report: () => {},
});
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
const host = new ActorHost({
  folder: join(folder, 'actors'),
  log: journal,
  clock: systemClock,
  random: systemRandom,
  kinds: [branchActor({ commitNodesMax: 100_000 }), repository],
  slices: new SliceScheduler(systemClock),
  limits: {
    commit: {
      mailboxMax: 4096,
      batchCommandsMax: 512,
      batchBytesMax: 4 << 20,
      applyPendingBytesMax: 64 << 20,
      idempotency: { ttlMs: 86_400_000, entriesMax: 1_000_000 },
    },
    apply: { applyBytes: 1 << 20, applyDelayMs: 50 },
    openActorsMax: 100,
    idleCloseMs: 300_000,
  },
  observer: { batchDurable: () => {}, events: () => {}, stopped: console.error, applyFailed: console.error },
});
const principal: Principal = { kind: 'system', tenant: 'default' };
const caller: Caller = { principal, policy: policyFor(principal, 'default') };
const branch = 'default/bench~1/main~1/branch';
await host.create('default/bench~1/repository');
await host.create(branch);
const type = {
  name: 'bench:Article',
  properties: [
    { name: 'title', type: 'String', required: true },
    { name: 'author', type: 'String', index: ['Property'] },
    { name: 'rank', type: 'Number', index: ['Property'] },
  ],
};
await host.command(branch, { type: 'PutDefinition', kind: 'node_type', definition: type }, { caller });

let made = 0;
const until = performance.now() + seconds * 1000;
const body = 'Lorem ipsum dolor sit amet, consectetur adipiscing elit. '.repeat(3);
const cpu = process.cpuUsage();
async function writer(number: number): Promise<void> {
  for (let index = 0; performance.now() < until; index++) {
    const node = {
      name: `n-${number}-${index}`,
      nodeType: 'bench:Article',
      properties: {
        title: `Title ${index}`,
        author: `author-${index % 100}`,
        rank: index,
        body,
        tags: ['a', 'b'],
      },
    };
    await host.command(
      branch,
      { type: 'CreateNode', workspace: 'content', parentPath: '/', node, deep: false },
      { caller },
    );
    made += 1;
  }
}
await Promise.all(Array.from({ length: 64 }, (_, number) => writer(number)));
const used = process.cpuUsage(cpu);
console.log(
  `creates/s ${Math.round(made / seconds)}  cpu us per create: user ${(used.user / made).toFixed(1)} system ${(used.system / made).toFixed(1)}`,
);
await new Promise((resolve) => setTimeout(resolve, 300));
let read = 0;
let bytes = 0;
const readUntil = performance.now() + 2000;
while (performance.now() < readUntil) {
  for (let index = 0; index < 200; index++) {
    const path = `/n-${read % 64}-${read % 500}`;
    bytes += (
      host.query(branch, { type: 'ReadNode', workspace: 'content', place: { path } }, caller) as {
        text: string;
      }
    ).text.length;
    read += 1;
  }
}
console.log(`reads/s ${Math.round(read / 2)}  bytes ${Math.round(bytes / read)}`);
await host.close();
await journal.close();
rmSync(folder, { recursive: true });
