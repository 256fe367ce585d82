import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SNAPSHOT_MS_MAX } from '#actors/branch/answer-reader.ts';
import type { BranchQuery, TextStream } from '#actors/branch/messages.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import { type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { chunkText } from '#test/support/chunk-text.ts';
import { TestClock } from '#test/support/test-clock.ts';

const workspace = WORKSPACE;
const NODES = 500;
const name = (index: number): string => `n${1_000 + index}`;

/** Each step of a long read is a slice of its own, and the next slice comes when the test lets it. */
class Gate implements Clock {
  /** Slices that are still given; the rest waits. */
  left = Number.POSITIVE_INFINITY;
  #nowMs = 0;
  #waiting: (() => void)[] = [];

  wallMs(): number {
    return systemClock.wallMs();
  }

  monotonicMs(): number {
    this.#nowMs += 100;
    return this.#nowMs;
  }

  after: Clock['after'] = (delayMs, callback) => systemClock.after(delayMs, callback);

  soon(callback: () => void): void {
    if (this.left <= 0) {
      this.#waiting.push(callback);
      return;
    }
    this.left -= 1;
    systemClock.soon(callback);
  }

  open(): void {
    this.left = Number.POSITIVE_INFINITY;
    for (const callback of this.#waiting.splice(0)) systemClock.soon(callback);
  }
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

describe('an answer that takes long', () => {
  const gate = new Gate();
  const clock = new TestClock();
  let branch: BranchFixture;
  let at: Revision;
  let wide: Revision;
  let changes = 0;

  const relate = (path: string, weight: number) =>
    branch.command({
      type: 'AddRelation',
      workspace,
      place: { path },
      targetWorkspace: workspace,
      targetPath: '/target',
      relationType: 'r'.repeat(100),
      weight,
    });

  /** Changes what every one of the answers shows. */
  async function change(): Promise<void> {
    changes += 1;
    const text = `change ${changes}`;
    const properties = { description: text, link: { 'svc:ref': 'target', 'svc:workspace': workspace } };
    const place = { path: '/kept' };
    await branch.command({ type: 'UpdateNode', workspace, place, properties: { title: text } });
    await branch.command({ type: 'CreateVersion', workspace, place, note: text });
    for (const index of [20, 250, 400])
      await branch.command({
        type: 'DeleteNode',
        workspace,
        place: { path: `/all/${name(index + changes)}` },
      });
    await relate(`/all/${name(2)}`, changes);
    await branch.create(`/all/late${changes}`, properties, 'svc:Folder');
    await relate(`/all/late${changes}`, 1);
    await branch.command({
      type: 'MoveNode',
      workspace,
      place: { path: `/all/late${changes}` },
      targetPath: `/all/${name(0)}${changes}`,
    });
  }

  beforeAll(async () => {
    const auditable = {
      name: 'test:Kept',
      auditable: true,
      versionable: true,
      properties: [{ name: 'title', type: 'String' }],
    };
    const ranked = { name: 'test:Item', properties: [{ name: 'rank', type: 'Number', index: ['Property'] }] };
    branch = await openBranch({ clock, slicesClock: gate, nodeTypes: [auditable, ranked] });
    await branch.create('/all');
    await branch.create('/gone');
    await branch.create('/target');
    await branch.create('/kept', { title: 'first' }, 'test:Kept');
    const description = 'x'.repeat(300);
    await Promise.all(
      Array.from({ length: NODES }, async (_, index) => {
        await branch.create(`/all/${name(index)}`, { description });
        await relate(`/all/${name(index)}`, index);
        await branch.create(`/gone/${name(index)}`);
        await branch.create(`/item-${name(index)}`, { description, rank: index }, 'test:Item');
        const place = { path: '/kept' };
        await branch.command({ type: 'UpdateNode', workspace, place, properties: { title: `t${index}` } });
        if (index % 5 === 0)
          await branch.command({ type: 'CreateVersion', workspace, place, note: description });
      }),
    );
    const deleted = await branch.command({ type: 'DeleteNode', workspace, place: { path: '/gone' } });
    wide = parseRevision(deleted.revision as string);
    at = wide;
  });
  afterEach(() => gate.open());
  afterAll(() => branch.close());

  const kept = { path: '/kept' };
  const target = { path: '/target' };
  const all = { path: '/all' };
  const answers: readonly (readonly [string, () => BranchQuery])[] = [
    ['a listing', () => ({ type: 'ListChildren', workspace, place: all, scope: 's' })],
    ['a tree', () => ({ type: 'ReadTree', workspace, place: { path: '/' }, levels: 3, form: 'flat' })],
    ['relations', () => ({ type: 'ReadRelations', workspace, place: target })],
    ['relations of a revision', () => ({ type: 'ReadRelations', workspace, place: target, at })],
    ['a history', () => ({ type: 'ReadHistory', workspace, place: kept })],
    ['a history up to a revision', () => ({ type: 'ReadHistory', workspace, place: kept, at })],
    ['an audit log', () => ({ type: 'ReadAudit', workspace, place: kept })],
    ['manual versions', () => ({ type: 'ReadVersions', workspace, place: kept })],
    ['revisions', () => ({ type: 'ListRevisions', limit: 1_000, offset: 0, includeSystem: false })],
    ['the changes of a revision', () => ({ type: 'ReadRevisionChanges', revision: wide })],
  ];

  const item = { node_type: { eq: 'test:Item' } };
  const ranked = { ...item, 'properties.rank': { gte: 0 } };
  const filters: readonly (readonly [string, JsonObject])[] = [
    ['of a type', item],
    ['by an index', ranked],
    ['in the order of an index', { ...ranked, order_by: { 'properties.rank': 'desc' }, limit: NODES - 10 }],
    ['in another order', { ...ranked, order_by: { name: 'desc' } }],
    ['with any filter', { not: { 'properties.rank': { lt: 0 } }, order_by: { 'properties.rank': 'asc' } }],
  ];
  const queries = filters.map(
    ([title, filter]) => [`a boolean query ${title}`, { type: 'RunDslQuery', workspace, filter }] as const,
  );
  const rank = (index: number, value: number) =>
    branch.command({
      type: 'UpdateNode',
      workspace,
      place: { path: `/item-${name(index)}` },
      properties: { rank: value },
    });

  it.each(
    queries.flatMap(([title, query]) => [1, 7, 250, 600].map((slices) => [title, slices, query] as const)),
  )(
    'pins nothing for long, and shows the state with which it began: %s, after %i slices',
    async (_, slices, query) => {
      const { reading, whole } = await begin(query);
      gate.left = slices;
      const first = reading.next();
      await turns(2 * slices + 10);
      clock.advance(SNAPSHOT_MS_MAX);
      expect(await branch.openReaders()).toEqual([]);
      changes += 1;
      for (const index of [0, 200, NODES - 1]) await rank(index, -changes);
      await rank(300 + changes, 10_000);
      gate.open();
      const found = await end(reading, await first);
      expect(found).toBe(whole);
      expect(JSON.stringify(await branch.query(query))).not.toBe(whole);
      for (const index of [0, 200, NODES - 1]) await rank(index, index);
    },
  );

  async function begin(
    query: BranchQuery,
  ): Promise<{ readonly whole: string; readonly reading: AsyncIterator<string | Uint8Array> }> {
    const whole = JSON.stringify(await branch.query(query));
    const { chunks } = (await branch.ask(query)) as TextStream;
    return { whole, reading: chunks[Symbol.asyncIterator]() };
  }

  async function end(
    reading: AsyncIterator<string | Uint8Array>,
    first: IteratorResult<string | Uint8Array>,
  ): Promise<string> {
    let text = '';
    for (let step = first; step.done !== true; step = await reading.next()) text += chunkText(step.value);
    return JSON.stringify(JSON.parse(text));
  }

  it.each(answers)('pins nothing while its client does not read: %s', async (_, query) => {
    const { reading, whole } = await begin(query());
    const first = await reading.next();
    expect(chunkText(first.value as string).length).toBeLessThan(whole.length);
    expect(await branch.openReaders()).toEqual([]);
    await change();
    expect(await end(reading, first)).toBe(whole);
    expect(JSON.stringify(await branch.query(query())) === whole).toBe(
      'at' in query() || query().type === 'ReadRevisionChanges',
    );
  });

  it.each(answers)('pins nothing for long while it waits for its turn: %s', async (_, query) => {
    const { reading, whole } = await begin(query());
    gate.left = 7;
    const first = reading.next();
    await turns(30);
    if (gate.left > 0) {
      // It has come to a chunk, which nobody takes.
      expect(await branch.openReaders()).toEqual([]);
    } else {
      expect(await branch.openReaders()).toHaveLength(1);
      clock.advance(SNAPSHOT_MS_MAX);
      expect(await branch.openReaders()).toEqual([]);
    }
    gate.open();
    expect(await end(reading, await first)).toBe(whole);
  });
});
