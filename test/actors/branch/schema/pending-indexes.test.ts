import { afterEach, beforeEach, expect, it } from 'vitest';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { isIndexesPending } from '#runtime/tree/branch-events.ts';
import { pendingTypes } from '#runtime/tree/index-catalog.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

let branch: BranchFixture;

beforeEach(async () => {
  branch = await openBranch({ nodeTypes: [typeWith([])], indexedAtOnceMax: 2 });
  for (const name of ['a', 'b', 'c']) await branch.create(`/${name}`, { rank: 1 }, 'test:Item');
});
afterEach(() => branch.close());

function typeWith(index: readonly string[], isUnique = false): JsonObject {
  const rank = { name: 'rank', type: 'Number', unique: isUnique, index };
  return { name: 'test:Item', properties: [rank] } as unknown as JsonObject;
}

function declare(index: readonly string[], isUnique = false): Promise<{ readonly revision: string | null }> {
  const definition = typeWith(index, isUnique);
  return branch.command({ type: 'PutDefinition', kind: 'node_type', definition });
}

/** What was announced since the last call. */
function announced(): readonly string[] {
  return branch.events.splice(0).flatMap((event) => (isIndexesPending(event) ? [event.since] : []));
}

it('are announced by the commit that makes them pending', async () => {
  const { revision } = await declare(['Property']);
  expect(announced()).toEqual([revision]);
  await branch.create('/d', {}, 'test:Item');
  await declare(['Property']);
  expect(announced()).toEqual([]);
  await branch.buildIndexes();
  const { revision: dropped } = await declare([]);
  expect(announced()).toEqual([dropped]);
});

it('are announced again by the first command that is carried out after the branch is opened', async () => {
  const { revision } = await declare(['Property']);
  announced();
  await branch.reopen();
  const place = { path: '/gone' };
  await expect(branch.command({ type: 'DeleteNode', workspace: WORKSPACE, place })).rejects.toThrow();
  const which = { revisions: [revision as string] };
  await branch.command({ type: 'RevertRevisions', which, dryRun: true });
  expect(announced()).toEqual([]);
  await branch.create('/d', {}, 'test:Item');
  await branch.create('/e', {}, 'test:Item');
  expect(announced()).toEqual([revision]);
  await branch.buildIndexes();
  await branch.reopen();
  await branch.create('/f', {}, 'test:Item');
  expect(announced()).toEqual([]);
});

it('are written at once for small types', async () => {
  await branch.command({ type: 'DeleteNode', workspace: WORKSPACE, place: { path: '/c' } });
  await declare(['Property']);
  expect(announced()).toEqual([]);
  await branch.inspect((reader) => expect(pendingTypes(reader)).toEqual([]));
});

it('leave the refusal of repeated unique values to the command that asks for it', async () => {
  await expect(declare(['Property'], true)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  await branch.inspect((reader) => expect(pendingTypes(reader)).toEqual([]));
  await branch.command({ type: 'DeleteNode', workspace: WORKSPACE, place: { path: '/b' } });
  await branch.command({ type: 'DeleteNode', workspace: WORKSPACE, place: { path: '/c' } });
  for (const name of ['d', 'e']) await branch.create(`/${name}`, {}, 'test:Item');
  await declare(['Property'], true);
  await expect(branch.create('/f', { rank: 1 }, 'test:Item')).rejects.toMatchObject({
    code: 'VALIDATION_FAILED',
  });
  await branch.inspect((reader) => {
    expect(pendingTypes(reader)).toHaveLength(1);
    expect(findDamage(reader)).toEqual([]);
  });
});
