import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { branchActor } from '#actors/branch/branch-actor.ts';
import type { BranchCommand, NodeWritten } from '#actors/branch/messages.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import type { ActorBehaviour, ActorKind, Turn } from '#runtime/commit/behaviour.ts';
import { Engine, engineUser } from '#test/support/engine.ts';
import { BRANCH, CONTENT, TestBranch } from '#test/support/test-branch.ts';

const RELATIONS = 320;
/** Targets one step may look up, each with some rows. */
const STEP_READS_MAX = 320;

/** Rows looked up to answer repetitions, step by step. */
const steps: number[] = [];

/** A branch that counts what it looks up to answer repetitions. */
const kind = branchActor({ commitNodesMax: 10_000 });
const watched: ActorKind = {
  ...kind,
  create(context) {
    const behaviour = kind.create(context) as ActorBehaviour;
    const recall = behaviour.recall?.bind(behaviour);
    behaviour.recall = function* (kept, command, view) {
      let reads = 0;
      const { budget, caller } = view;
      const counted: Pick<Turn, 'budget' | 'caller' | 'get' | 'range'> = {
        budget,
        caller,
        get: (...row) => {
          reads += 1;
          return view.get(...row);
        },
        range: (...rows) => {
          reads += 1;
          return view.range(...rows);
        },
      };
      const answer = recall?.(kept, command, counted as Turn) as Generator<undefined, unknown>;
      for (;;) {
        reads = 0;
        const step = answer.next();
        steps.push(reads);
        if (step.done === true) return step.value;
        yield;
      }
    };
    return behaviour;
  },
};

let folder: string;
let engine: Engine;
let branch: TestBranch;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'grove-recall-'));
  engine = await Engine.open(folder, { kinds: [repositoryActor, watched] });
  branch = await new TestBranch(engine).prepare();
});
afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});

it('a repeated command whose node has many relations looks their targets up in steps', async () => {
  await branch.create('/target');
  await branch.create('/hidden');
  await branch.create('/source');
  const relate = (index: number) =>
    branch.command({
      type: 'AddRelation',
      workspace: CONTENT,
      place: { path: '/source' },
      targetPath: index % 2 === 0 ? '/target' : '/hidden',
      targetWorkspace: CONTENT,
      relationType: `kind-${index}`,
      weight: null,
    });
  await Promise.all(Array.from({ length: RELATIONS }, (_, index) => relate(index)));
  const command: BranchCommand = {
    type: 'UpdateNode',
    workspace: CONTENT,
    place: { path: '/source' },
    // Longer than what is kept whole.
    properties: { title: 'changed', text: 'x'.repeat(70_000) },
  };
  const idempotency = { key: 'k', requestHash: 'hash' };
  const send = () =>
    engine.host.command(BRANCH, command, { caller: engineUser, idempotency }) as Promise<NodeWritten>;
  const first = await send();
  const again = send();
  // Behind the repetition: what it is answered with is that of the first one.
  const removed = branch.command({ type: 'DeleteNode', workspace: CONTENT, place: { path: '/hidden' } });
  expect(await again).toEqual(first);
  await removed;
  expect(await send()).toEqual(first);
  expect(JSON.parse(first.node).relations).toHaveLength(RELATIONS);
  expect(steps.length).toBeGreaterThanOrEqual(2 * (RELATIONS / 64));
  expect(Math.max(...steps)).toBeLessThan(STEP_READS_MAX);
});
