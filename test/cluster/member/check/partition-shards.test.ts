import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loneShards, type OwnShards } from '#cluster/member/check/own-shards.ts';
import { PartitionShards } from '#cluster/member/check/partition-shards.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { systemClock } from '#runtime/base/clock.ts';
import { MemoryStream } from '#test/support/memory-stream.ts';
import { PartitionSide, SIDE_PARTITION } from '#test/support/partition-side.ts';

const first = actorId('acme', 'site~1', 'a', 'notes');
const second = actorId('acme', 'site~1', 'b', 'notes');

let root: string;
let side: PartitionSide;

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'partition-shards-'));
  side = new PartitionSide(root, new MemoryStream(), 'a');
  await side.member.own();
  for (const actor of [first, second]) {
    await side.host.create(actor);
    await side.write(actor, 'a note');
  }
});

afterEach(async () => {
  await side.member.leave();
  rmSync(root, { recursive: true, force: true });
});

/** What copying the shards finds, by actor. */
async function findings(shards: OwnShards): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [index, { actor, copy, file }] of (await shards.all()).entries()) {
    expect(file).toBe(side.pathOf(actor));
    const copied = copy(join(root, `copy-${index}`), new AbortController().signal);
    found[actor] = await copied.then(
      () => 'whole',
      (cause: unknown) => (cause as Error).message,
    );
  }
  return found;
}

describe('a check of shards', () => {
  const partitionShards = (): OwnShards =>
    new PartitionShards({
      members: () => new Map([[SIDE_PARTITION, side.member]]),
      storeOf: () => side.store,
      damaged: () => {},
      clock: systemClock,
    });
  const kinds: readonly [string, () => OwnShards][] = [
    ['an owner', partitionShards],
    ['a process that is alone', () => loneShards(side.store, side.host)],
  ];

  it.each(kinds)('of %s names an actor whose folder is gone, also one that is open', async (_, shardsOf) => {
    await side.applied();
    // Its position is stored: the log need not have the records any more.
    await side.member.follow();
    await side.member.own();
    expect(await side.keys(second)).toEqual(['a note']);
    rmSync(dirname(side.pathOf(second)), { recursive: true });
    const found = await findings(shardsOf());
    expect(found[first]).toBe('whole');
    expect(found[second]).toContain(`${side.pathOf(second)} is missing`);
  });

  it('of a follower names an actor whose folder is gone', async () => {
    await side.applied();
    await side.member.follow();
    await side.member.own();
    await side.member.follow();
    rmSync(dirname(side.pathOf(second)), { recursive: true });
    const found = await findings(partitionShards());
    expect(found[second]).toContain('is missing');
  });
});
