import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { ConflictList, MergeResult, MergeResolution } from '#actors/branch/merge-messages.ts';
import type { RevertResult } from '#actors/branch/revert-messages.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';

/** Characters of a title that makes its node large. */
const LARGE = 1_000_000;

/** Characters that may be parsed or written in one go: a piece, and what stands around it. */
const ONE_GO_MAX = 200_000;

describe('branches with large nodes', () => {
  let family: BranchFamily;
  let longest = 0;

  beforeAll(async () => {
    family = await BranchFamily.open();
    for (const name of ['a', 'b', 'c']) await family.create('main', `/${name}`, large('base'), name);
    await family.fork('far', 'main');
  });
  afterAll(() => family.close());
  afterEach(() => vi.restoreAllMocks());

  /** Titles of one length, so that lengths do not tell them apart. */
  function large(word: string): string {
    return word.padEnd(LARGE, `${word} `);
  }

  /** Notes the longest JSON text that is parsed or written in one go. */
  function watch(): void {
    longest = 0;
    const { parse, stringify } = JSON;
    vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
      longest = Math.max(longest, text.length);
      return parse(text, reviver);
    });
    vi.spyOn(JSON, 'stringify').mockImplementation((value: unknown, replacer: unknown) => {
      const text = stringify(value, replacer as never);
      longest = Math.max(longest, text?.length ?? 0);
      return text;
    });
  }

  const title = async (branch: string, path: string): Promise<unknown> => {
    const query = { type: 'ReadNode', workspace: WORKSPACE, place: { path } } as const;
    return (await family.query<{ properties: { title: string } }>(branch, query)).properties.title;
  };
  const source = () => ({ source: family.actor('far'), sourceName: 'far', dryRun: false });
  const resolve = (resolutions: readonly MergeResolution[]): Promise<MergeResult> =>
    family.command('main', { type: 'ResolveMerge', ...source(), resolutions });

  it('are compared, merged and reverted in pieces', async () => {
    await family.update('far', '/a', large('far'));
    await family.update('far', '/b', large('far'));
    await family.update('main', '/b', large('near'));
    await family.update('main', '/c', large('near'));
    watch();
    const { modified } = await family.diff('far', 'main');
    expect(modified.map(({ path }) => path)).toEqual(['/a', '/b']);
    const query = { type: 'ListConflicts', source: family.actor('far') } as const;
    const { conflicts } = await family.query<ConflictList>('main', query);
    expect(conflicts).toMatchObject([
      {
        path: '/b',
        base_properties: { title: large('base') },
        target_properties: { title: large('near') },
        source_properties: { title: large('far') },
      },
    ]);
    const properties = { title: large('both') };
    const merged = await resolve([{ nodeId: 'b', type: 'manual', properties }]);
    expect(merged).toMatchObject({ success: true, nodes_changed: 2 });
    const revert = (): Promise<RevertResult> =>
      family.command('main', {
        type: 'RevertRevisions',
        which: { revisions: [merged.head] },
        dryRun: false,
      });
    await family.update('main', '/a', large('last'));
    expect(await revert()).toMatchObject({ success: false, conflicts: [{ path: '/a' }] });
    await family.update('main', '/a', large('far'));
    expect(await revert()).toMatchObject({ success: true, nodes_changed: 2 });
    expect(longest).toBeLessThan(ONE_GO_MAX);
    vi.restoreAllMocks();
    expect(await title('main', '/a')).toBe(large('base'));
    expect(await title('main', '/b')).toBe(large('near'));
    expect(await title('main', '/c')).toBe(large('near'));
  });

  it('are merged in pieces where histories cross', async () => {
    for (const name of ['d', 'e']) await family.create('main', `/${name}`, large('base'), name);
    await family.fork('left', 'main');
    await family.fork('right', 'main');
    await family.update('left', '/d', large('left'));
    await family.update('right', '/e', large('rite'));
    await family.fork('former', 'right');
    const merge = (target: string, from: string): Promise<MergeResult> =>
      family.command(target, {
        type: 'MergeBranch',
        source: family.actor(from),
        sourceName: from,
        strategy: 'ThreeWay',
        dryRun: false,
      });
    expect(await merge('right', 'left')).toMatchObject({ success: true, fast_forward: false });
    expect(await merge('left', 'former')).toMatchObject({ success: true, fast_forward: false });
    await family.update('right', '/d', large('last'));
    await family.update('left', '/e', large('late'));
    watch();
    expect(await merge('left', 'right')).toMatchObject({ success: true });
    expect(longest).toBeLessThan(ONE_GO_MAX);
    vi.restoreAllMocks();
    expect([await title('left', '/d'), await title('left', '/e')]).toEqual([large('last'), large('late')]);
  });

  it('are not reverted, in slices, when another node has taken the path', async () => {
    await family.create('main', '/f', large('base'), 'f');
    const { revision } = await family.delete('main', '/f');
    await family.create('main', '/f', large('next'), 'f2');
    watch();
    const which = { revisions: [revision as string] };
    const reverted = await family.command('main', { type: 'RevertRevisions', which, dryRun: false });
    const conflict = {
      conflict_type: 'BothAdded',
      target_properties: { title: large('next') },
      source_properties: { title: large('base') },
    };
    expect(reverted).toMatchObject({ success: false, conflicts: [conflict] });
    expect(longest).toBeLessThan(ONE_GO_MAX);
  });

  it('are held, in pieces, against definitions that a revert takes back', async () => {
    const define = (description: string): Promise<{ revision: string }> =>
      family.command('main', {
        type: 'PutDefinition',
        kind: 'node_type',
        definition: { name: 'test:Other', description },
      });
    await define('first');
    const { revision } = await define('second');
    await family.update('main', '/c', large('more'));
    watch();
    const which = { revisions: [revision] };
    const reverted = await family.command('main', { type: 'RevertRevisions', which, dryRun: false });
    expect(reverted).toMatchObject({ success: true });
    expect(longest).toBeLessThan(ONE_GO_MAX);
  });
});
