import type { NatsConnection } from '@nats-io/transport-node';
import { NatsBus, type BusTimes, busTimes } from '#cluster/fanout/nats-bus.ts';
import { connectToNats } from '#cluster/nats/connection.ts';
import { Subjects } from '#cluster/nats/subjects.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { BusCounts, BusWorld } from './bus-world.ts';
import { testLink } from './member-seals.ts';

let made = 0;

/** The bus of a member with a connection of its own. */
export interface BusMember {
  readonly bus: NatsBus;
  readonly connection: NatsConnection;
  readonly counts: BusCounts;
}

/** A branch that is written on one member, and the buses of that one and of others. */
export class NatsBusWorld {
  readonly world: BusWorld;
  readonly subjects: Subjects;
  /** The first one is where the branch is written. */
  readonly members: readonly BusMember[];

  private constructor(world: BusWorld, subjects: Subjects, members: readonly BusMember[]) {
    this.world = world;
    this.subjects = subjects;
    this.members = members;
  }

  /** @param urls of the server each member connects to first */
  static async open(urls: readonly (readonly string[])[], times: BusTimes = busTimes): Promise<NatsBusWorld> {
    const world = await BusWorld.open();
    made += 1;
    const subjects = new Subjects(`bus-${made}`);
    const members = await Promise.all(
      urls.map(async (servers): Promise<BusMember> => {
        const connection = await connectToNats({ urls: servers, name: 'bus' });
        const counts = new BusCounts();
        const bus = new NatsBus({
          sealed: testLink(connection),
          subjects,
          partitions: 32,
          router: world.branch.engine.host,
          clock: systemClock,
          random: systemRandom,
          observer: counts,
          times,
        });
        await bus.ready();
        return { bus, connection, counts };
      }),
    );
    world.sink = (branch, events) => members[0]?.bus.publish(branch, events);
    return new NatsBusWorld(world, subjects, members);
  }

  async close(): Promise<void> {
    await Promise.all(this.members.map(({ bus }) => bus.close()));
    await Promise.all(this.members.map(({ connection }) => connection.close()));
    await this.world.close();
  }
}
