import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NodePage, TextStream } from '#actors/branch/messages.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import { type BranchFixture, type NodeObject, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { textOfChunks } from '#test/support/chunk-text.ts';

const workspace = WORKSPACE;

describe('long answers of a branch', () => {
  let branch: BranchFixture;

  beforeEach(async () => {
    branch = await openBranch();
  });
  afterEach(() => branch.close());

  const listing = { type: 'ListChildren', workspace, place: { path: '/' }, scope: 's' } as const;
  const fill = (count: number, properties = {}) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        branch.create(`/n${String(index).padStart(5, '0')}`, properties, 'svc:Folder'),
      ),
    );

  it('are text at once when they are small, and a stream when there is much text in few nodes', async () => {
    await branch.close();
    // On a busy machine a small answer may take longer than it may without a pause.
    branch = await openBranch({ slicesClock: { ...systemClock, monotonicMs: () => 0 } });
    await fill(3);
    expect(branch.ask(listing)).toBeInstanceOf(JsonText);
    await branch.create('/heavy', { description: 'x'.repeat(400_000) });
    const answer = branch.ask(listing) as TextStream;
    expect(answer).not.toBeInstanceOf(JsonText);
    const text = await textOfChunks(answer.chunks);
    expect((JSON.parse(text) as NodeObject[]).map((node) => node.name)).toEqual([
      'n00000',
      'n00001',
      'n00002',
      'heavy',
    ]);
  });

  it('end with an error, not with a crash, when the branch is closed under a stream', async () => {
    await fill(2000);
    const { chunks } = branch.ask(listing) as TextStream;
    const reading = chunks[Symbol.asyncIterator]();
    expect((await reading.next()).done).toBe(false);
    await branch.reopen();
    await expect(
      (async () => {
        for (let step = await reading.next(); step.done !== true; step = await reading.next());
      })(),
    ).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    expect(((await branch.query(listing)) as NodeObject[]).length).toBe(2000);
  });

  it('show one state on a page that takes more than one turn, with concurrent writes', async () => {
    await fill(1000, { description: 'y'.repeat(20_000) });
    const { chunks } = (await branch.ask({ ...listing, limit: 1000 })) as TextStream;
    const reading = chunks[Symbol.asyncIterator]();
    let text = (await reading.next()).value as string;
    const gone = branch.command({ type: 'DeleteNode', workspace, place: { path: '/n00999' } });
    await gone;
    for (let step = await reading.next(); step.done !== true; step = await reading.next()) text += step.value;
    const { items, next_cursor: next } = JSON.parse(text) as NodePage;
    expect([items.length, items.at(-1)?.name, next]).toEqual([1000, 'n00999', null]);
    expect(((await branch.query(listing)) as NodeObject[]).length).toBe(999);
  });

  it('use no resources when they are never read', async () => {
    await fill(400);
    for (let n = 0; n < 3000; n++) branch.ask(listing);
    // Were each of them pinned, the shard would have run out of readers.
    expect(((await branch.query(listing)) as NodeObject[]).length).toBe(400);
  });
});

describe('reads of large nodes at the same time', () => {
  const nodeBytes = 1_000_000;
  const place = { path: '/large' };
  const large = { type: 'ReadNode', workspace, place } as const;
  const property = { type: 'ReadProperty', workspace, place, property: ['description'] } as const;
  /** What a step of a read takes, in milliseconds: how fast the machine is must not say whether one has to wait. */
  let stepMs = 1;
  let branch: BranchFixture;

  beforeEach(async () => {
    stepMs = 1;
    let nowMs = 0;
    const slicesClock = { ...systemClock, monotonicMs: () => (nowMs += stepMs) };
    // Of one of them, as it is counted, and not of two.
    branch = await openBranch({ roomBytes: 5 * nodeBytes, slicesClock });
    await branch.create('/large', { description: 'x'.repeat(nodeBytes) });
    await branch.create('/small', { description: 'y' });
  });
  afterEach(() => branch.close());

  it('are made one after the other where there is room for one, and each shows what it was asked for', async () => {
    const { room } = branch.slices;
    const asked = Array.from({ length: 30 }, (_, index) => branch.query(index % 2 === 0 ? large : property));
    expect(room.used).toBeGreaterThan(nodeBytes);
    // One that is small waits for none of them.
    const small = branch.ask({ ...large, place: { path: '/small' } });
    expect(small).toBeInstanceOf(JsonText);
    await branch.command({ type: 'DeleteNode', workspace, place });
    let most = 0;
    const answers = await Promise.all(
      asked.map(async (one) => {
        const answer = await one;
        most = Math.max(most, room.used);
        return answer;
      }),
    );
    const lengths = answers.map((answer) => {
      const { properties, value } = answer as { properties?: { description: string }; value?: string };
      return (properties?.description ?? value)?.length;
    });
    expect(lengths).toEqual(Array(30).fill(nodeBytes));
    expect(most).toBeLessThanOrEqual(5 * nodeBytes);
    expect(room.used).toBe(0);
    expect(() => branch.ask(large)).toThrow(expect.objectContaining({ code: 'NODE_NOT_FOUND' }));
  });

  it('begin one in a turn where many have waited for the room of one', async () => {
    await branch.create('/huge', { description: 'x'.repeat(1.6 * nodeBytes) });
    await branch.create('/medium', { description: 'x'.repeat(0.3 * nodeBytes) });
    const asked = ['/huge', ...Array<string>(5).fill('/medium')].map((path) =>
      branch.query({ ...large, place: { path } }),
    );
    // From here on each is made in one slice: only that they wait for one keeps them apart.
    stepMs = 0;
    let isOver = false;
    let ended = 0;
    let most = 0;
    for (const one of asked) void one.then(() => (ended += 1));
    void Promise.all(asked).then(() => (isOver = true));
    for (let before = 0; !isOver; before = ended) {
      await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, ended - before);
    }
    expect(most).toBe(1);
  });

  it('leave room for two pages at a time, each of which shows what it was asked for', async () => {
    const { room } = branch.slices;
    await Promise.all(
      Array.from({ length: 30 }, (_, n) => branch.create(`/small/n${n}`, { description: 'z' })),
    );
    const page = {
      type: 'ListChildren',
      workspace,
      place: { path: '/small' },
      scope: 's',
      limit: 100,
    } as const;
    const asked = Array.from({ length: 10 }, () => branch.query(page));
    expect(room.used).toBeGreaterThan(nodeBytes);
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/small/n7' } });
    let most = 0;
    const pages = await Promise.all(
      asked.map(async (one) => {
        const answer = (await one) as NodePage;
        most = Math.max(most, room.used);
        return answer.items.length;
      }),
    );
    expect(pages).toEqual(Array(10).fill(30));
    expect(most).toBeLessThanOrEqual(5 * nodeBytes);
    expect(room.used).toBe(0);
  });

  it('give the room back when they are refused', async () => {
    const missing = { ...property, property: ['missing'] };
    const asked = await Promise.allSettled(Array.from({ length: 5 }, () => branch.query(missing)));
    expect(asked.map(({ status }) => status)).toEqual(Array(5).fill('rejected'));
    expect(branch.slices.room.used).toBe(0);
  });
});
