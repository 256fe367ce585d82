import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readManifest, storedBytes } from '#cluster/snapshot/stored-manifest.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { PARTITION, type SnapshotSide, SnapshotWorld, until } from '#test/support/snapshot-world.ts';

const actorOf = (name: string): string => actorId('acme', 'site~1', name, 'notes');
const [one, two, three] = ['one', 'two', 'three'].map(actorOf) as [string, string, string];

let world: SnapshotWorld;

beforeEach(async () => {
  world = await SnapshotWorld.open();
});

afterEach(() => world.close());

/** A member that owns the partition with some actors in it, and one that follows. */
async function ownerAndFollower(): Promise<readonly [SnapshotSide, SnapshotSide]> {
  const [owner, follower] = [world.side('a'), world.side('b')];
  await owner.member.own();
  for (const actor of [one, two, three]) {
    await owner.host.create(actor);
    for (let number = 0; number < 20; number += 1) await owner.write(actor, `k${number}`);
  }
  await follower.caughtUp();
  return [owner, follower];
}

/** Takes a snapshot, as soon as what was written is in the shards. */
async function taken(side: SnapshotSide): Promise<void> {
  await until(async () => (await side.snapshot()) !== undefined, 'it takes a snapshot');
}

/** Compares everything several members have, once they have everything. */
async function expectSame(...sides: readonly SnapshotSide[]): Promise<void> {
  for (const side of sides) if (side.member.owned === undefined) await side.caughtUp();
  for (const side of sides) await side.member.leave();
  const [first, ...others] = await Promise.all(sides.map((side) => side.rows()));
  for (const rows of others) expect(rows).toEqual(first);
}

