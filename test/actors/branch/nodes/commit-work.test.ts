import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommitOperation } from '#actors/branch/messages.ts';
import { defaultRequestLimits } from '#runtime/budget/request-budget.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;

/** A tenth of what a request may take by default. */
const workMax = defaultRequestLimits.workMax / 10;

/** What a commit is refused with: the first operation that goes beyond the bound is named. */
const tooExpensive = expect.objectContaining({
  code: 'REQUEST_TOO_EXPENSIVE',
  message: expect.stringMatching(/^Operation \d+ \(\w+\): The request takes more than the 3 s of work/),
});

const numbered = (count: number, make: (index: number) => CommitOperation): readonly CommitOperation[] =>
  Array.from({ length: count }, (_, index) => make(index));

describe('the work of a commit of many operations', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch({ workMax });
  });
  afterAll(() => branch.close());

  const commit = (operations: readonly CommitOperation[]) =>
    branch.command({ type: 'CommitOperations', workspace, operations, commit: { message: 'many' } });

  const update = (nodeId: string, properties: JsonObject): CommitOperation => ({
    type: 'update',
    nodeId,
    properties,
  });

  it('is bounded where the updates make one node grow to thousands of properties [COMMIT-011]', async () => {
    const { id } = await branch.create('/grows');
    const growing = numbered(4_000, (index) => update(id, { [`p${index}`]: index }));
    await expect(commit(growing)).rejects.toEqual(tooExpensive);
    expect((await branch.read('/grows')).version).toBe(1);
  });

  it('is bounded where they change a node of many values [COMMIT-011]', async () => {
    const { id } = await branch.create('/values', { list: new Array<number>(190_000).fill(0) });
    await expect(commit(numbered(100, (index) => update(id, { index })))).rejects.toEqual(tooExpensive);
    expect((await branch.read('/values')).version).toBe(1);
  });

  it('is bounded where they rename a large node again and again [COMMIT-011]', async () => {
    const { id } = await branch.create('/large', { text: 'x'.repeat(1_000_000) });
    const names = numbered(200, (index) => ({ type: 'rename', nodeId: id, newName: `large-${index}` }));
    await expect(commit(names)).rejects.toEqual(tooExpensive);
    expect((await branch.read('/large')).version).toBe(1);
  });

  it('allows ten thousand creates and ten thousand updates, with nine tenths of the work to spare', async () => {
    const properties = { title: 'a title', text: 'x'.repeat(500), tags: ['a', 'b', 'c'], rank: 1 };
    await commit(
      numbered(10_000, (index) => ({
        type: 'create',
        parentPath: '/',
        node: { name: `n${index}`, nodeType: 'svc:Folder', properties },
      })),
    );
    const { id } = await branch.read('/n0');
    await commit(numbered(10_000, (rank) => update(id, { rank })));
    expect((await branch.read('/n0')).properties).toMatchObject({ rank: 9_999 });
  });
});
