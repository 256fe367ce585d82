import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { storedBytes } from '#cluster/snapshot/stored-manifest.ts';
import { COPY_FILE } from '#runtime/actor/copies/actor-copies.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { PARTITION, type SnapshotSide, SnapshotWorld } from '#test/support/snapshot-world.ts';

const calm = actorId('acme', 'site~1', 'a', 'notes');
const busy = actorId('acme', 'site~1', 'b', 'notes');

let world: SnapshotWorld;
let owner: SnapshotSide;
let follower: SnapshotSide;

/** A partition with one actor that changes, another one that does not, and a snapshot. */
beforeEach(async () => {
  world = await SnapshotWorld.open();
  owner = world.side('a');
  await owner.member.own();
  for (const actor of [calm, busy]) {
    await owner.host.create(actor);
    await owner.write(actor, 'one');
  }
  follower = world.side('b');
  await take();
});

afterEach(() => world.close());

/** Takes a snapshot of everything that was written. */
async function take(isWhole = false): Promise<void> {
  await follower.caughtUp();
  expect(await follower.snapshot(isWhole)).toBeDefined();
}

/** Hashes of all that a kept snapshot names. */
async function named(): Promise<Set<string>> {
  const hashes = new Set<string>();
  for (const record of await world.records())
    for (const hash of await storedBytes(world.blobs, record)) hashes.add(hash);
  return hashes;
}

describe('a snapshot', () => {
  it('is not kept beside one of another log of the same name', async () => {
    const { records, version } = await world.index.read(PARTITION);
    const foreign = records.map((each) => ({
      ...each,
      position: { ...each.position, identity: 'earlier' },
    }));
    await world.index.replace(PARTITION, version, foreign);
    await owner.write(busy, 'two');
    await take();
    expect((await world.records()).map(({ position }) => position.identity)).toEqual(['memory']);
  });

  it('names no file of the one before that is gone', async () => {
    const before = await world.records();
    await owner.write(busy, 'two');
    // Of the actor that does not change, and of the other one.
    for (const hash of await world.stored())
      if (hash !== before[0]?.manifest.hash) await world.blobs.delete(hash);
    await expect(take()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await world.records()).toEqual(before);
    await take(true);
    expect(await world.records()).toHaveLength(2);
  });

  it('takes no file away from one that is kept', async () => {
    for (const key of ['two', 'three', 'four']) {
      await owner.write(busy, key);
      await take();
      const stored = await world.stored();
      expect([...(await named())].filter((hash) => !stored.has(hash))).toEqual([]);
    }
    expect(await world.records()).toHaveLength(2);
  });

  it('takes no file away that another member has stored again meanwhile', async () => {
    const first = await named();
    await owner.write(busy, 'two');
    await take();
    await owner.write(busy, 'three');
    const replace = world.index.replace.bind(world.index);
    world.index.replace = async (...options) => {
      const isReplaced = await replace(...options);
      for (const hash of first) {
        const pieces: Uint8Array[] = [];
        for await (const piece of await world.blobs.get(hash)) pieces.push(Buffer.from(piece));
        await world.blobs.put(pieces, { bytesMax: 1 << 20 });
      }
      return isReplaced;
    };
    await take();
    const stored = await world.stored();
    expect([...first].filter((hash) => !stored.has(hash))).toEqual([]);
  });

  it('is not announced when a stored part of it cannot be read', async () => {
    const before = await world.records();
    const put = world.blobs.put.bind(world.blobs);
    let puts = 0;
    world.blobs.put = async (...options) => {
      const stored = await put(...options);
      puts += 1;
      if (puts === 1) world.damage(stored.hash);
      return stored;
    };
    await owner.write(busy, 'two');
    await expect(take()).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    expect(await world.records()).toEqual(before);
  });

  it('is not taken of a copy that has another state than it was copied for', async () => {
    await owner.write(busy, 'two');
    const before = await world.records();
    const put = world.blobs.put.bind(world.blobs);
    const copy = (number: number): string => join(follower.folder, 'snapshot', String(number), COPY_FILE);
    let puts = 0;
    world.blobs.put = (...options) => {
      puts += 1;
      if (puts === 1) copyFileSync(copy(0), copy(1));
      return put(...options);
    };
    await expect(take(true)).rejects.toThrow(/reaches record \d+, but \d+ is expected/);
    expect(await world.records()).toEqual(before);
  });
});
