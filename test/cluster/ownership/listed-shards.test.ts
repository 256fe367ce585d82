import { cpSync, readFileSync, rmSync, truncateSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { cutPartition } from '#cluster/snapshot/partition-cut.ts';
import { CATALOGUE } from '#runtime/actor/catalogue/actor-catalogue.ts';
import type { ActorHost } from '#runtime/actor/host/actor-host.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import type { PartitionSide } from '#test/support/partition-side.ts';
import { hasRebuilt, PartitionSides } from '#test/support/partition-sides.ts';
import { until } from '#test/support/until.ts';

const first = actorId('acme', 'site~1', 'a', 'notes');
const second = actorId('acme', 'site~1', 'b', 'notes');

let sides: PartitionSides;

const side = (name: string): PartitionSide => sides.side(name);

/** A member that has two actors with two notes each, and has stopped. */
async function stopped(): Promise<PartitionSide> {
  const a = side('a');
  await a.member.own();
  for (const actor of [first, second]) {
    await a.host.create(actor);
    await a.write(actor, 'early');
  }
  await a.member.leave();
  cpSync(a.folder, join(sides.root, 'early'), { recursive: true });
  const again = side('a');
  await again.member.own();
  for (const actor of [first, second]) await again.write(actor, 'late');
  await again.member.leave();
  return again;
}

/** Whether a host has an actor, or says that it cannot tell. */
function isListed(host: ActorHost, actor: ActorId): boolean {
  try {
    return host.exists(actor);
  } catch (cause) {
    expect(cause).toMatchObject({ code: 'DATA_CORRUPTED' });
    return true;
  }
}

/** Everything is there again, in whatever it owns. */
async function expectWhole(each: PartitionSide): Promise<void> {
  expect(await each.member.own()).toBe(true);
  for (const actor of [first, second]) expect(await each.keys(actor)).toEqual(['early', 'late']);
}

beforeEach(() => {
  sides = new PartitionSides();
});

afterEach(() => sides.close());

describe('an actor that a member should have', () => {
  const damages: readonly [string, (a: PartitionSide) => void][] = [
    ['whose folder is gone', (a) => rmSync(dirname(a.pathOf(second)), { recursive: true })],
    ['whose file is gone', (a) => rmSync(a.pathOf(second))],
    ['whose file is empty', (a) => truncateSync(a.pathOf(second), 0)],
  ];

  it.each(damages)('%s is reported missing before any read of it, and rebuilt', async (_, damage) => {
    damage(await stopped());
    const again = side('a');
    await again.member.follow();
    await until(() => hasRebuilt(again), 'the loss is noticed');
    expect(again.member.damage.rebuilt).toContain(`${again.pathOf(second)} is `);
    await expectWhole(again);
  });

  it('whose file is an earlier copy is not served from it, but rebuilt', async () => {
    const a = await stopped();
    cpSync(a.pathOf(second).replace('/a/', '/early/'), a.pathOf(second));
    const again = side('a');
    expect(await again.member.own()).toBe(true);
    await expect(again.keys(second)).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
    await until(() => hasRebuilt(again) && again.member.owned === undefined, 'the loss is noticed');
    await expectWhole(again);
  });

  it('whose file has the same record number of another log is rebuilt', async () => {
    const a = await stopped();
    const others = new PartitionSides();
    const other = others.side('a');
    await other.member.own();
    for (const actor of [first, second]) await other.host.create(actor);
    while ((other.head(second)?.sequence ?? 0) < (a.head(second)?.sequence ?? 0)) {
      await other.write(second, 'of another log');
      await other.applied();
    }
    expect(other.head(second)?.sequence).toBe(a.head(second)?.sequence);
    cpSync(other.pathOf(second), a.pathOf(second));
    await others.close();
    const again = side('a');
    expect(await again.member.own()).toBe(true);
    await expect(again.keys(second)).rejects.toThrow(/another log record/);
    await until(() => hasRebuilt(again) && again.member.owned === undefined, 'it is noticed');
    await expectWhole(again);
  });

  it('is in no snapshot while it is lost', async () => {
    await stopped();
    const again = side('a');
    await again.member.own();
    rmSync(dirname(again.pathOf(second)), { recursive: true });
    const cut = cutPartition(again.member, {
      known: new Map(),
      least: 0,
      folder: join(sides.root, 'cut'),
      clock: systemClock,
      signal: new AbortController().signal,
    });
    await expect(cut).rejects.toMatchObject({ code: 'DATA_CORRUPTED' });
  });
});

describe('a catalogue of a partition', () => {
  const folderOf = (name: string): string => join(sides.root, name, 'actors', CATALOGUE);
  const damages: readonly [string, () => void][] = [
    ['is gone', () => rmSync(folderOf('a'), { recursive: true })],
    ['is empty', () => truncateSync(join(folderOf('a'), 'data.mdb'), 0)],
    ['is an earlier copy', () => cpSync(folderOf('early'), folderOf('a'), { recursive: true })],
  ];

  it.each(damages)('that %s causes a rebuild of everything', async (_, damage) => {
    await stopped();
    damage();
    const again = side('a');
    await again.member.follow();
    expect(hasRebuilt(again)).toBe(true);
    await expectWhole(again);
  });

  it('that is missing does not hide a log that lost its end: the position that shows it is kept', async () => {
    const a = side('a');
    await a.member.own();
    await a.member.leave();
    rmSync(folderOf('a'), { recursive: true });
    a.copyPositionTo('a', false);
    const position = readFileSync(join(a.folder, 'position.json'), 'utf8');
    sides.stream.messages.length = JSON.parse(position).sequence - 1;
    const again = side('a');
    await again.member.follow();
    expect([again.member.role, again.member.isResting]).toEqual(['idle', true]);
    expect(readFileSync(join(a.folder, 'position.json'), 'utf8')).toBe(position);
  });

  it('is made of what is there where there never was one', async () => {
    const a = await stopped();
    rmSync(folderOf('a'), { recursive: true });
    a.copyPositionTo('a', false);
    const again = side('a');
    await expectWhole(again);
    expect(hasRebuilt(again)).toBe(false);
    await again.member.leave();
    rmSync(dirname(a.pathOf(second)), { recursive: true });
    const after = side('a');
    await after.member.follow();
    await until(() => hasRebuilt(after), 'the loss is noticed');
  });

  it('is named with the position at once where it was made of what is there', async () => {
    const a = await stopped();
    rmSync(folderOf('a'), { recursive: true });
    a.copyPositionTo('a', false);
    const again = side('a');
    await again.member.follow();
    // What a killed process leaves, of which an actor is lost then.
    again.copyTo('b');
    again.copyPositionTo('b');
    const after = side('b');
    rmSync(dirname(after.pathOf(second)), { recursive: true });
    await after.member.follow();
    await until(() => hasRebuilt(after), 'the loss is noticed');
    await expectWhole(after);
  });

  const losses: readonly [string, (a: PartitionSide) => string][] = [
    ['is removed', () => folderOf('a')],
    ['is removed with all actors', (a) => join(a.folder, 'actors')],
    ['is removed with all of the partition', (a) => a.folder],
  ];

  it.each(losses)(
    'that %s under an owner is reported missing, and no actor is treated as removed',
    async (_, pathOf) => {
      await stopped();
      const again = side('a');
      expect(await again.member.own()).toBe(true);
      const { host } = again;
      rmSync(pathOf(again), { recursive: true });
      // What is stored of it must not begin another one.
      void again.write(first, 'lost').catch(() => undefined);
      await until(() => {
        if (again.member.owned !== undefined) expect(isListed(host, second)).toBe(true);
        return hasRebuilt(again) && again.member.owned === undefined;
      }, 'the loss is noticed');
      await until(() => again.member.role === 'following', 'everything is made anew');
      expect(await again.member.own()).toBe(true);
      expect(await again.keys(second)).toEqual(['early', 'late']);
      expect((await again.keys(first)).slice(0, 2)).toEqual(['early', 'late']);
    },
  );

  it.each(losses)('that %s under a follower is missed though nothing is written', async (_, pathOf) => {
    await stopped();
    const again = side('a');
    await again.member.follow();
    rmSync(pathOf(again), { recursive: true });
    await until(() => hasRebuilt(again), 'the loss is noticed');
    await until(() => again.member.role === 'following', 'everything is made anew');
    await expectWhole(again);
  });

  it('does not report actors as missing that were removed, nor removals before an actor of that name was created', async () => {
    const a = await stopped();
    const again = side('a');
    await again.member.own();
    await again.host.destroyUnder(first);
    await again.host.destroyUnder(second);
    await again.host.create(second);
    await again.member.leave();
    const after = side('a');
    expect(await after.member.own()).toBe(true);
    expect([after.host.exists(first), await after.keys(second)]).toEqual([false, []]);
    expect([hasRebuilt(again), hasRebuilt(after), a.head(second)?.sequence]).toEqual([false, false, 0]);
  });
});
