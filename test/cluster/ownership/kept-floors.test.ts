import { cpSync, rmSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { PartitionSide } from '#test/support/partition-side.ts';
import { hasRebuilt, PartitionSides } from '#test/support/partition-sides.ts';
import { until } from '#test/support/until.ts';

const actor = actorId('acme', 'site~1', 'a', 'notes');

let sides: PartitionSides;

const side = (name: string): PartitionSide => sides.side(name);

/** Member `b` as a kill left it: its shard has two records that are behind the position that is stored. */
async function killed(): Promise<PartitionSide> {
  const a = side('a');
  await a.member.own();
  await a.member.leave();
  const again = side('a');
  await again.member.own();
  again.copyPositionTo('b');
  await again.host.create(actor);
  await again.write(actor, 'early');
  await again.applied();
  cpSync(again.pathOf(actor), join(sides.root, 'early.mdb'));
  await again.write(actor, 'late');
  await again.applied();
  again.copyTo('b');
  await again.member.leave();
  return side('b');
}

beforeEach(() => {
  sides = new PartitionSides();
});

afterEach(() => sides.close());

const losses: readonly [string, (b: PartitionSide) => void][] = [
  ['gone', (b) => rmSync(b.pathOf(actor))],
  ['empty', (b) => truncateSync(b.pathOf(actor), 0)],
  ['an earlier copy', (b) => cpSync(join(sides.root, 'early.mdb'), b.pathOf(actor))],
];

it.each(losses)(
  'a shard that a killed process left ahead of the position is missed when its file is %s later',
  async (_, lose) => {
    const b = await killed();
    await b.member.follow();
    await until(() => b.member.storedSequence >= (b.head(actor)?.sequence ?? 0), 'its position is behind it');
    await b.member.leave();
    expect([b.head(actor)?.sequence, hasRebuilt(b)]).toEqual([expect.any(Number), false]);
    lose(b);
    const after = side('b');
    await after.member.own();
    // An owner that has not noticed yet refuses.
    const keys = await after.keys(actor).catch(() => undefined);
    if (keys !== undefined) expect(keys).toEqual(['early', 'late']);
    await until(() => hasRebuilt(after), 'the loss is noticed');
    await until(() => after.member.role === 'following', 'everything is made anew');
    expect(await after.member.own()).toBe(true);
    expect(await after.keys(actor)).toEqual(['early', 'late']);
  },
);
