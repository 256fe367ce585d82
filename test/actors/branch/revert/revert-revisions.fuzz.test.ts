import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchCommand } from '#actors/branch/messages.ts';
import type { NodePlace } from '#actors/branch/read-messages.ts';
import type { RevertResult } from '#actors/branch/revert-messages.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { workloadCount } from '#test/support/workload-count.ts';

const workspace = WORKSPACE;

/** One thing somebody does; names are few, so that they meet. */
interface Step {
  readonly do:
    | 'create'
    | 'update'
    | 'rename'
    | 'move'
    | 'delete'
    | 'translate'
    | 'reorder'
    | 'publish'
    | 'define';
  readonly a: number;
  readonly b: number;
}

const steps = fc.array(
  fc.record<Step>({
    do: fc.constantFrom(
      'create',
      'create',
      'update',
      'rename',
      'move',
      'delete',
      'translate',
      'reorder',
      'publish',
      'define',
    ),
    a: fc.nat({ max: 5 }),
    b: fc.nat({ max: 5 }),
  }),
  { minLength: 1, maxLength: 16 },
);

/** Found by chance: of publish, unpublish and publish the first two are reverted. */
const publishedTwice: Step[] = [
  { do: 'create', a: 0, b: 0 },
  { do: 'publish', a: 0, b: 0 },
  { do: 'create', a: 0, b: 1 },
  { do: 'publish', a: 0, b: 3 },
  { do: 'publish', a: 0, b: 0 },
  { do: 'create', a: 0, b: 0 },
];

/** Two that have nothing to do with each other, and one that is changed by the next: each outcome is there for certain. */
const apart: Step[] = [
  { do: 'create', a: 0, b: 0 },
  { do: 'create', a: 1, b: 2 },
];
const changedSince: Step[] = [
  { do: 'create', a: 0, b: 0 },
  { do: 'update', a: 0, b: 1 },
];

type Content = readonly unknown[];

/** A revision with everything there was at it, seen when it was the head. */
interface Moment {
  readonly revision: string;
  readonly content: Content;
}

/** What every write sets anew. */
const stamps = ['version', 'updated_at', 'updated_by', 'published_at', 'published_by', 'previous_version'];

