/**
 * Measures what may grow with a history or with the number of repositories: a page of the revisions that lead to an
 * earlier one, a move of the head that is refused because it changes too many nodes, and the lookup of the repositories
 * with a due job. It runs the engine alone. It prints the processor time of the main thread, which does not depend on
 * other load of the machine, and the memory the refused command held.
 *
 * Run: npx node --expose-gc bench/long-histories.ts [revisions] (with UV_THREADPOOL_SIZE=32)
 */
import { DueScopes } from '#actors/jobs/due-scopes.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import type { JobScope } from '#runtime/jobs/ports.ts';
import { BareEngine } from './support/bare-engine.ts';
import { workedMs } from './support/worked.ts';

const count = Number(process.argv[2] ?? 30_000);
const COMMIT_NODES_MAX = 2_000;
const REPEATS = 200;

const engine = await BareEngine.open({ commitNodesMax: COMMIT_NODES_MAX });
const { branch, caller, host } = engine;
const definition = { name: 'bench:Article', properties: [{ name: 'title', type: 'String', required: true }] };
await host.command(branch, { type: 'PutDefinition', kind: 'node_type', definition }, { caller });

const revisions: string[] = [];
let next = 0;
async function writer(): Promise<void> {
  while (next < count) {
    const index = next++;
    const node = { name: `n-${index}`, nodeType: 'bench:Article', properties: { title: `T ${index}` } };
    const message = { type: 'CreateNode', workspace: 'content', parentPath: '/', node, deep: false };
    const { revision } = (await host.command(branch, message, { caller })) as { revision: string };
    revisions[index] = revision;
  }
}
await Promise.all(Array.from({ length: 64 }, writer));

const at = parseRevision(revisions[count - COMMIT_NODES_MAX] as string);
const list = { type: 'ListRevisions', limit: 50, offset: 0, includeSystem: false, at };
await host.query(branch, list, caller);
let began = workedMs();
for (let repeat = 0; repeat < REPEATS; repeat += 1) await host.query(branch, list, caller);
print('a page of 50 revisions up to an earlier one', (workedMs() - began) / REPEATS, 'ms');

globalThis.gc?.();
const memory = (): number => process.memoryUsage().heapUsed + process.memoryUsage().external;
const before = memory();
let most = before;
const looking = setInterval(() => {
  most = Math.max(most, memory());
}, 1);
began = workedMs();
const refused = await engine
  .command({ type: 'MoveHead', revision: revisions[0] })
  .catch((error: { code: string }) => error.code);
print(`a move of the head, refused as ${String(refused)}`, workedMs() - began, 'ms');
most = Math.max(most, memory());
clearInterval(looking);
print('memory it held', (most - before) / 1_000_000, 'MB');
await engine.remove();

const scopes = new DueScopes();
for (let number = 0; number < 10_000; number += 1)
  scopes.note(`bench/r${number}` as JobScope, Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY);
scopes.note('bench/r7' as JobScope, 1, Number.POSITIVE_INFINITY);
scopes.due(2);
const looks = 100_000;
began = workedMs();
for (let look = 0; look < looks; look += 1) scopes.due(2);
print('the repositories with a due job, of 10,000', ((workedMs() - began) * 1000) / looks, 'µs');

function print(what: string, value: number, unit: string): void {
  console.log(`${what.padEnd(60)} ${value.toFixed(2).padStart(10)} ${unit}`);
}
