import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Blobs } from '#runtime/blobs/ports.ts';
import { truncateLog, keysOf, one, pathOf, two } from '#test/support/truncated-partition.ts';
import { SnapshotWorld, until } from '#test/support/snapshot-world.ts';

let world: SnapshotWorld;
let goOn: () => void;

beforeEach(async () => {
  world = await SnapshotWorld.open();
  goOn = () => {};
});

afterEach(async () => {
  goOn();
  await world.close();
});

/** Bytes that are asked for do not come before {@link goOn}. @returns how often some were asked for */
function stall(blobs: Blobs): () => number {
  const wait = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const { get } = blobs;
  let asked = 0;
  blobs.get = async (...given) => {
    const pieces = await get.apply(blobs, given);
    asked += 1;
    return (async function* () {
      await wait;
      yield* pieces;
    })();
  };
  return () => asked;
}

/** A member that lacks the file of an actor, while another one has a snapshot that takes long to bring. */
async function contained() {
  await truncateLog(world);
  const [a, b] = [world.side('a'), world.side('b')];
  await b.member.own();
  await until(async () => (await b.snapshot()) !== undefined, 'a snapshot is taken');
  await b.member.leave();
  const asked = stall(world.blobs);
  rmSync(pathOf(a, two));
  await a.member.follow();
  await until(() => asked() > 0, 'a snapshot is being brought');
  expect(a.member.damage.contained).toContain(pathOf(a, two));
  return a;
}

it('continues with the rest of a partition while a snapshot is fetched', async () => {
  const a = await contained();
  expect(await a.member.own()).toBe(true);
  expect(await keysOf(a, one)).toEqual(['early']);
  await a.member.follow();
  expect(await a.member.own()).toBe(true);
  goOn();
  await until(() => a.member.damage.rebuilt !== undefined, 'it is made anew');
  expect(await a.member.own()).toBe(true);
  expect(await keysOf(a, two)).toEqual(['early']);
});

it('keeps nothing of a snapshot when what was damaged is removed before it is there', async () => {
  const a = await contained();
  expect(await a.member.own()).toBe(true);
  await a.host.destroyUnder(two);
  goOn();
  await until(() => a.member.damage.contained === undefined, 'nothing is damaged any more');
  await until(() => !existsSync(join(a.folder, 'restore')), 'what was brought is gone');
  expect(await keysOf(a, one)).toEqual(['early']);
  expect(a.member.damage.rebuilt).toBeUndefined();
});