describe('the revert of revisions', () => {
  let branch: BranchFixture;
  let start: string;

  beforeAll(async () => {
    const nodeTypes = [{ name: 'test:Kind', properties: [{ name: 'title', type: 'String' }] }];
    branch = await openBranch({ nodeTypes });
    start = ((await branch.query({ type: 'ReadBranchState' })) as { head: string }).head;
  });
  afterAll(() => branch.close());

  /** The whole content, read at the head. */
  async function content(): Promise<Content> {
    const place = { path: '/' };
    const nodes = (await branch.query({
      type: 'ReadTree',
      workspace,
      place,
      levels: 100,
      form: 'flat',
    })) as object[];
    const types = (await branch.query({
      type: 'ListDefinitions',
      kind: 'node_type',
      publishedOnly: false,
    })) as object[];
    return [...nodes, ...types].map((thing) => {
      const kept = Object.entries(thing).filter(([name]) => !stamps.includes(name));
      const { published_at: published } = thing as { published_at?: string | null };
      return { ...Object.fromEntries(kept), isPublished: (published ?? null) !== null };
    });
  }

  async function nodesOf(): Promise<readonly { path: string; name: string }[]> {
    const place = { path: '/' };
    return (await branch.query({ type: 'ReadTree', workspace, place, levels: 100, form: 'flat' })) as never;
  }

  function commandOf({ a, b, do: what }: Step, paths: readonly string[]): BranchCommand | undefined {
    if (what === 'define') {
      const properties = [
        { name: 'title', type: 'String' },
        { name: `extra${a}`, type: 'String' },
      ];
      const definition = { name: b === 0 ? 'test:Kind' : `test:Kind${b}`, properties };
      return { type: 'PutDefinition', kind: 'node_type', definition };
    }
    const path = paths[a % Math.max(paths.length, 1)];
    const other = paths[b % Math.max(paths.length, 1)];
    if (what === 'create') {
      const parentPath = b % 2 === 0 || path === undefined ? '/' : path;
      const node = { name: `n${b}`, nodeType: 'test:Kind', properties: { title: `t${a}` } };
      return { type: 'CreateNode', workspace, parentPath, node, deep: false };
    }
    if (path === undefined || other === undefined) return undefined;
    const place: NodePlace = { path };
    const on = { workspace, place };
    switch (what) {
      case 'update':
        return { type: 'UpdateNode', ...on, properties: { title: `u${b}` } };
      case 'rename':
        return { type: 'RenameNode', ...on, newName: `r${b}` };
      case 'move':
        return { type: 'MoveNode', ...on, targetPath: `${b === 5 ? '' : other}/m${b}` };
      case 'delete':
        return { type: 'DeleteNode', ...on };
      case 'translate': {
        const translations = { '/title': `d${b}` };
        return { type: 'TranslateNode', ...on, locale: b % 2 === 0 ? 'de' : 'fr', translations };
      }
      case 'reorder':
        return { type: 'ReorderNode', ...on, targetPath: other, position: b % 2 === 0 ? 'before' : 'after' };
      case 'publish':
        return { type: 'PublishNode', ...on, publish: b % 2 === 0, tree: false };
    }
  }

  /** Carries steps out; those that are refused have not happened. */
  async function live(list: readonly Step[]): Promise<Moment[]> {
    await branch.command({ type: 'MoveHead', revision: start });
    const moments: Moment[] = [{ revision: start, content: await content() }];
    for (const step of list) {
      const command = commandOf(
        step,
        (await nodesOf()).map(({ path }) => path),
      );
      if (command === undefined) continue;
      try {
        const { revision } = (await branch.command(command)) as { revision: string | null };
        if (revision !== null) moments.push({ revision, content: await content() });
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
      }
    }
    return moments;
  }

  const revert = (revisions: readonly string[]): Promise<RevertResult> =>
    branch.command({ type: 'RevertRevisions', which: { revisions }, dryRun: false }) as never;

  it('takes the newest ones back to what was before them, and back again [REVERT-003]', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(), async (list, seed) => {
        const moments = await live(list);
        const kept = seed % moments.length;
        const undone = moments.slice(kept + 1);
        if (undone.length === 0) return;
        const result = await revert(undone.map(({ revision }) => revision));
        expect(result).toMatchObject({ success: true, conflicts: [] });
        expect(await content()).toEqual(moments[kept]?.content);
        if (result.head === moments.at(-1)?.revision) return;
        expect(await revert([result.head])).toMatchObject({ success: true });
        expect(await content()).toEqual(moments.at(-1)?.content);
      }),
      { numRuns: workloadCount(30) },
    );
    await branch.inspect((reader) => expect(findDamage(reader)).toEqual([]));
  });

  it('of any of them succeeds, stops with conflicts or reports the reason, and leaves a complete tree', async () => {
    let done = 0;
    let stopped = 0;
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(), async (list, seed) => {
        const moments = await live(list);
        const chosen = moments.slice(1).filter((_, index) => (seed >> index) % 2 === 1);
        if (chosen.length === 0) return;
        const before = await content();
        const result = await revert(chosen.map(({ revision }) => revision));
        if (result.success) {
          done += 1;
          if (result.head === moments.at(-1)?.revision) return;
          await revert([result.head]);
        } else {
          stopped += 1;
          expect(result.conflicts).not.toEqual([]);
        }
        expect(await content()).toEqual(before);
      }),
      {
        numRuns: workloadCount(40),
        examples: [
          [apart, 3],
          [changedSince, 1],
        ],
      },
    );
    expect([done > 0, stopped > 0]).toEqual([true, true]);
    await branch.inspect((reader) => expect(findDamage(reader)).toEqual([]));
  });

  it('of several at once makes what one after another makes, newest first, or stops with conflicts', async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(), async (list, seed) => {
        const moments = await live(list);
        const chosen = moments.slice(1).filter((_, index) => (seed >> index) % 2 === 1);
        const head = moments.at(-1)?.revision as string;
        let at = head;
        for (const { revision } of [...chosen].reverse()) {
          const { head: next, success } = await revert([revision]);
          // Undone already by one that is kept: one by one it is passed over, and what it had undone is undone as well;
          // together the two cancel out.
          if (!success || next === at) return;
          at = next;
        }
        if (chosen.length === 0) return;
        const wanted = unordered(await content());
        await branch.command({ type: 'MoveHead', revision: head });
        const result = await revert(chosen.map(({ revision }) => revision));
        // Somebody who went back to what was in between changed it again, although one by one nothing is in the way.
        if (!result.success) return;
        expect(unordered(await content())).toEqual(wanted);
        compared += 1;
      }),
      {
        numRuns: workloadCount(25),
        examples: [
          [apart, 3],
          [publishedTwice, 797_404_302],
        ],
      },
    );
    expect(compared).toBeGreaterThan(0);
  });
});

/** Where a place was taken in between, what comes back later stands behind it. */
function unordered(things: Content): Content {
  const texts = things.map((thing) => JSON.stringify({ ...(thing as object), order_key: undefined }));
  return texts.sort();
}
