import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { branchActor } from '#actors/branch/branch-actor.ts';
import type { CommitOperation } from '#actors/branch/messages.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import type { ActorBehaviour, ActorKind, Turn } from '#runtime/commit/behaviour.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import { Engine, engineLimits } from '#test/support/engine.ts';
import { CONTENT, TestBranch } from '#test/support/test-branch.ts';

const NODES_MAX = 300;
const COMMIT_BYTES = 4_000_000;

/** What commands did so far, and most of it in one step of a command. */
interface Steps {
  all: number;
  inStep: number;
  longestStep: number;
}

const none: Steps = Object.freeze({ all: 0, inStep: 0, longestStep: 0 });
/** Changes written, those of them that are states of nodes, and rows looked up. */
const [writes, states, reads] = [{ ...none }, { ...none }, { ...none }];

function count(steps: Steps): void {
  steps.all += 1;
  steps.inStep += 1;
}

function* measured(steps: Generator<unknown, unknown>): Generator<unknown, unknown> {
  for (;;) {
    const step = steps.next();
    for (const steps of [writes, states, reads]) {
      steps.longestStep = Math.max(steps.longestStep, steps.inStep);
      steps.inStep = 0;
    }
    if (step.done === true) return step.value;
    yield;
  }
}

/** Tables with states of nodes. */
const nodeTables: ReadonlySet<number> = new Set([BranchTable.nodes, BranchTable.nodeVersions]);

/** A branch that counts what its commands write and look up. */
const kind = branchActor({ commitNodesMax: NODES_MAX });
const watched: ActorKind = {
  ...kind,
  create(context) {
    const behaviour = kind.create(context) as ActorBehaviour;
    const { execute } = behaviour;
    behaviour.execute = (command, turn: Turn) => {
      const put = turn.put.bind(turn);
      turn.put = (...change) => {
        count(writes);
        if (nodeTables.has(change[0])) count(states);
        put(...change);
      };
      const get = turn.get.bind(turn);
      turn.get = (...row) => {
        count(reads);
        return get(...row);
      };
      for (const look of ['stored', 'peek'] as const) {
        const found = turn[look]?.bind(turn);
        if (found === undefined) continue;
        turn[look] = (...row) => {
          count(reads);
          return found(...row);
        };
      }
      const has = turn.has?.bind(turn);
      if (has !== undefined) {
        turn.has = (...row) => {
          count(reads);
          return has(...row);
        };
      }
      return measured(execute.call(behaviour, command, turn) as Generator<unknown, unknown>);
    };
    return behaviour;
  },
};

let folder: string;
let engine: Engine;
let branch: TestBranch;

function countAnew(): void {
  for (const steps of [writes, states, reads]) Object.assign(steps, none);
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'long-commands-'));
  const commitLimits = { ...engineLimits.commit, commitBytesMax: COMMIT_BYTES };
  const limits = { commit: commitLimits };
  engine = await Engine.open(folder, { kinds: [repositoryActor, watched], limits });
  branch = await new TestBranch(engine).prepare();
});
beforeEach(countAnew);
afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

const folderNode = (name: string, properties: JsonObject = {}) => ({
  name,
  nodeType: 'svc:Folder',
  properties,
});

const commit = (operations: readonly CommitOperation[]) =>
  branch.command({ type: 'CommitOperations', workspace: CONTENT, commit: { message: 'm' }, operations });

/** Makes a node and copies of copies: each two operations double what is below it. */
const doublings = (name: string, count: number, properties: JsonObject = {}): CommitOperation[] => [
  { type: 'create', parentPath: '/', node: folderNode(name, properties) },
  ...Array.from({ length: count }, (_, index): CommitOperation[] => [
    { type: 'copy_tree', sourcePath: `/${name}`, targetParent: '/', newName: `${name}${index}` },
    { type: 'copy_tree', sourcePath: `/${name}${index}`, targetParent: `/${name}`, newName: `x${index}` },
  ]).flat(),
];

