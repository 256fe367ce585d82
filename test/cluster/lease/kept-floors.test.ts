import { cpSync, mkdtempSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';
import { PartitionSide } from '#test/support/partition-side.ts';
import { until } from '#test/support/until.ts';

const actor = actorId('acme', 'site~1', 'a', 'notes');

let root: string;
let stream: MemoryStream;
let sides: PartitionSide[];

function side(name: string): PartitionSide {
  const made = new PartitionSide(root, stream, name);
  sides.push(made);
  return made;
}

function hasRebuilt({ events }: PartitionSide): boolean {
  return events.some((event) => event.kind === 'shards-failed' && event.isDamaged);
}

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
  cpSync(again.pathOf(actor), join(root, 'early.mdb'));
  await again.write(actor, 'late');
  await again.applied();
  again.copyTo('b');
  await again.member.leave();
  return side('b');
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'kept-floors-'));
  stream = new MemoryStream();
  sides = [];
});

afterEach(async () => {
  for (const { member } of sides) await member.leave();
  rmSync(root, { recursive: true, force: true });
});

const losses: readonly [string, (b: PartitionSide) => void][] = [
  ['gone', (b) => rmSync(b.pathOf(actor))],
  ['empty', (b) => truncateSync(b.pathOf(actor), 0)],
  ['an earlier copy', (b) => cpSync(join(root, 'early.mdb'), b.pathOf(actor))],
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
