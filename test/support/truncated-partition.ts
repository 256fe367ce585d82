import { join } from 'node:path';
import { actorId } from '#runtime/actor/actor-id.ts';
import { shardPath } from '#runtime/shard/shard-identity.ts';
import { engineUser as caller } from './engine.ts';
import type { SnapshotSide, SnapshotWorld } from './snapshot-world.ts';

/** An actor of the partition. */
export const actorOf = (name: string): string => actorId('acme', 'site~1', name, 'notes');
/** The actors of {@link truncateLog}. */
export const [one, two, three] = ['one', 'two', 'three'].map(actorOf) as [string, string, string];

/** The file of an actor at a member. */
export const pathOf = (side: SnapshotSide, actor: string): string =>
  shardPath(join(side.folder, 'actors', ...actor.split('/')));

/** What an actor holds, as a member reads it. */
export const keysOf = async (side: SnapshotSide, actor: string): Promise<string[]> =>
  Object.keys((await side.host.query(actor, { type: 'ReadAll' }, caller)) as object).sort();

/** What two members have of three actors, when the log begins with the last record they have and nobody has a snapshot. */
export async function truncateLog(world: SnapshotWorld): Promise<void> {
  const [a, b] = [world.side('a'), world.side('b')];
  await a.member.own();
  for (const actor of [one, two, three]) {
    await a.host.create(actor);
    await a.write(actor, 'early');
  }
  await b.caughtUp();
  await a.member.leave();
  await b.member.leave();
  await world.stream.link().truncate(Math.min(a.member.storedSequence, b.member.storedSequence));
}
