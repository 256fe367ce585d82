import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SWEEP_AGE_MS, sweepSnapshots } from '#cluster/snapshot/snapshot-sweep.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { type Clock, systemClock } from '#runtime/base/clock.ts';
import { SnapshotWorld } from '#test/support/snapshot-world.ts';

const ACTOR = actorId('acme', 'site~1', 'a', 'notes');

let world: SnapshotWorld;

beforeEach(async () => {
  world = await SnapshotWorld.open();
  const owner = world.side('a');
  await owner.member.own();
  await owner.host.create(ACTOR);
  await owner.write(ACTOR, 'one');
  const follower = world.side('b');
  await follower.caughtUp();
  await follower.snapshot();
});

afterEach(() => world.close());

/** As if so much time had passed since everything was stored. */
const later = (ms: number): Clock => ({ ...systemClock, wallMs: () => systemClock.wallMs() + ms });

describe('the sweep of stored snapshots', () => {
  it('removes what no snapshot names once it is old, and nothing else', async () => {
    const named = await world.stored();
    const { hash } = await world.blobs.put([Buffer.from('left by a member that died')], { bytesMax: 100 });
    expect(await sweepSnapshots(world.blobs, world.index, later(SWEEP_AGE_MS - 60_000))).toBe(0);
    expect(await world.blobs.info(hash)).toBeDefined();
    expect(await sweepSnapshots(world.blobs, world.index, later(SWEEP_AGE_MS + 60_000))).toBe(1);
    expect(await world.stored()).toEqual(named);
  });

  it('removes nothing while it cannot read what is named', async () => {
    const [record] = await world.records();
    world.damage(record?.manifest.hash as string);
    const before = await world.stored();
    await expect(
      sweepSnapshots(world.blobs, world.index, later(SWEEP_AGE_MS + 60_000)),
    ).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    expect(await world.stored()).toEqual(before);
  });
});
