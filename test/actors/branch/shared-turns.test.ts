import { afterAll, beforeAll, expect, it } from 'vitest';
import type { BranchQuery, TextStream } from '#actors/branch/messages.ts';
import { SliceScheduler, TURN_MS } from '#runtime/base/event-loop/slice-scheduler.ts';
import type { ActorKind, QueryContext } from '#runtime/commit/behaviour.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readerOver } from '#runtime/shard/reader-over.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { chunkText } from '#test/support/chunk-text.ts';
import { TurnClock } from '#test/support/turn-clock.ts';

const workspace = WORKSPACE;
/** What a row that is read takes, in milliseconds. */
const ROW_MS = 0.02;
/** What the work between two pauses may take: a part of a scan, a batch of rows, the revisions before a page. */
const STEP_MS = 600 * ROW_MS;
const NODES = 800;
/** Callers that ask for the same at once. */
const CALLERS = 4;

let clock: TurnClock;
let slices: SliceScheduler;
let family: BranchFamily;
let at: Revision;
let asked = 0;

/** Reads take as long as they read rows, and their slices are those of the test. */
function timed(kind: ActorKind): ActorKind {
  return {
    ...kind,
    create: (inContext) => {
      const actor = kind.create(inContext);
      return {
        execute: (command: never, turn) => actor.execute(command, turn),
        query: (query: never, context) =>
          actor.query(query, slices === undefined ? context : timedContext(context)),
        forget: () => actor.forget?.(),
      };
    },
  };
}

function timedContext(context: QueryContext): QueryContext {
  asked += 1;
  const work = slices.begin('read', { sliceKey: `caller ${asked}`, requireWaiting: () => {} });
  return {
    caller: context.caller,
    budget: context.budget,
    clock: context.clock,
    get view() {
      return timedReader(context.view);
    },
    pin: () => {
      const snapshot = context.pin();
      return { ...timedReader(snapshot), close: () => snapshot.close() };
    },
    stay: () => context.stay(),
    pause: () => work.pause(),
    rest: () => work.rest(),
    mustPause: () => work.isOver(),
    takeRoom: () => undefined,
    giveRoom: () => {},
    usePolicy: () => {},
  };
}

function timedReader(reader: TableReader): TableReader {
  const over = readerOver(reader);
  const row = <T>(found: T): T => {
    clock.work(ROW_MS);
    return found;
  };
  function* rows<T>(found: Iterable<T>): Generator<T, void> {
    for (const each of found) yield row(each);
  }
  return {
    get: (table, key) => row(over.get(table, key)),
    peek: (table, key) => row(over.peek(table, key)),
    stored: (table, key) => row(over.stored(table, key)),
    piece: (key) => row(over.piece(key)),
    has: (table, key) => row(over.has(table, key)),
    range: (table, range) => rows(over.range(table, range)),
    storedRange: (table, range) => rows(over.storedRange(table, range)),
  };
}

beforeAll(async () => {
  family = await BranchFamily.open(timed);
  await family.create('main', '/all', '', 'all');
  await family.create('main', '/target', '', 'target');
  for (let n = 0; n < NODES; n += 1) {
    await family.create('main', `/all/n${n}`, `title ${n}`);
    await family.update('main', '/target', `title ${n}`);
    await family.command('main', {
      type: 'AddRelation',
      workspace,
      place: { path: `/all/n${n}` },
      targetWorkspace: workspace,
      targetPath: '/target',
      relationType: 'about',
      weight: n,
    });
  }
  at = parseRevision(await family.head('main'));
  await family.fork('fork', 'main');
  for (let n = 0; n < NODES; n += 1) await family.update('main', `/all/n${n}`, 'later');
});
afterAll(() => family.close());

it('lets the reads of many callers hold the event loop for 8 ms of a turn together', async () => {
  const target = { workspace, place: { path: '/target' } };
  const all = { workspace, place: { path: '/all' }, scope: 's' };
  const base = family.actor('fork');
  const queries: readonly BranchQuery[] = [
    { type: 'ListChildren', ...all },
    { type: 'ListChildren', ...all, at },
    { type: 'ListChildren', ...all, limit: 500 },
    { type: 'ReadTree', workspace, place: { path: '/' }, levels: 5, form: 'flat', at },
    { type: 'ReadRelations', ...target },
    { type: 'ReadRelations', ...target, at },
    { type: 'ReadRelations', workspace, place: all.place, at },
    { type: 'ListIncomingReferences', ...target, scope: 's', limit: 1_000 },
    { type: 'ListIncomingReferences', ...target, scope: 's', limit: 1_000, at },
    { type: 'ReadHistory', ...target },
    { type: 'ListRevisions', limit: 1_000, offset: 500, includeSystem: false },
    { type: 'CompareBranch', base },
    { type: 'DiffBranch', base },
    { type: 'DiffBranch', base, detail: 'properties' },
    { type: 'ListConflicts', source: base },
  ];
  clock = new TurnClock();
  slices = new SliceScheduler(clock);
  let ended = 0;
  const errors: unknown[] = [];
  const ask = async (query: BranchQuery): Promise<void> => {
    const answer = await family.fixture.query(family.actor('main'), query);
    if (typeof answer === 'object' && answer !== null && 'chunks' in answer)
      for await (const chunk of (answer as TextStream).chunks) chunkText(chunk);
  };
  const count = CALLERS * queries.length;
  // One begins in each turn: its first millisecond is free.
  for (let index = 0; index < count; index += 1)
    await clock.turn(() => {
      void ask(queries[index % queries.length] as BranchQuery)
        .catch((error: unknown) => errors.push(error))
        .finally(() => (ended += 1));
    });
  while (ended < count && clock.turnsMs.length < 5_000) await clock.turn();
  expect(errors).toEqual([]);
  expect(ended).toBe(count);
  expect(Math.max(...clock.turnsMs)).toBeLessThan(TURN_MS + 1 + 2 * STEP_MS);
  expect(slices.turn).toBeGreaterThan(count);
});
