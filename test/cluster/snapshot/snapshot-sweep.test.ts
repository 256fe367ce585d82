import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SnapshotRecord } from '#cluster/snapshot/snapshot-manifest.ts';
import { SWEEP_AGE_MS, sweepSnapshots } from '#cluster/snapshot/snapshot-sweep.ts';
import { readManifest } from '#cluster/snapshot/stored-manifest.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import { PARTITION, SnapshotWorld } from '#test/support/snapshot-world.ts';

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

/** @param first record of the only log that is not empty; null when it cannot be read */
function sweep(ageMs: number, first: number | null = 1): Promise<number> {
  const { blobs, index } = world;
  const firstSequence = first ?? undefined;
  const firstSequenceOf = (partition: number): Promise<number | undefined> =>
    Promise.resolve(partition === PARTITION ? firstSequence : 1);
  return sweepSnapshots({ blobs, index, clock: later(ageMs), partitions: PARTITION + 1, firstSequenceOf });
}

const damaged = expect.objectContaining({ code: 'DATA_CORRUPTED' });

describe('the sweep of stored snapshots', () => {
  it('removes what no snapshot names once it is old, and nothing else', async () => {
    const named = await world.stored();
    const { hash } = await world.blobs.put([Buffer.from('left by a member that died')], { bytesMax: 100 });
    expect(await sweep(SWEEP_AGE_MS - 60_000)).toBe(0);
    expect(await world.blobs.info(hash)).toBeDefined();
    expect(await sweep(SWEEP_AGE_MS + 60_000)).toBe(1);
    expect(await world.stored()).toEqual(named);
  });

  it('removes nothing while it cannot read what is named', async () => {
    const [record] = await world.records();
    world.damage(record?.manifest.hash as string);
    const before = await world.stored();
    await expect(sweep(SWEEP_AGE_MS + 60_000)).rejects.toEqual(damaged);
    expect(await world.stored()).toEqual(before);
  });

  it('removes nothing when the index has lost what a log was cut behind', async () => {
    const [record] = await world.records();
    const { version } = await world.index.read(PARTITION);
    const before = await world.stored();
    const { sequence } = (record as SnapshotRecord).position;
    // A member needs the record a snapshot ends with to begin with it.
    await expect(sweep(SWEEP_AGE_MS + 60_000, sequence + 1)).rejects.toEqual(damaged);
    expect(await world.stored()).toEqual(before);
    expect(await sweep(SWEEP_AGE_MS + 60_000, sequence)).toBe(0);
    await world.index.replace(PARTITION, version, []);
    await expect(sweep(SWEEP_AGE_MS + 60_000, sequence)).rejects.toEqual(damaged);
    expect(await world.stored()).toEqual(before);
  });

  it('removes nothing while a log cannot be read', async () => {
    await world.blobs.put([Buffer.from('left by a member that died')], { bytesMax: 100 });
    const before = await world.stored();
    const sweeping = sweep(SWEEP_AGE_MS + 60_000, null);
    await expect(sweeping).rejects.toMatchObject({ code: 'LOG_UNAVAILABLE' });
    expect(await world.stored()).toEqual(before);
  });

  it('removes nothing while something that is named is missing', async () => {
    const [record] = await world.records();
    const { actors } = await readManifest(world.blobs, record as SnapshotRecord);
    const [actor] = actors;
    await world.blobs.delete((actor as { readonly hash: string }).hash);
    const before = await world.stored();
    await world.blobs.put([Buffer.from('left by a member that died')], { bytesMax: 100 });
    await expect(sweep(SWEEP_AGE_MS + 60_000)).rejects.toEqual(damaged);
    expect((await world.stored()).size).toBe(before.size + 1);
  });
});
