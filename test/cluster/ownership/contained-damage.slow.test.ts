import { cpSync, existsSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { actorOf, truncateLog, keysOf, one, pathOf, three, two } from '#test/support/truncated-partition.ts';
import { type SnapshotSide, SnapshotWorld, until } from '#test/support/snapshot-world.ts';

let world: SnapshotWorld;

beforeEach(async () => {
  world = await SnapshotWorld.open();
});

afterEach(() => world.close());

const damages: readonly [string, (path: string) => void][] = [
  ['missing', (path) => rmSync(path)],
  ['without its folder', (path) => rmSync(dirname(path), { recursive: true })],
  ['empty', (path) => truncateSync(path, 0)],
  ['cut', (path) => truncateSync(path, 8192)],
];

describe('a damaged actor of a partition whose log was cut, without a snapshot', () => {
  it.each(damages)('that is %s is refused alone by an owner, and nothing is set aside', async (_, damage) => {
    await truncateLog(world);
    const a = world.side('a');
    damage(pathOf(a, two));
    expect(await a.member.own()).toBe(true);
    await a.member.startOver(await Promise.resolve(keysOf(a, two)).catch((cause: unknown) => cause));
    await until(() => a.member.owned !== undefined || a.member.role === 'following', 'it goes on');
    expect(await a.member.own()).toBe(true);
    await a.write(one, 'late');
    expect(await keysOf(a, one)).toEqual(['early', 'late']);
    expect(await keysOf(a, three)).toEqual(['early']);
    await expect(keysOf(a, two)).rejects.toThrow(pathOf(a, two));
    await expect(a.write(two, 'late')).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    expect(a.member.damage.contained).toContain(pathOf(a, two));
    expect([...a.host.stoppedActors].map(({ actor }) => actor)).toEqual([two]);
    expect(a.kept).toEqual([]);
  });

  it('is refused alone by a follower, lacks what was written meanwhile, and heals from a snapshot of another member [CLU-046]', async () => {
    await truncateLog(world);
    const [a, b] = [world.side('a'), world.side('b')];
    const whole = pathOf(a, two).replace('/a/', '/kept/');
    cpSync(pathOf(a, two), whole, { recursive: true });
    rmSync(pathOf(a, two));
    await b.member.own();
    await a.caughtUp();
    await until(() => a.member.damage.contained !== undefined, 'the loss is noticed');
    expect([...a.store.refused.keys()]).toEqual([two]);
    await b.write(two, 'late');
    await b.write(one, 'late');
    await b.host.fork(two, actorOf('fork'));
    await b.write(actorOf('fork'), 'own');
    await a.caughtUp();
    await expect(a.snapshot()).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    await a.member.leave();
    // Brought back as it was, it lacks what came meanwhile.
    cpSync(whole, pathOf(a, two));
    const again = world.side('a');
    await again.caughtUp();
    const { damage } = again.member;
    const isContained = (): boolean => damage.contained !== undefined && again.member.role === 'following';
    await until(() => isContained() && !damage.isReading, 'the fork is missed');
    expect([...again.store.refused.keys()]).toContain(actorOf('fork'));
    expect(() => again.store.open(two)).toThrow(/ends at log record \d+, but .* had everything up to/);
    expect(again.kept).toEqual([]);
    await until(() => again.requests.length > 0, 'the others are asked');
    await until(async () => (await b.snapshot()) !== undefined, 'the other one takes a snapshot');
    await until(() => again.member.damage.contained === undefined, 'it heals');
    await again.caughtUp();
    expect(again.store.refused.size).toBe(0);
    await again.member.leave();
    await b.member.leave();
    expect(await again.rows()).toEqual(await b.rows());
  });

  it('ends when the actor is removed, and one of that name that is made then is served', async () => {
    await truncateLog(world);
    const [a, b] = [world.side('a'), world.side('b')];
    rmSync(pathOf(a, two));
    await b.member.own();
    await a.caughtUp();
    await until(() => a.store.refused.size > 0, 'the loss is noticed');
    await b.host.destroyUnder(two);
    await b.host.create(two);
    await b.write(two, 'new');
    await a.caughtUp();
    expect(a.store.refused.size).toBe(0);
    await b.member.leave();
    expect(await a.member.own()).toBe(true);
    expect(await keysOf(a, two)).toEqual(['new']);
  });

  it('is rebuilt at once from a snapshot, which is fetched before anything is removed', async () => {
    await truncateLog(world);
    const [a, b] = [world.side('a'), world.side('b')];
    await b.member.own();
    await until(async () => (await b.snapshot()) !== undefined, 'a snapshot is taken');
    rmSync(pathOf(a, two));
    await a.caughtUp();
    await until(() => a.member.damage.rebuilt !== undefined, 'it is made anew');
    await a.caughtUp();
    expect([a.member.damage.contained, a.told('restored').length]).toEqual([undefined, 1]);
    await b.member.leave();
    expect(await a.member.own()).toBe(true);
    expect(await keysOf(a, two)).toEqual(['early']);
  });
});

describe('a damaged actor on a volume that is short of room', () => {
  it('is refused alone although the log has everything, and is rebuilt when there is room [CLU-046]', async () => {
    const a = world.side('a');
    await a.member.own();
    for (const actor of [one, two]) {
      await a.host.create(actor);
      await a.write(actor, 'early');
    }
    a.isPressed = true;
    await a.member.startOver(new ServiceError('DATA_CORRUPTED', `${pathOf(a, two)} is damaged`));
    expect([a.member.role, a.kept]).toEqual(['following', []]);
    expect(a.member.damage.contained).toContain(pathOf(a, two));
    a.isPressed = false;
    await until(() => a.kept.length === 1, 'it is put away');
    expect(await a.member.own()).toBe(true);
    expect(await keysOf(a, two)).toEqual(['early']);
  }, 20_000);
});

describe('a volume that runs short of room while damaged shards of several tenants are set aside', () => {
  const foreign = actorId('beta', 'site~1', 'one', 'notes');

  it.each([
    ['the log has everything', false],
    ['a snapshot has', true],
  ])(
    'leaves all of them in place when %s [CLU-046]',
    async (_, isCut) => {
      const before = world.side('a');
      await before.member.own();
      for (const actor of [one, foreign]) {
        await before.host.create(actor);
        await before.write(actor, 'early');
      }
      await until(async () => (await before.snapshot()) !== undefined, 'a snapshot is taken');
      await before.member.leave();
      if (isCut) await world.stream.link().truncate(before.member.storedSequence);
      const a = world.side('a');
      // Room is looked for before, and is gone when it is wanted.
      const { canKeepDamaged } = a.store.folders;
      expect(canKeepDamaged).toBe(true);
      Object.defineProperty(a.store.folders, 'canKeepDamaged', { value: true });
      a.isPressed = true;
      rmSync(pathOf(a, foreign));
      await a.member.follow();
      await until(() => a.member.damage.contained !== undefined, 'it is contained');
      expect(await a.member.own()).toBe(true);
      expect(await keysOf(a, one)).toEqual(['early']);
      expect([a.kept, [...a.store.refused.keys()]]).toEqual([[], [foreign]]);
      expect(JSON.parse(readFileSync(join(a.folder, 'position.json'), 'utf8')).catalogue).toBeDefined();
      a.isPressed = false;
      await until(() => a.member.damage.rebuilt !== undefined, 'there is room');
      expect(await a.member.own()).toBe(true);
      expect([await keysOf(a, one), await keysOf(a, foreign)]).toEqual([['early'], ['early']]);
    },
    30_000,
  );
});

describe('a catalogue that is gone where the log was cut, without a snapshot', () => {
  it('has the partition refused on this member, and nothing set aside', async () => {
    await truncateLog(world);
    const a = world.side('a');
    rmSync(join(a.folder, 'actors', '.catalogue'), { recursive: true });
    expect(await a.member.own()).toBe(false);
    expect(a.member.trouble).toContain('the catalogue of the actors of a partition is missing');
    expect(a.member.isResting).toBe(true);
    expect(existsSync(pathOf(a, two))).toBe(true);
    expect(a.files).toContain('position.json');
  });
});

describe('a catalogue with a damaged page, over which LMDB would end the process', () => {
  /** Fills a page of the actors that are listed with something else. */
  function damageRows(side: SnapshotSide): string {
    const path = join(side.folder, 'actors', '.catalogue', 'data.mdb');
    const bytes = readFileSync(path);
    let damaged = 0;
    for (let at = bytes.indexOf(two); at >= 0; at = bytes.indexOf(two, at + 1)) {
      // The length of its row.
      bytes[at - 6] = 0xff;
      damaged += 1;
    }
    expect(damaged).toBeGreaterThan(0);
    writeFileSync(path, bytes);
    return path;
  }

  it('is found before it is opened, and rebuilt when the log has everything', async () => {
    const a = world.side('a');
    await a.member.own();
    for (const actor of [one, two]) {
      await a.host.create(actor);
      await a.write(actor, 'early');
    }
    await a.member.leave();
    const again = world.side('a');
    const path = damageRows(again);
    expect(await again.member.own()).toBe(true);
    expect(again.member.damage.rebuilt).toContain(`is damaged (${path}: actors: page`);
    expect([await keysOf(again, one), await keysOf(again, two)]).toEqual([['early'], ['early']]);
  });

  it('has the partition refused on this member when no other source has all of it, and nothing set aside', async () => {
    await truncateLog(world);
    const a = world.side('a');
    const path = damageRows(a);
    const damaged = readFileSync(path);
    expect(await a.member.own()).toBe(false);
    expect(a.member.trouble).toContain(`is damaged (${path}: actors: page`);
    expect(a.kept).toEqual([]);
    expect(readFileSync(path).equals(damaged)).toBe(true);
  });
});

describe('a position that names no catalogue', () => {
  /** As a version before catalogues stored it, or a process that died behind a snapshot. */
  async function unnamed(facts: object): Promise<SnapshotSide> {
    const a = world.side('a');
    const path = join(a.folder, 'position.json');
    const { catalogue: _, ...position } = JSON.parse(readFileSync(path, 'utf8'));
    writeFileSync(path, JSON.stringify({ ...position, ...facts }));
    rmSync(join(a.folder, 'actors', '.catalogue'), { recursive: true });
    return a;
  }

  it.each([
    ['and every actor is gone', {}, [one, two, three]],
    ['and says that there were more actors', { actors: 3 }, [two]],
  ])('%s is not treated as empty when the log was truncated', async (_, facts, gone) => {
    await truncateLog(world);
    const a = await unnamed(facts);
    for (const actor of gone) rmSync(dirname(pathOf(a, actor)), { recursive: true });
    expect(await a.member.own()).toBe(false);
    expect(a.member.trouble).toContain('actors');
    expect(a.files).toContain('position.json');
  });

  it('reports how many actors there are behind a snapshot, until they are listed', async () => {
    await truncateLog(world);
    const [a, b] = [world.side('a'), world.side('b')];
    await b.member.own();
    await until(async () => (await b.snapshot()) !== undefined, 'a snapshot is taken');
    rmSync(a.folder, { recursive: true });
    // As a disk that fails behind the snapshot.
    const { replaced } = a.store;
    a.store.replaced = () => {
      replaced.call(a.store);
      a.store.openCatalogue = () => {
        throw Object.assign(new Error('i/o error'), { code: 'EIO' });
      };
    };
    await a.member.follow();
    expect(a.member.role).toBe('idle');
    const stored = JSON.parse(readFileSync(join(a.folder, 'position.json'), 'utf8'));
    expect([stored.actors, stored.catalogue]).toEqual([3, undefined]);
    const again = world.side('a');
    await again.caughtUp();
    const position = JSON.parse(readFileSync(join(a.folder, 'position.json'), 'utf8'));
    expect([position.actors, typeof position.catalogue]).toEqual([undefined, 'string']);
  });

  it('is rebuilt silently when the log has everything, and no other record names the actor', async () => {
    const a = world.side('a');
    await a.member.own();
    await a.host.create(one);
    await a.write(one, 'early');
    await a.member.leave();
    const again = await unnamed({});
    rmSync(dirname(pathOf(again, one)), { recursive: true });
    expect(await again.member.own()).toBe(true);
    expect(await keysOf(again, one)).toEqual(['early']);
    expect(again.member.damage.rebuilt).toBeUndefined();
  });
});
