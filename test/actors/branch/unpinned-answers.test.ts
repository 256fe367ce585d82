import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { answerPage, LargePiece, settle, settleGrowing, settleLarge } from '#actors/branch/long-answer.ts';
import type { TextStream } from '#actors/branch/messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { QueryScope } from '#runtime/actor/reads/query-scope.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { chunkText } from '#test/support/chunk-text.ts';
import { type NodeObject, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { engineUser } from '#test/support/engine.ts';

const megabyte = 1024 * 1024;
const other = { sliceKey: 'other', requireWaiting: () => {} };

/** Every step is a slice of its own. */
function slowClock(): typeof systemClock {
  let nowMs = 0;
  return { ...systemClock, monotonicMs: () => (nowMs += 100) };
}

const reads: readonly (readonly [string, (context: QueryScope) => unknown])[] = [
  [
    'one that is short',
    (context) =>
      settle(context, function* () {
        for (;;) yield;
      }),
  ],
  ['one that is large', (context) => settleLarge(context, megabyte, function* () {})],
  [
    'one that is found to be large',
    (context) =>
      settleGrowing(context, function* () {
        yield new LargePiece(megabyte);
      }),
  ],
  [
    'a page',
    (context) =>
      answerPage(context, function* () {
        for (;;) yield '';
      }),
  ],
];

it('pins nothing while its client does not read, and shows the state with which it began', async () => {
  const branch = await openBranch();
  try {
    const names = Array.from({ length: 600 }, (_, index) => `n${String(index).padStart(5, '0')}`);
    const properties = { description: 'x'.repeat(1_000) };
    for (const name of names) await branch.create(`/${name}`, properties, 'svc:Folder');
    const node = { path: '/n00599' };
    const listing = { type: 'ListChildren', workspace: WORKSPACE, place: { path: '/' }, scope: 's' } as const;
    const readings = Array.from({ length: 1_100 }, () =>
      (branch.ask(listing) as TextStream).chunks[Symbol.asyncIterator](),
    );
    const texts: string[] = [];
    // More than a shard has readers.
    for (const reading of readings) texts.push((await reading.next()).value as string);
    await branch.command({ type: 'DeleteNode', workspace: WORKSPACE, place: node });
    await branch.create('/n00600', properties, 'svc:Folder');
    const reading = readings[7] as AsyncIterator<string>;
    let text = texts[7] as string;
    for (let step = await reading.next(); step.done !== true; step = await reading.next()) text += step.value;
    expect((JSON.parse(text) as NodeObject[]).map(({ name }) => name)).toEqual(names);
    for (const each of readings) await each.return?.();
  } finally {
    await branch.close();
  }
});

it('pins nothing while the client of a boolean query does not read, however its nodes are found', async () => {
  const definition = {
    name: 'test:Item',
    properties: [{ name: 'rank', type: 'Number', index: ['Property'] }],
  };
  const branch = await openBranch({ nodeTypes: [definition] });
  try {
    const names = Array.from({ length: 100 }, (_, index) => `n${String(index).padStart(5, '0')}`);
    const properties = { description: 'x'.repeat(3_000) };
    for (const [rank, name] of names.entries())
      await branch.create(`/${name}`, { ...properties, rank }, 'test:Item');
    const ofType = { node_type: { eq: 'test:Item' } };
    const byRank = { order_by: { 'properties.rank': 'asc' } };
    const filters: readonly JsonObject[] = [
      ofType,
      { ...ofType, 'properties.rank': { gte: 0 } },
      { ...ofType, 'properties.rank': { gte: 0 }, ...byRank, limit: 95 },
      { not: { 'properties.rank': { lt: 0 } }, ...byRank },
    ];
    // More than a shard has readers.
    const readings = Array.from({ length: 1_100 }, (_, index) => {
      const filter = filters[index % filters.length] as JsonObject;
      const answer = branch.ask({ type: 'RunDslQuery', workspace: WORKSPACE, filter }) as TextStream;
      return answer.chunks[Symbol.asyncIterator]();
    });
    const texts: string[] = [];
    for (const reading of readings) texts.push(chunkText((await reading.next()).value as string));
    await branch.command({ type: 'DeleteNode', workspace: WORKSPACE, place: { path: '/n00090' } });
    await branch.command({
      type: 'UpdateNode',
      workspace: WORKSPACE,
      place: { path: '/n00091' },
      properties: { rank: -1 },
    });
    for (const index of filters.keys()) {
      const reading = readings[index] as AsyncIterator<string>;
      let text = texts[index] as string;
      for (let step = await reading.next(); step.done !== true; step = await reading.next())
        text += chunkText(step.value);
      const { items, page } = JSON.parse(text) as { items: NodeObject[]; page: JsonObject };
      expect(items.map(({ name }) => name)).toEqual(names.slice(0, index === 2 ? 95 : 100));
      expect(page.total).toBe(100);
    }
    for (const each of readings) await each.return?.();
  } finally {
    await branch.close();
  }
});

it('shows the state with which it began, also when the head goes back meanwhile', async () => {
  const branch = await openBranch();
  try {
    const properties = { description: 'x'.repeat(1_000) };
    for (let index = 100; index < 700; index += 1)
      await branch.create(`/n${index}`, properties, 'svc:Folder');
    await branch.create('/last', { description: 'one' }, 'svc:Folder');
    const { head } = (await branch.query({ type: 'ReadBranchState' })) as { readonly head: string };
    const place = { path: '/last' };
    const update = (description: string) =>
      branch.command({ type: 'UpdateNode', workspace: WORKSPACE, place, properties: { description } });
    await update('two');
    const listing = { type: 'ListChildren', workspace: WORKSPACE, place: { path: '/' }, scope: 's' } as const;
    const reading = (branch.ask(listing) as TextStream).chunks[Symbol.asyncIterator]();
    let text = chunkText((await reading.next()).value as string | Uint8Array);
    await update('three');
    text += chunkText((await reading.next()).value as string | Uint8Array);
    await branch.command({ type: 'MoveHead', revision: head });
    for (let step = await reading.next(); step.done !== true; step = await reading.next())
      text += chunkText(step.value);
    const nodes = JSON.parse(text) as NodeObject[];
    expect(nodes).toHaveLength(601);
    expect(nodes.at(-1)?.properties).toMatchObject({ description: 'two' });
  } finally {
    await branch.close();
  }
});

it.each(reads)(
  'a read whose view cannot be pinned takes no room for ever, and ends no process: %s',
  async (_, read) => {
    const folder = mkdtempSync(join(tmpdir(), 'unpinned-'));
    const shard = new LmdbShard(folder, ['', 'one']);
    const slices = new SliceScheduler(slowClock(), 4 * megabyte);
    const { room } = slices;
    // As LMDB refuses one when all of its readers are taken.
    await shard.close();
    const actor = { view: shard, pin: () => shard.snapshot(), reads: 0 };
    const rejections: unknown[] = [];
    const note = (error: unknown): void => void rejections.push(error);
    process.on('unhandledRejection', note);
    try {
      for (const isFull of [false, true]) {
        if (isFull) expect(room.take(4 * megabyte, other)).toBeUndefined();
        const leaving = new AbortController();
        for (const signal of [new AbortController().signal, leaving.signal]) {
          const caller: Caller = { ...engineUser, signal };
          const context = new QueryScope(actor, caller, slowClock(), slices);
          await Promise.resolve()
            .then(() => read(context))
            .catch(() => undefined);
        }
        leaving.abort();
        if (isFull) room.give(4 * megabyte);
        for (let turn = 0; turn < 20; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        expect([room.used, actor.reads]).toEqual([0, 0]);
      }
      expect(rejections).toEqual([]);
    } finally {
      process.off('unhandledRejection', note);
      rmSync(folder, { recursive: true });
    }
  },
);
