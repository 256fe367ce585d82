import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { truncateLog, keysOf, one, pathOf, two } from '#test/support/truncated-partition.ts';
import { type SnapshotSide, SnapshotWorld, until } from '#test/support/snapshot-world.ts';

let world: SnapshotWorld;

beforeEach(async () => {
  world = await SnapshotWorld.open();
});

afterEach(() => world.close());

/** What a member knows of where it stands, to be put back when it is stopped. */
function keep({ folder }: SnapshotSide, name: string): () => void {
  const kept = join(world.root, 'kept', name);
  const path = join(folder, name);
  cpSync(path, kept, { recursive: true });
  return () => {
    rmSync(path, { recursive: true });
    cpSync(kept, path, { recursive: true });
  };
}

/** Judged what it has: everything that was in the log when it started was read. */
const judged = (side: SnapshotSide): Promise<void> =>
  until(() => !side.member.damage.isReading, 'what it has is judged');

const make: Record<string, (side: SnapshotSide) => Promise<void>> = {
  made: async (side) => {
    await side.host.create(two);
    await side.write(two, 'own');
  },
  forked: async (side) => {
    await side.host.fork(one, two);
    await side.write(two, 'own');
  },
};

describe.each(['made', 'forked'])(
  'an actor that was %s and whose folder was removed before its row',
  (how) => {
    /** @param isOld whether the position that is known lies before what made the actor */
    async function killed(isOld: boolean, isCut: boolean): Promise<void> {
      const a = world.side('a');
      await a.member.own();
      await a.host.create(one);
      await a.write(one, 'early');
      if (!isOld) await make[how]?.(a);
      await a.member.leave();
      const restorePosition = keep(a, 'position.json');
      const { sequence } = JSON.parse(readFileSync(join(a.folder, 'position.json'), 'utf8'));
      const b = world.side('a');
      await b.member.own();
      if (isOld) await make[how]?.(b);
      await b.write(two, 'more');
      await b.write(one, 'late');
      await b.member.leave();
      const restoreCatalogue = keep(b, 'actors/.catalogue');
      const c = world.side('a');
      await c.member.own();
      await c.host.destroyUnder(two);
      await c.member.leave();
      restoreCatalogue();
      restorePosition();
      if (isCut) await world.stream.link().truncate(sequence);
    }

    it.each([
      [true, false],
      [true, true],
      [false, false],
      [false, true],
    ])(
      'is no damage to a start that reads of its removal (made behind the position: %s, log cut: %s)',
      async (isOld, isCut) => {
        await killed(isOld, isCut);
        const a = world.side('a');
        await a.caughtUp();
        await judged(a);
        expect([a.member.role, a.member.damage.rebuilt, a.member.damage.contained]).toEqual([
          'following',
          undefined,
          undefined,
        ]);
        expect([a.store.refused.size, a.store.exists(two), a.requests]).toEqual([0, false, []]);
        expect(await a.member.own()).toBe(true);
        await a.write(one, 'after');
        await a.host.create(two);
        await a.write(two, 'new');
      },
    );

    it('is no damage to a start that opens the partition at once', async () => {
      await killed(true, true);
      const a = world.side('a');
      expect(await a.member.own()).toBe(true);
      await judged(a);
      expect([a.member.damage.rebuilt, a.member.damage.contained]).toEqual([undefined, undefined]);
      expect([a.host.exists(one), a.host.exists(two)]).toEqual([true, false]);
    });
  },
);

describe('an actor that lacks its file and was not removed', () => {
  it('is missed by a member that opens the partition at once', async () => {
    const a = world.side('a');
    await a.member.own();
    for (const actor of [one, two]) {
      await a.host.create(actor);
      await a.write(actor, 'early');
    }
    await a.member.leave();
    rmSync(pathOf(a, two));
    const again = world.side('a');
    expect(await again.member.own()).toBe(true);
    await until(() => again.member.damage.rebuilt !== undefined, 'it is made anew');
    await again.caughtUp();
    expect(again.member.damage.rebuilt).toContain('is missing');
    expect(await again.member.own()).toBe(true);
    expect(again.store.isMissing(two)).toBe(false);
  });
});

describe('an actor that lacks its file and has records behind the position', () => {
  it('keeps a member from owning the partition before it is rebuilt', async () => {
    const a = world.side('a');
    await a.member.own();
    await a.host.create(two);
    await a.member.leave();
    const restorePosition = keep(a, 'position.json');
    const b = world.side('a');
    await b.member.own();
    await b.write(two, 'early');
    await b.member.leave();
    restorePosition();
    rmSync(pathOf(a, two));
    const again = world.side('a');
    expect(await again.member.own()).toBe(false);
    await until(() => again.member.damage.rebuilt !== undefined, 'it is made anew');
    expect(await again.member.own()).toBe(true);
    expect(await keysOf(again, two)).toEqual(['early']);
  });
});

describe('damage that is contained', () => {
  it('is over when the damaged actors were removed [CLU-046]', async () => {
    await truncateLog(world);
    const [owner, follower] = [world.side('b'), world.side('a')];
    rmSync(pathOf(follower, two));
    await owner.member.own();
    await follower.caughtUp();
    await until(() => follower.member.damage.contained !== undefined, 'the loss is noticed');
    await owner.host.destroyUnder(two);
    await until(() => follower.member.damage.contained === undefined, 'it is over');
    await owner.write(one, 'late');
    await follower.caughtUp();
    expect([follower.store.refused.size, follower.member.damage.rebuilt]).toEqual([0, undefined]);
    expect(await follower.snapshot()).toBeDefined();
  });
});
