import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { administrator, type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;
const place = { path: '/a' };
/** Twice what a body may have by default. */
const valuesMax = 400_000;
const refused = expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' });

/** Writes as somebody whose name makes the stored state longer than that of the last writer. */
const longName: Caller = {
  ...administrator,
  principal: { ...administrator.principal, username: 'x'.repeat(60) } as Caller['principal'],
};

/** Bodies are bounded where they are received, so that a command can make a node as an earlier build may have left it. */
describe('a node with more values than changes in part may give it', () => {
  let branch: BranchFixture;

  let nodeId: string;

  beforeAll(async () => {
    branch = await openBranch();
    const list = new Array<number>(valuesMax).fill(0);
    nodeId = (await branch.create('/a', { list, a: 1, b: 1, c: 1, d: 'long' })).id;
  });
  afterAll(() => branch.close());

  const patch = (properties: JsonObject, caller?: Caller, more: { readonly ownerId?: string | null } = {}) =>
    branch.command({ type: 'PatchNode', workspace, place, properties, ...more }, caller);

  const set = (property: readonly string[], value: string | number, caller?: Caller) =>
    branch.command({ type: 'SetProperty', workspace, place, property, value }, caller);

  it('may get smaller with any writer, by as little as the length of one value [PATCH-006]', async () => {
    await patch({ a: null }, longName);
    await set(['d'], 'x');
    await set(['d'], 'y', longName);
    const commit = { message: 'smaller', actor: 'ada' };
    const operations = [{ type: 'update', nodeId, properties: { d: '' } }] as const;
    await branch.command({ type: 'CommitOperations', workspace, operations, commit }, longName);
    expect((await branch.read('/a')).properties).toMatchObject({ b: 1, c: 1, d: '' });
  });

  it('may not get larger, even if other values of the node get smaller [PATCH-006]', async () => {
    const { properties } = await branch.read('/a');
    await patch({}, longName, { ownerId: 'o'.repeat(1_000) });
    await expect(patch({ e: 1 }, undefined, { ownerId: null })).rejects.toEqual(refused);
    await expect(set(['e'], 1)).rejects.toEqual(refused);
    expect((await branch.read('/a')).properties).toEqual(properties);
  });
});
