import { rmSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { SnapshotRecord } from '#cluster/snapshot/snapshot-manifest.ts';
import { readManifest } from '#cluster/snapshot/stored-manifest.ts';
import { truncateLog, keysOf, one, pathOf, two } from '#test/support/truncated-partition.ts';
import { type SnapshotSide, SnapshotWorld, until } from '#test/support/snapshot-world.ts';

let world: SnapshotWorld;

beforeEach(async () => {
  world = await SnapshotWorld.open();
});

afterEach(() => world.close());

describe('a damaged actor of which a snapshot is stored that cannot be brought', () => {
  /** `b` damaged, and the snapshot: some of it cannot be had until what is returned is called. */
  async function unreachable(): Promise<{ b: SnapshotSide; asked: string[]; last: string; end: () => void }> {
    await truncateLog(world);
    const [a, b] = [world.side('a'), world.side('b')];
    await a.member.own();
    let record: SnapshotRecord | undefined;
    await until(async () => {
      record = await a.snapshot();
      return record !== undefined;
    }, 'a snapshot is taken');
    await a.member.leave();
    const { actors } = await readManifest(world.blobs, record as SnapshotRecord);
    const last = actors.at(-1)?.hash as string;
    const asked: string[] = [];
    const { get } = world.blobs;
    let isReachable = false;
    world.blobs.get = (hash, ...rest) => {
      asked.push(hash);
      if (hash === last && !isReachable) return Promise.reject(new ServiceError('LOG_UNAVAILABLE'));
      return get.call(world.blobs, hash, ...rest);
    };
    rmSync(pathOf(b, two));
    const end = (): void => {
      isReachable = true;
    };
    return { b, asked, last, end };
  }

  it('is refused alone, and the others are served by an owner that is not taken down, until it is brought [CLU-046]', async () => {
    const { asked, b, end, last } = await unreachable();
    await b.caughtUp();
    await until(() => b.member.damage.contained !== undefined, 'the loss is noticed');
    expect(await b.member.own()).toBe(true);
    b.roles.length = 0;
    const times = (): number => asked.filter((hash) => hash === last).length;
    await until(() => times() >= 2, 'it is tried again');
    expect([b.roles, b.member.role]).toEqual([[], 'owning']);
    await b.write(one, 'late');
    end();
    await until(() => b.member.damage.rebuilt !== undefined, 'it is brought');
    // All but the manifest and the last one were brought by the first attempt.
    const others = new Set(asked.filter((hash) => hash !== last));
    expect(asked.filter((hash) => hash !== last)).toHaveLength(others.size + times() - 1);
    expect(await b.member.own()).toBe(true);
    expect([await keysOf(b, one), await keysOf(b, two)]).toEqual([['early', 'late'], ['early']]);
  });

  it('gives back the room of what was brought when the volume becomes short of it', async () => {
    const { b } = await unreachable();
    await b.caughtUp();
    await until(() => b.told('unusable').length > 0, 'some of it is brought');
    expect(b.files).toContain('restore');
    b.isPressed = true;
    await until(() => !b.files.includes('restore'), 'it is deleted');
  });

  it('is brought no further when the volume becomes short of room', async () => {
    const { b, last } = await unreachable();
    const { get } = world.blobs;
    world.blobs.get = (hash, ...rest) => {
      b.isPressed = hash !== last;
      return get.call(world.blobs, hash, ...rest);
    };
    await b.caughtUp();
    await until(() => b.told('unusable').length > 0, 'it is given up');
    expect(b.told('unusable')).toMatchObject([{ cause: { code: 'STORAGE_FULL' } }]);
    expect(b.files).not.toContain('restore');
    await b.member.leave();
  });
});
