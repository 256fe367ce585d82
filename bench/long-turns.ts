/**
 * Measures the longest turn of the event loop during large operations of an actor, in processor time of the main
 * thread. It runs the engine alone, without sockets. Prints one line for each operation.
 *
 * Run: npx node bench/long-turns.ts [nodes] (with UV_THREADPOOL_SIZE=32)
 */
import { BareEngine } from './support/bare-engine.ts';
import { workedMs } from './support/worked.ts';

const nodes = Number(process.argv[2] ?? 100_000);
const engine = await BareEngine.open({ applyPendingBytesMax: 256 << 20 });
const { branch, caller, host } = engine;

function typeWith(index: readonly string[]): object {
  return {
    name: 'bench:Article',
    properties: [
      { name: 'title', type: 'String', required: true },
      { name: 'author', type: 'String', index },
      { name: 'rank', type: 'Number', index: ['Property'] },
    ],
  };
}

/** Commands that are sent to a branch together. */
const REVISIONS_AT_ONCE = 1_000;

const body = 'Lorem ipsum dolor sit amet, consectetur adipiscing elit. '.repeat(3);

function command(message: object): Promise<unknown> {
  return engine.command(message);
}

/** Measures turns until `work` is done, and for a short time after it. */
async function turns(name: string, work: () => Promise<unknown>): Promise<unknown> {
  let longest = 0;
  let over8 = 0;
  let isOver = false;
  let lastMs = workedMs();
  const tick = (): void => {
    const nowMs = workedMs();
    longest = Math.max(longest, nowMs - lastMs);
    if (nowMs - lastMs > 12) over8 += 1;
    lastMs = nowMs;
    if (!isOver) setImmediate(tick);
  };
  setImmediate(tick);
  const startMs = performance.now();
  const result = await work().catch((error: unknown) => String(error).slice(0, 90));
  const ms = performance.now() - startMs;
  await new Promise((resolve) => setTimeout(resolve, 300));
  isOver = true;
  console.log(
    `${name.padEnd(42)} longest turn ${longest.toFixed(1).padStart(7)} ms  over 12 ms ${over8}  took ${ms.toFixed(0)} ms`,
  );
  return result;
}

function creates(count: number, prefix: string): object[] {
  return Array.from({ length: count }, (_, index) => ({
    type: 'create',
    parentPath: '/',
    node: {
      name: `${prefix}-${index}`,
      nodeType: 'bench:Article',
      properties: { title: `Title ${index}`, author: `author-${index % 100}`, rank: index, body },
    },
  }));
}

function commit(operations: readonly object[]): Promise<unknown> {
  return command({
    type: 'CommitOperations',
    workspace: 'content',
    operations,
    commit: { message: 'large', actor: 'bench' },
  });
}

async function drained(answer: unknown): Promise<void> {
  const { chunks } = (await answer) as { chunks?: AsyncIterable<string> };
  if (chunks !== undefined) for await (const chunk of chunks) void chunk;
}

await command({ type: 'PutDefinition', kind: 'node_type', definition: typeWith([]) });
const first = (await commit(creates(100, 'a'))) as { revision: string };
await turns(`${nodes} creates`, () => commit(creates(nodes, 'n')));
const list = { type: 'ListChildren', workspace: 'content', place: { path: '/' }, scope: 'bench' };
await turns('first listing after it', () => drained(host.query(branch, { ...list, limit: 10 }, caller)));
const [ms, counter] = first.revision.split('-').map(Number);
const at = { ms, counter };
await turns('listing from before it', () =>
  drained(host.query(branch, { ...list, limit: 1000, at }, caller)),
);
const failing = [...creates(nodes - 1, 'f'), { type: 'delete', nodeId: 'nothing' }];
await turns('the same, refused at its end', () => commit(failing));
await turns('an index on them', () =>
  command({ type: 'PutDefinition', kind: 'node_type', definition: typeWith(['Property']) }),
);
await turns('a new branch', () => host.create('default/bench~1/empty~1/branch'));
const source = 'default/bench~1/source~1/branch';
await turns('a fork of them', () => host.fork(branch, source));
await host.command(source, { type: 'BecomeFork', sourceName: 'main' }, { caller });
for (let from = 0; from < nodes; from += REVISIONS_AT_ONCE) {
  const count = Math.min(REVISIONS_AT_ONCE, nodes - from);
  const node = (index: number) => ({ name: `r-${from + index}`, nodeType: 'bench:Article' });
  await Promise.all(
    Array.from({ length: count }, (_, index) => {
      const properties = { title: 'r', author: 'a', rank: index, body };
      const create = { type: 'CreateNode', workspace: 'content', parentPath: '/', deep: false };
      return host.command(source, { ...create, node: { ...node(index), properties } }, { caller });
    }),
  );
}
const merge = { type: 'MergeBranch', source, sourceName: 'source', dryRun: false };
await turns(`a merge of ${nodes} revisions`, () => command({ ...merge, strategy: 'ThreeWay' }));
await turns('settled', () => engine.close());
await engine.remove();
