import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { branchActor } from '#actors/branch/branch-actor.ts';
import { repositoryActor } from '#actors/repository/repository-actor.ts';
import { SQL_SINCE } from '#runtime/actor/message-version.ts';
import { builtInNodeTypes } from '#runtime/content/built-in/node-types.ts';
import type { ActorBehaviour, ActorKind, Turn } from '#runtime/commit/behaviour.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import { Engine } from '#test/support/engine.ts';
import { TestBranch } from '#test/support/test-branch.ts';

/** Estimated nanoseconds that one step of a command may take. */
const STEP_WORK_MAX = 8_000_000;

/** What the commands of a test did: work in all and in their longest step, and definitions that were read. */
const done = { work: 0, longestStep: 0, steps: 0, reads: 0 };

function* measured(steps: Generator<unknown, unknown>, turn: Turn): Generator<unknown, unknown> {
  for (;;) {
    const before = turn.budget.work;
    const step = steps.next();
    const work = turn.budget.work - before;
    done.work += work;
    done.steps += 1;
    done.longestStep = Math.max(done.longestStep, work);
    if (step.done === true) return step.value;
    yield;
  }
}

const kind = branchActor({ commitNodesMax: 100 });
const watched: ActorKind = {
  ...kind,
  create(context) {
    const behaviour = kind.create(context) as ActorBehaviour;
    const { execute } = behaviour;
    behaviour.execute = (command, turn: Turn) => {
      const get = turn.get.bind(turn);
      turn.get = (...row) => {
        if (row[0] === BranchTable.definitions) done.reads += 1;
        return get(...row);
      };
      return measured(execute.call(behaviour, command, turn) as Generator<unknown, unknown>, turn);
    };
    return behaviour;
  },
};

let folder: string;
let engine: Engine;
let branch: TestBranch;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'definition-steps-'));
  engine = await Engine.open(folder, { kinds: [repositoryActor, watched] });
  branch = await new TestBranch(engine).prepare();
});
afterAll(async () => {
  await engine.close();
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  Object.assign(done, { work: 0, longestStep: 0, steps: 0, reads: 0 });
});

const change = (sql: string) =>
  branch.command({ type: 'ChangeBySql', sql, parameters: [], isTransaction: true, since: SQL_SINCE });
const many = (count: number, one: (index: number) => string, separator: string): string =>
  Array.from({ length: count }, (_, index) => one(index)).join(separator);

it('the longest definitions that a statement makes are checked in several short steps', async () => {
  await change(`CREATE NODETYPE 'steps:Wide' PROPERTIES (${many(490, (index) => `p${index} String`, ', ')})`);
  const created = { ...done };
  expect(created.longestStep).toBeLessThan(STEP_WORK_MAX);
  expect(created.work).toBeGreaterThan(STEP_WORK_MAX);
  await change(`ALTER NODETYPE 'steps:Wide' ${many(490, (index) => `ADD PROPERTY q${index} String`, ' ')}`);
  expect(done.longestStep).toBeLessThan(STEP_WORK_MAX);
});

it('a change of a definition takes work by its size', async () => {
  await change("CREATE NODETYPE 'steps:Narrow' PROPERTIES (a String)");
  const narrow = { ...done };
  Object.assign(done, { work: 0, steps: 0 });
  await change("ALTER NODETYPE 'steps:Wide' ADD PROPERTY b String");
  expect(done.work).toBeGreaterThan(2 * narrow.work);
});

it('a transaction of many changes does not read the shipped types for each', async () => {
  await change(many(100, (index) => `ALTER NODETYPE 'steps:Narrow' ADD PROPERTY n${index} String`, ';'));
  expect(done.longestStep).toBeLessThan(STEP_WORK_MAX);
  expect(done.reads).toBeLessThan(100 * builtInNodeTypes.length);
});

it('a shipped type that took a mixin in the same transaction is protected', async () => {
  await change("CREATE MIXIN 'steps:Mixed' PROPERTIES (a String)");
  const drop = "DROP MIXIN 'steps:Mixed'";
  await expect(
    change(
      `ALTER MIXIN 'steps:Mixed' ADD PROPERTY b String; ALTER NODETYPE 'svc:Page' ADD MIXIN 'steps:Mixed'; ${drop}`,
    ),
  ).rejects.toMatchObject({ code: 'FORBIDDEN' });
  await change(drop);
});
