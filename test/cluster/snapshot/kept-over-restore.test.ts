import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { actorId } from '#runtime/actor/actor-id.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { type SnapshotSide, SnapshotWorld, until } from '#test/support/snapshot-world.ts';

const actorOf = (name: string): string => actorId('acme', 'site~1', name, 'notes');
const [one, two] = ['one', 'two'].map(actorOf) as [string, string];

let world: SnapshotWorld;
let follower: SnapshotSide;

/** A follower that has one actor and has removed another one, when the log begins behind all that, with a snapshot. */
beforeEach(async () => {
  world = await SnapshotWorld.open();
  const owner = world.side('a');
  follower = world.side('b');
  await owner.member.own();
  for (const actor of [one, two]) {
    await owner.host.create(actor);
    await owner.write(actor, 'early');
  }
  await follower.caughtUp();
  await owner.host.destroyUnder(two);
  await follower.caughtUp();
  await until(() => follower.kept.length === 1, 'the removed one is kept');
  const record = await owner.snapshot();
  await owner.write(one, 'late');
  await world.stream.link().truncate(record?.position.sequence as number);
  await follower.caughtUp();
});

afterEach(() => world.close());

it('keeps what was removed, and what is damaged, when a snapshot takes the place of damaged shards [DUR-024]', async () => {
  await follower.member.startOver(new ServiceError('DATA_CORRUPTED', 'one page is damaged'));
  await until(() => follower.member.damage.rebuilt !== undefined, 'a snapshot is brought');
  await follower.caughtUp();
  expect(follower.told('restored')).toHaveLength(1);
  expect(follower.kept).toEqual(['actors', 'damaged']);
  expect(follower.files).not.toContain('restore');
});

it('keeps what was removed when a snapshot takes the place of shards that are too old', async () => {
  await follower.member.leave();
  const path = join(follower.folder, 'position.json');
  renameSync(path, `${path}.gone`);
  const again = world.side('b');
  await again.caughtUp();
  expect(again.told('restored')).toHaveLength(1);
  expect(again.kept).toEqual(['actors']);
});

it.each([
  ['before the new shards are in the place of the old ones', []],
  ['when they are', ['actors']],
])('keeps what was removed when the process died %s', async (_, made) => {
  await follower.member.leave();
  const actors = join(follower.folder, 'actors');
  const replaced = join(follower.folder, 'restore/replaced');
  mkdirSync(join(follower.folder, 'restore'));
  renameSync(actors, replaced);
  for (const name of made) mkdirSync(join(follower.folder, name));
  const again = world.side('b');
  await again.caughtUp();
  expect(again.kept).toEqual(['actors']);
  // What was there is there again, where nothing is in its place.
  expect(again.told('restored')).toHaveLength(made.length);
  expect(again.files).not.toContain('restore');
});
