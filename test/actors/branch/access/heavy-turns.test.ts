import { afterAll, beforeAll, expect, it } from 'vitest';
import type { BranchQuery, TextStream } from '#actors/branch/messages.ts';
import { DECISION_WORK_MAX } from '#runtime/access/decision-work.ts';
import { SliceScheduler, TURN_MS } from '#runtime/base/event-loop/slice-scheduler.ts';
import { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { ActorKind, Caller, QueryContext } from '#runtime/commit/behaviour.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { chunkText } from '#test/support/chunk-text.ts';
import { callers } from '#test/support/host-fixture.ts';
import { roleCaller } from '#test/support/role-caller.ts';
import { TurnClock } from '#test/support/turn-clock.ts';

const workspace = WORKSPACE;
const NODES = 200;
const DECISION_MS = (DECISION_WORK_MAX * 5) / 1_000_000;

let clock: TurnClock;
let slices: SliceScheduler | undefined;
let family: BranchFamily;

/** Work takes as long as the budget of its request counts, so turns are as long as on a machine that is as estimated. */
class TimedBudget extends RequestBudget {
  override spend(nanoseconds: number): void {
    clock.work(nanoseconds / 1_000_000);
    super.spend(nanoseconds);
  }
}

function timed(kind: ActorKind): ActorKind {
  return {
    ...kind,
    create: (inContext) => {
      const actor = kind.create(inContext);
      return {
        execute: (command: never, turn) => actor.execute(command, turn),
        query: (query: never, context) =>
          actor.query(query, slices === undefined ? context : timedContext(context, slices)),
        forget: () => actor.forget?.(),
      };
    },
  };
}

function timedContext(context: QueryContext, scheduler: SliceScheduler): QueryContext {
  const { tenant } = context.caller.principal;
  const owner = { sliceKey: `${tenant} ${context.caller.policy.unrestricted}`, requireWaiting: () => {} };
  const work = scheduler.begin('read', owner);
  const budget = new TimedBudget();
  return {
    caller: context.caller,
    budget,
    clock: context.clock,
    get view() {
      return context.view;
    },
    pin: () => context.pin(),
    stay: () => context.stay(),
    pause: () => work.pause(),
    rest: () => work.rest(),
    mustPause: () => work.isOver(),
    takeRoom: () => undefined,
    giveRoom: () => {},
    usePolicy: () => {},
  };
}

/** Permissions of which the last one holds, after as much work as a decision may take. */
const heavy = [
  ...Array.from({ length: 499 }, (_, index) => ({
    path: '**',
    operations: ['read'],
    condition: Array.from({ length: 44 }, () => `node.title.contains('${index + 1_000}')`).join('||'),
  })),
  { path: '**', operations: ['read'], condition: "node.id RELATES 'u' VIA 'NONE' || node.title != ''" },
];

beforeAll(async () => {
  family = await BranchFamily.open(timed);
  await family.create('main', '/all', 'all', 'all');
  for (let n = 0; n < NODES; n += 1) await family.create('main', `/all/n${n}`, `title ${n}`);
});
afterAll(() => family.close());

it('answers others between the nodes of a caller with heavy permissions, and keeps turns short [ACC-044]', async () => {
  clock = new TurnClock();
  slices = new SliceScheduler(clock);
  const busy = roleCaller(heavy, { tenant: 'default' });
  const list = { workspace, place: { path: '/all' }, scope: 's' };
  const queries: readonly BranchQuery[] = [
    { type: 'ListChildren', ...list },
    { type: 'ListChildren', ...list, limit: 200 },
    { type: 'ReadTree', workspace, place: { path: '/all' }, levels: 2, form: 'flat' },
    { type: 'RunQuery', workspace, selector: { nodeType: 'svc:Folder' } },
    { type: 'RunDslQuery', workspace, filter: { 'properties.title': { exists: true } } },
    { type: 'ListRevisions', limit: 200, offset: 0, includeSystem: false },
  ];
  let ended = 0;
  const errors: unknown[] = [];
  const ask = async (query: BranchQuery, caller: Caller): Promise<void> => {
    const answer = await family.fixture.host.query(family.actor('main'), query, caller);
    if (typeof answer === 'object' && answer !== null && 'chunks' in answer)
      for await (const chunk of (answer as TextStream).chunks) chunkText(chunk);
  };
  for (const query of queries)
    await clock.turn(() => {
      void ask(query, busy)
        .catch((error: unknown) => errors.push(error))
        .finally(() => (ended += 1));
    });
  /** Turns that each short read of somebody else took, while the long ones went on. */
  const waits: number[] = [];
  while (ended < queries.length && clock.turnsMs.length < 5_000) {
    const since = clock.turnsMs.length;
    let isAnswered = false;
    const short = { type: 'ListChildren', ...list, limit: 2 } as const;
    await clock.turn(() => void ask(short, callers.admin).then(() => (isAnswered = true)));
    while (!isAnswered) await clock.turn();
    waits.push(clock.turnsMs.length - since);
  }
  expect(errors).toEqual([]);
  expect(ended).toBe(queries.length);
  expect(waits.length).toBeGreaterThan(50);
  expect(Math.max(...waits)).toBeLessThan(10);
  // A slice with a decision that begins at its end, and the start of another request with two of them.
  expect(Math.max(...clock.turnsMs)).toBeLessThan(TURN_MS + 1 + 3 * DECISION_MS);
});