it('missing parents of a node are made in short steps', async () => {
  const parentPath = `/${Array(200).fill('d').join('/')}`;
  const node = folderNode('leaf');
  await branch.command({ type: 'CreateNode', workspace: CONTENT, parentPath, node, deep: true });
  expect(writes.all).toBeGreaterThan(1_000);
  expect(writes.longestStep).toBeLessThan(100);
});

it('a copy is refused before it is made when the commit has too many nodes with it', async () => {
  // 1, 2, 3, 5, 7, 11, 15, 23, 31, 47, 63, 95, 127, 191, 255, 383.
  await commit(doublings('fits', 7));
  const fitting = writes.all;
  countAnew();
  await expect(commit(doublings('many', 8))).rejects.toMatchObject({
    code: 'COMMIT_TOO_LARGE',
    message: expect.stringContaining('smaller subtrees'),
    details: { operation: 15 },
  });
  expect(writes.all).toBeLessThanOrEqual(fitting);
});

it('a copy is refused before it is made when the commit has too many bytes with it', async () => {
  const text = 'x'.repeat(100_000);
  await commit(doublings('small', 4, { text }));
  const fitting = writes.all;
  countAnew();
  await expect(commit(doublings('large', 5, { text }))).rejects.toMatchObject({
    code: 'COMMIT_TOO_LARGE',
    message: expect.stringContaining('smaller subtrees'),
    details: { operation: 9 },
  });
  expect(writes.all).toBeLessThanOrEqual(fitting);
});

/** Commits of as many new nodes each, below one parent. */
async function addNodes(parent: string, commits: number, each: number, properties: JsonObject = {}) {
  await commit([{ type: 'create', parentPath: '/', node: folderNode(parent) }]);
  for (let number = 0; number < commits; number += 1) {
    const node = (index: number) => folderNode(`n-${number}-${index}`, properties);
    await commit(
      Array.from({ length: each }, (_, index) => ({
        type: 'create',
        parentPath: `/${parent}`,
        node: node(index),
      })),
    );
  }
}

async function headOf(): Promise<string> {
  return ((await branch.query({ type: 'ReadBranchState' })) as { readonly head: string }).head;
}

it.each(['MoveHead', 'BecomeFork'])(
  'a move of the head by %s is refused before anything is written when it changes too many nodes',
  async (type) => {
    const revision = await headOf();
    await addNodes(`many-${type.toLowerCase()}`, 2, 200);
    countAnew();
    await expect(branch.command({ type, revision, sourceName: 'main' } as never)).rejects.toMatchObject({
      code: 'COMMIT_TOO_LARGE',
      message: expect.stringContaining('several steps'),
    });
    expect(writes.all).toBe(0);
  },
);

it.each(['MoveHead', 'BecomeFork'])(
  'a move of the head by %s is refused before anything is written when it changes too many bytes',
  async (type) => {
    const revision = await headOf();
    await addNodes(`long-${type.toLowerCase()}`, 3, 20, { text: 'x'.repeat(100_000) });
    countAnew();
    await expect(branch.command({ type, revision, sourceName: 'main' } as never)).rejects.toMatchObject({
      code: 'COMMIT_TOO_LARGE',
      message: expect.stringContaining('MiB'),
    });
    expect(writes.all).toBe(0);
  },
);

it('the relations of a node are looked up in short steps for its entity tag', async () => {
  const count = 256;
  const targets = Array.from({ length: count }, (_, index) => `/target${index}`);
  await commit(
    [...targets, '/related'].map((path) => ({
      type: 'create',
      parentPath: '/',
      node: folderNode(path.slice(1)),
    })),
  );
  const place = { path: '/related' };
  for (const targetPath of targets) {
    await branch.command({
      type: 'AddRelation',
      workspace: CONTENT,
      place,
      targetWorkspace: CONTENT,
      targetPath,
      relationType: 'references',
      weight: null,
    });
  }
  const expected = [{}, { expected: { noneMatch: ['another'] } }, { expected: { version: count + 3 } }];
  for (const condition of expected) {
    countAnew();
    await branch.command({
      type: 'UpdateNode',
      workspace: CONTENT,
      place,
      properties: { title: 'x' },
      ...condition,
    });
    expect(reads.all).toBeGreaterThan(count);
    expect(reads.longestStep).toBeLessThan(count / 2);
  }
  const update: CommitOperation = { type: 'update', nodeId: '', properties: {}, version: 1 };
  const { id } = await branch.read('/related');
  countAnew();
  await expect(commit([{ ...update, nodeId: id }])).rejects.toMatchObject({ code: 'PRECONDITION_FAILED' });
  expect(reads.all).toBeGreaterThan(count);
  expect(reads.longestStep).toBeLessThan(count / 2);
});

