import { cpSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import { type FileSystem, realFileSystem } from '#runtime/base/files/file-system.ts';
import { armCrashPoint, type CrashPointName } from '#runtime/commit/crash-point.ts';
import { keysOf, one, pathOf } from '#test/support/truncated-partition.ts';
import { type SnapshotSide, SnapshotWorld, until } from '#test/support/snapshot-world.ts';

const foreign = actorId('beta', 'site~1', 'one', 'notes');

let world: SnapshotWorld;
let disarm: (() => void) | undefined;

/** A member with actors of two tenants, the log of which begins behind all of them, with a snapshot; one file is gone. */
beforeEach(async () => {
  world = await SnapshotWorld.open();
  const owner = world.side('a');
  await owner.member.own();
  for (const actor of [one, foreign]) {
    await owner.host.create(actor);
    await owner.write(actor, 'early');
  }
  await until(async () => (await owner.snapshot()) !== undefined, 'a snapshot is taken');
  await owner.member.leave();
  await world.stream.link().truncate(owner.member.storedSequence);
  rmSync(pathOf(owner, foreign));
});

afterEach(async () => {
  disarm?.();
  disarm = undefined;
  await world.close();
});

/** What a process that dies at a place leaves, as another member; the one that goes on is done with it. */
async function diedAt(point: CrashPointName): Promise<SnapshotSide> {
  const before = world.side('a');
  let hasDied = false;
  disarm = armCrashPoint(point, 1, () => {
    hasDied = true;
    cpSync(before.folder, join(world.root, 'dead'), { recursive: true });
  });
  await before.member.follow();
  await until(() => hasDied, 'the snapshot is put in place');
  await before.member.leave();
  return world.side('dead');
}

describe('a snapshot that takes the place of damaged shards', () => {
  it.each(['mid-snapshot-adopt', 'after-snapshot-adopt'] as const)(
    'is in its place after a process that died at %s, without the servers [DUR-024]',
    async (point) => {
      const again = await diedAt(point);
      // Nothing is brought once more.
      for (const hash of await world.stored()) world.damage(hash);
      expect(await again.member.own()).toBe(true);
      expect([await keysOf(again, one), await keysOf(again, foreign)]).toEqual([['early'], ['early']]);
      expect(again.told('swap-finished')).toHaveLength(1);
      expect(again.told('restored')).toEqual([]);
      expect([again.store.refused.size, again.member.damage.rebuilt]).toEqual([0, undefined]);
      expect(again.kept).toEqual(['damaged', 'damaged']);
      expect(again.files).toEqual(['actors', 'position.json']);
    },
  );

  it.each([1, 2])('changes nothing when rename %d of it fails', async (failing) => {
    let renames = 0;
    const rename: FileSystem['rename'] = async (from, to) => {
      // The record is made with one more.
      const isSwap = !to.endsWith('.swap.json');
      if (isSwap) renames += 1;
      if (isSwap && renames === failing) throw Object.assign(new Error('i/o error'), { code: 'EIO' });
      await realFileSystem.rename(from, to);
    };
    const a = world.side('a', { ...realFileSystem, rename });
    await a.member.follow();
    await until(() => a.told('unusable').length > 0, 'it fails');
    await until(() => a.member.damage.contained !== undefined && a.member.role === 'following', 'it goes on');
    expect(await a.member.own()).toBe(true);
    expect(await keysOf(a, one)).toEqual(['early']);
    expect([...a.store.refused.keys()]).toEqual([foreign]);
    expect(a.kept).toEqual([]);
    expect(existsSync(join(a.folder, 'actors/.swap.json'))).toBe(false);
  });

  it('is put in its place by the next start where not even the undoing works', async () => {
    let isBroken = true;
    const rename: FileSystem['rename'] = async (from, to) => {
      if (isBroken && to === join(world.root, 'a/actors'))
        throw Object.assign(new Error('i/o error'), { code: 'EIO' });
      await realFileSystem.rename(from, to);
    };
    const a = world.side('a', { ...realFileSystem, rename });
    await a.member.follow();
    await until(() => a.member.isResting, 'it is left alone');
    expect(a.files).not.toContain('actors');
    // Nothing is tried instead.
    expect(a.told('unusable')).toEqual([]);
    await a.member.leave();
    isBroken = false;
    const again = world.side('a');
    expect(await again.member.own()).toBe(true);
    expect([await keysOf(again, one), await keysOf(again, foreign)]).toEqual([['early'], ['early']]);
    expect(again.kept).toEqual(['damaged', 'damaged']);
  });

  it('reports which record is damaged, and uses none of it', async () => {
    const again = await diedAt('after-snapshot-adopt');
    const path = join(again.folder, 'actors/.swap.json');
    writeFileSync(path, '{"format":1}');
    await expect(again.member.follow()).rejects.toThrow(`${path} is damaged`);
    expect(again.member.role).toBe('idle');
  });
});
