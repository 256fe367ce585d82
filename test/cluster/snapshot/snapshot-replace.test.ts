import { afterEach, beforeEach, expect, it } from 'vitest';
import type { SnapshotRecord } from '#cluster/snapshot/snapshot-manifest.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { type FileSystem, realFileSystem } from '#runtime/base/files/file-system.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { type SnapshotSide, SnapshotWorld } from '#test/support/snapshot-world.ts';
import { TestClock } from '#test/support/test-clock.ts';

const actorOf = (name: string): string => actorId('acme', 'site~1', name, 'notes');
const [one, two] = ['one', 'two'].map(actorOf) as [string, string];
const { signal } = new AbortController();

let world: SnapshotWorld;
let owner: SnapshotSide;
let follower: SnapshotSide;
let first: SnapshotRecord;

/** An owner of two actors, and a snapshot of them. */
beforeEach(async () => {
  world = await SnapshotWorld.open();
  owner = world.side('a');
  follower = world.side('b');
  await owner.member.own();
  for (const actor of [one, two]) {
    await owner.host.create(actor);
    await owner.write(actor, 'early');
  }
  first = await snapshotOfAll();
});

afterEach(() => world.close());

async function snapshotOfAll(): Promise<SnapshotRecord> {
  await follower.caughtUp();
  const record = await follower.snapshot();
  if (record === undefined) throw new Error('no snapshot was taken');
  return record;
}

it('does not replace actors with a snapshot that the log no longer continues [CLU-010]', async () => {
  const side = world.side('c');
  const { restore, store } = side;
  expect(await restore.bring(signal)).toBe(true);
  await owner.write(one, 'later');
  const second = await snapshotOfAll();
  await world.stream.link().truncate(second.position.sequence);
  expect(await restore.replace()).toBeUndefined();
  expect([await store.all(), side.told('restored')]).toEqual([[], []]);
  expect(await restore.bring(signal)).toBe(true);
  expect(await restore.replace()).toEqual(second.position);
  expect(await store.all()).toEqual([one, two]);
});

it('does not bring a snapshot again that lies beside the actors', async () => {
  const side = world.side('c');
  const { restore } = side;
  expect(await restore.bring(signal)).toBe(true);
  for (const hash of await world.stored()) world.damage(hash);
  expect(await restore.bring(signal)).toBe(true);
  expect(side.told('unusable')).toEqual([]);
  expect(await restore.replace()).toEqual(first.position);
});

it('fetches nothing beside damaged actors without room to set them aside', async () => {
  const files: FileSystem = {
    ...realFileSystem,
    syncDirectory: async (path) => {
      await realFileSystem.syncDirectory(path);
      // The first actor is there.
      if (path.includes('restore')) side.isPressed = true;
    },
  };
  const side = world.side('c', files);
  expect(await side.restore.bring(signal)).toBe(false);
  expect(side.told('unusable')).toMatchObject([{ cause: { code: 'STORAGE_FULL' } }]);
  expect(side.files).not.toContain('restore');
  expect(await side.restore.replace()).toBeUndefined();
});

it('does not put a snapshot in the place of damaged actors where there is no room to keep them any more', async () => {
  await follower.member.leave();
  const { restore } = follower;
  expect(await restore.bring(signal)).toBe(true);
  follower.isPressed = true;
  expect(await restore.replace()).toBeUndefined();
  expect(follower.told('unusable')).toMatchObject([{ cause: { code: 'STORAGE_FULL' } }]);
  expect([await follower.store.all(), follower.kept]).toEqual([[one, two], []]);
});

it('tries a snapshot again soon when an attempt brought more of it than the one before', async () => {
  const clock = new TestClock();
  const side = world.side('c', realFileSystem, clock);
  const { restore } = side;
  const attempts: number[] = [];
  let actors = 0;
  const { blobs } = world;
  const get = blobs.get.bind(blobs);
  blobs.get = async (hash) => {
    if (hash !== first.manifest.hash && actors-- <= 0) throw new ServiceError('LOG_UNAVAILABLE');
    return get(hash);
  };
  for (let second = 0; second < 60; second += 1) {
    actors = side.told('unusable').length === 2 ? 1 : 0;
    const before = side.told('unusable').length;
    expect(await restore.bring(signal)).toBe(false);
    if (side.told('unusable').length > before) attempts.push(second);
    clock.advance(1_000);
  }
  expect(attempts).toEqual([0, 5, 15, 20, 30, 50]);
});