it('nodes are written one in a step, whatever their size', async () => {
  await addNodes('some', 1, 8);
  const place = { path: '/some' };
  const paths = ['/some', ...Array.from({ length: 8 }, (_, index) => `/some/n-0-${index}`)];
  const ids = () => Promise.all(paths.map(async (path) => (await branch.read(path)).id));
  const update = (nodeId: string): CommitOperation => ({
    type: 'update',
    nodeId,
    properties: { title: 'x' },
  });
  const change = { workspace: CONTENT, place };
  const { revision } = (await commit((await ids()).map(update))) as { readonly revision: string };
  const commands: readonly (() => Promise<unknown>)[] = [
    async () => commit((await ids()).map(update)),
    () => branch.command({ type: 'PublishNode', ...change, publish: true, tree: true }),
    () => branch.command({ type: 'PublishNode', ...change, publish: false, tree: true }),
    () => branch.command({ type: 'CopyNode', ...change, targetPath: '/copied', tree: true }),
    () => branch.command({ type: 'MoveNode', ...change, targetPath: '/moved' }),
    () => branch.command({ type: 'DeleteNode', workspace: CONTENT, place: { path: '/moved' } }),
    () => branch.command({ type: 'MoveHead', revision } as never),
  ];
  for (const carryOut of commands) {
    countAnew();
    await carryOut();
    // The state that a node has now, and the one it had before.
    expect(states.all).toBeGreaterThan(8);
    expect(states.longestStep).toBeLessThanOrEqual(2);
  }
});

it('nodes are put into new indexes one in a step', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `p${index}`);
  const define = (index: readonly string[]) => {
    const properties = names.map((name) => ({ name, type: 'Number', index }));
    const definition = { name: 'test:Book', properties };
    return branch.command({ type: 'PutDefinition', kind: 'node_type', definition } as never);
  };
  await define([]);
  const properties = Object.fromEntries(names.map((name, index) => [name, index]));
  const book = (name: string) => ({ name, nodeType: 'test:Book', properties });
  await commit(names.map((name) => ({ type: 'create', parentPath: '/', node: book(name) })));
  countAnew();
  await define(['Property']);
  expect(writes.all).toBeGreaterThan(64);
  expect(writes.longestStep).toBeLessThan(16);
});

it('a revert is refused before anything is written when it changes too many bytes', async () => {
  await commit([{ type: 'create', parentPath: '/', node: folderNode('reverted') }]);
  const revisions: string[] = [];
  for (const number of [0, 1, 2]) {
    const operations = Array.from({ length: 20 }, (_, index) => ({
      type: 'create' as const,
      parentPath: '/reverted',
      node: folderNode(`n-${number}-${index}`, { text: 'x'.repeat(100_000) }),
    }));
    const written = (await commit(operations)) as { readonly revision: string };
    revisions.push(written.revision);
  }
  const revert = (which: readonly string[]): Promise<unknown> =>
    branch.command({ type: 'RevertRevisions', which: { revisions: which }, dryRun: false } as never);
  countAnew();
  await expect(revert(revisions)).rejects.toMatchObject({
    code: 'COMMIT_TOO_LARGE',
    message: expect.stringContaining('fewer revisions'),
  });
  expect(writes.all).toBe(0);
  expect(await revert(revisions.slice(2))).toMatchObject({ success: true, nodes_changed: 20 });
});