describe('a snapshot of a partition', () => {
  it('and the log behind it give a new member what everybody has, also when what came before is gone', async () => {
    const [owner, follower] = await ownerAndFollower();
    const record = await follower.snapshot();
    expect(record).toMatchObject({ partition: PARTITION, member: 'b', actors: 3 });
    await owner.write(one, 'later');
    await owner.host.destroyUnder(two);
    await owner.host.fork(one, actorOf('fork'));
    await owner.write(actorOf('fork'), 'own');
    await world.stream.link().truncate(record?.position.sequence as number);
    const fresh = world.side('c');
    await fresh.caughtUp();
    expect(fresh.told('restored')).toMatchObject([{ sequence: record?.position.sequence, actors: 3 }]);
    await expectSame(owner, follower, fresh);
    expect(Object.keys(await fresh.rows())).toEqual([actorOf('fork'), one, three].sort());
    expect(fresh.files).toEqual(['actors', 'position.json']);
  });

  it('is taken while the owner writes, forks and removes, from the owner as well as from a follower', async () => {
    const [owner, follower] = await ownerAndFollower();
    let isWriting = true;
    const writing = (async () => {
      for (let round = 0; isWriting; round += 1) {
        await Promise.all([one, three].map((actor) => owner.write(actor, `w${round % 50}`, String(round))));
        // A fork that was removed just before must not come back, and one that is made now must be what it was.
        const fork = actorOf(`r${round}`);
        await owner.host.fork(round % 2 === 0 ? one : three, fork);
        await Promise.all([owner.write(one, `after${round}`), owner.write(fork, 'own')]);
        if (round >= 3) await owner.host.destroyUnder(actorOf(`r${round - 3}`));
        await new Promise((resolve) => setTimeout(resolve, 25));
      }
    })();
    const fresh: SnapshotSide[] = [];
    try {
      for (let round = 0; round < 3; round += 1) {
        await taken(round % 2 === 0 ? owner : follower);
        const [, older] = await world.records();
        if (older !== undefined) await world.stream.link().truncate(older.position.sequence);
        fresh.push(world.side(`c${round}`));
        await fresh.at(-1)?.member.follow();
      }
    } finally {
      isWriting = false;
      await writing;
    }
    for (const side of fresh) expect(side.told('restored')).toHaveLength(1);
    await expectSame(owner, follower, ...fresh);
  }, 120_000);

  it('has a fork that was made before its source was copied, and of what came behind it', async () => {
    const [owner, follower] = await ownerAndFollower();
    const [late, fork] = [actorOf('late'), actorOf('late-fork')];
    let looks = 0;
    /** Shows the owner an actor at the second look, and lets that be forked before it is copied. */
    const look = async (list: () => Promise<readonly string[]>): Promise<readonly string[]> => {
      looks += 1;
      if (looks === 2) {
        await owner.host.create(late);
        await owner.write(late, 'before');
      }
      const ids = await list();
      if (looks === 2) {
        await owner.host.fork(late, fork);
        await owner.write(late, 'behind');
        await owner.write(fork, 'own');
      }
      return ids;
    };
    await until(() => owner.host.pendingBytes === 0, 'all is in the shards');
    const record = await owner.snapshot(false, look);
    expect([looks, record?.actors]).toEqual([2, 5]);
    await world.stream.link().truncate(record?.position.sequence as number);
    const fresh = world.side('c');
    await fresh.caughtUp();
    await expectSame(owner, follower, fresh);
    // It is what the source was then.
    expect(JSON.stringify((await fresh.rows())[fork])).not.toContain(Buffer.from('behind').toString('hex'));
  });

  it('stores only what has changed, also after a snapshot of another member', async () => {
    const [owner, follower] = await ownerAndFollower();
    await follower.snapshot();
    const before = await world.stored();
    expect(before.size).toBe(4);
    await owner.write(two, 'more');
    await follower.caughtUp();
    await taken(owner);
    const [again] = await world.records();
    expect((await world.stored()).size).toBe(before.size + 2);
    expect(owner.told('taken')[0]?.storedBytes).toBeLessThan((again?.bytes as number) / 2);
    // Without a change it is one manifest more, and what only the first one named is gone.
    await follower.snapshot();
    expect((await world.stored()).size).toBe(before.size + 1);
    expect(follower.told('taken').at(-1)?.storedBytes).toBe(0);
  });

  it('is one of two: what neither names is removed, and all they name is there', async () => {
    const [owner, follower] = await ownerAndFollower();
    for (let round = 0; round < 5; round += 1) {
      await owner.write(round % 2 === 0 ? one : two, `round${round}`);
      if (round === 3) await owner.host.destroyUnder(three);
      await follower.caughtUp();
      await follower.snapshot();
      const records = await world.records();
      expect(records.length).toBe(Math.min(2, round + 1));
      const named = await Promise.all(records.map((record) => storedBytes(world.blobs, record)));
      expect(await world.stored()).toEqual(new Set(named.flat()));
    }
  });

  it('does not count when another one was announced first', async () => {
    const [owner, follower] = await ownerAndFollower();
    const both = await Promise.all([owner.snapshot(), follower.snapshot()]);
    const counting = both.filter((record) => record !== undefined);
    expect(counting).toHaveLength(1);
    expect(await world.records()).toEqual(counting);
    for (const hash of await storedBytes(world.blobs, counting[0] as NonNullable<(typeof both)[0]>))
      expect(await world.blobs.info(hash)).toBeDefined();
  });

  it('leaves no copies behind', async () => {
    const [, follower] = await ownerAndFollower();
    await follower.snapshot();
    expect(follower.files).not.toContain('snapshot');
  });
});

describe('a damaged snapshot', () => {
  it('is reported and never used: the previous one is, with more of the log [CLU-010]', async () => {
    const [owner, follower] = await ownerAndFollower();
    const first = await follower.snapshot();
    await owner.write(one, 'between');
    await follower.caughtUp();
    const second = await follower.snapshot();
    await owner.write(two, 'behind');
    const changed = (await readManifest(world.blobs, second as NonNullable<typeof second>)).actors.find(
      ({ id }) => id === one,
    );
    world.damage(changed?.hash as string);
    await world.stream.link().truncate(first?.position.sequence as number);
    const fresh = world.side('c');
    await fresh.caughtUp();
    expect(fresh.told('unusable')).toMatchObject([
      { sequence: second?.position.sequence, cause: { code: 'DATA_CORRUPTED' } },
    ]);
    expect(fresh.told('restored')).toMatchObject([{ sequence: first?.position.sequence }]);
    await expectSame(owner, follower, fresh);
  });

  it('with no other one is waited out: a whole new one is asked for, and heals what is stored', async () => {
    const [owner, follower] = await ownerAndFollower();
    await follower.snapshot();
    for (const hash of await world.stored()) world.damage(hash);
    await world.stream.link().truncate(world.stream.messages.length);
    const fresh = world.side('c');
    const following = fresh.member.follow();
    await until(() => fresh.requests.length > 0, 'it asks for a snapshot');
    expect([fresh.requests[0], fresh.told('restored'), fresh.member.role]).toEqual([true, [], 'idle']);
    expect(await fresh.store.all()).toEqual([]);
    // The shards have not changed, so the very same files are stored.
    await follower.snapshot(true);
    await following;
    await owner.write(one, 'later');
    expect(fresh.told('restored')).toHaveLength(1);
    await expectSame(owner, follower, fresh);
  });

  it('leaves the existing data of a member unchanged, and can be cancelled', async () => {
    const [owner, follower] = await ownerAndFollower();
    const late = world.side('c');
    await late.caughtUp();
    await late.member.leave();
    const had = await late.rows();
    await owner.write(one, 'later');
    await follower.caughtUp();
    await follower.snapshot();
    for (const hash of await world.stored()) world.damage(hash);
    await world.stream.link().truncate(world.stream.messages.length);
    const again = world.side('c');
    const following = again.member.follow();
    await until(() => again.requests.length > 0, 'it asks for a snapshot');
    await again.member.leave();
    await following;
    expect(again.member.role).toBe('idle');
    expect(await again.rows()).toEqual(had);
  });
});

