import { afterEach, beforeEach, expect, it } from 'vitest';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { boundedPart, END } from '#runtime/shard/binary-key.ts';
import { BranchTable, countKey } from '#runtime/shard/key-layout.ts';
import { isIndexesPending } from '#runtime/tree/branch-events.ts';
import { encodeTypeCount, type PendingIndexes, pendingTypes } from '#runtime/tree/index-catalog.ts';
import type { IndexStep } from '#runtime/tree/index-writer.ts';
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

it('are built where paths are too long for a key, also on from the cut key that an earlier build kept', async () => {
  const place = (path: string) => ({ workspace: WORKSPACE, place: { path } });
  const part = `/${'l'.repeat(249)}`;
  const long = part.repeat(6);
  for (let depth = 1; depth <= 6; depth += 1) await branch.create(part.repeat(depth));
  const names = Array.from({ length: 7 }, (_, index) => `n${index}`);
  for (const name of names) await branch.create(`${long}/${name}`, { rank: 2 }, 'test:Item');
  const build = (nodesMax: number) =>
    branch.command({ type: 'BuildIndexes', nodesMax }, engineCaller('acme'));
  const kept = async (): Promise<string> =>
    branch.inspect((reader) => pendingTypes(reader)[0]?.fields.pending?.after as string);
  await declare(['Property']);
  await build(5);
  expect((await kept()).endsWith(`/n1${END}`)).toBe(true);
  // An earlier build went by the keys, which have the order of a hash.
  await branch.rewrite(
    await branch.inspect((reader) =>
      pendingTypes(reader).map(({ count, fields }) => ({
        table: BranchTable.counts,
        key: countKey(WORKSPACE, 'test:Item'),
        value: encodeTypeCount({
          count,
          fields: {
            ...fields,
            pending: { ...(fields.pending as PendingIndexes), after: boundedPart(`${long}/n5`) },
          },
        }),
      })),
    ),
  );
  let steps = 0;
  while (!((await build(2)) as unknown as IndexStep).isDone) {
    steps += 1;
    expect(steps).toBeLessThan(10);
  }
  await branch.command({ type: 'DeleteNode', ...place(`${long}/n3`) });
  await branch.inspect((reader) => {
    expect(pendingTypes(reader)).toEqual([]);
    expect(findDamage(reader)).toEqual([]);
  });
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