describe('a member whose log was cut', () => {
  it('starts from a snapshot when it comes back, and no longer has what was removed meanwhile', async () => {
    const [owner, follower] = await ownerAndFollower();
    const late = world.side('c');
    await late.caughtUp();
    await late.member.leave();
    await owner.host.destroyUnder(two);
    await owner.write(one, 'later');
    await follower.caughtUp();
    const record = await follower.snapshot();
    await world.stream.link().truncate(record?.position.sequence as number);
    const again = world.side('c');
    await again.caughtUp();
    expect(again.told('restored')).toHaveLength(1);
    await expectSame(owner, follower, again);
    expect(await again.store.all()).toEqual([one, three].sort());
  });

  it('while it follows begins with a snapshot at once', async () => {
    const [owner, follower] = await ownerAndFollower();
    const slow = world.side('c');
    await slow.caughtUp();
    slow.link.isConnected = false;
    await owner.write(one, 'unheard');
    // What a consumer was given stays given; it finds out when it begins anew.
    await owner.write(one, 'later');
    await follower.caughtUp();
    const record = await follower.snapshot();
    await world.stream.link().truncate(record?.position.sequence as number);
    await owner.write(one, 'behind');
    slow.link.isConnected = true;
    await until(() => slow.told('restored').length > 0, 'it begins with a snapshot');
    await expectSame(owner, follower, slow);
  });

  it('opens the partition once it has begun with a snapshot', async () => {
    const [owner, follower] = await ownerAndFollower();
    const record = await follower.snapshot();
    await world.stream.link().truncate(record?.position.sequence as number);
    await owner.write(one, 'behind');
    await owner.member.leave();
    await follower.member.leave();
    const fresh = world.side('c');
    expect(await fresh.member.own()).toBe(true);
    await fresh.write(one, 'new owner');
    await expectSame(fresh, follower);
  });

  it('resumes at its position when the log still has it, without a snapshot', async () => {
    const [owner, follower] = await ownerAndFollower();
    const late = world.side('c');
    await late.caughtUp();
    await late.member.leave();
    const { storedSequence } = late.member;
    await owner.write(one, 'later');
    await follower.caughtUp();
    await follower.snapshot();
    await world.stream.link().truncate(storedSequence);
    const again = world.side('c');
    await again.caughtUp();
    expect(again.events).toEqual([]);
    await expectSame(owner, follower, again);
  });
});

describe('what a process left that died while it began with a snapshot', () => {
  it('is discarded, and the start begins again', async () => {
    const [owner, follower] = await ownerAndFollower();
    const record = await follower.snapshot();
    await world.stream.link().truncate(record?.position.sequence as number);
    const died = world.side('c');
    await died.caughtUp();
    await died.member.leave();
    // As it is right after one folder took the place of the other: no position yet, and the work folder.
    rmSync(join(died.folder, 'position.json'));
    mkdirSync(join(died.folder, 'restore', 'actors'), { recursive: true });
    writeFileSync(join(died.folder, 'restore', 'actors', 'x'), 'half');
    const again = world.side('c');
    await again.caughtUp();
    expect(again.files).toEqual(['actors', 'position.json']);
    await again.member.leave();
    // As it is between the two: nothing is in the place of the actors.
    renameSync(join(again.folder, 'actors'), join(again.folder, 'replaced'));
    rmSync(join(again.folder, 'position.json'));
    const third = world.side('c');
    await third.caughtUp();
    expect(third.told('restored')).toHaveLength(1);
    await expectSame(owner, follower, third);
  });
});
