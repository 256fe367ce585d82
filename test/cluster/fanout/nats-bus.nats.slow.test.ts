import { describe, expect, it } from 'vitest';
import { busConformance } from '#test/runtime/bus/bus-conformance.ts';
import type { RevisionCommitted } from '#runtime/tree/branch-events.ts';
import { type BusMember, NatsBusWorld } from '#test/support/nats-bus-world.ts';
import { type NatsServer, sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { BRANCH } from '#test/support/test-branch.ts';

const nats = sharedNatsCluster(3);

/** Members that prefer a server each. */
const open = (members: number) =>
  NatsBusWorld.open(
    Array.from({ length: members }, (_, index) => [
      ...nats().urls.slice(index),
      ...nats().urls.slice(0, index),
    ]),
    { announceMs: 200, recentMs: 5_000, doubtMs: 20_000 },
  );

busConformance('from one member to another, over three servers', async () => {
  const cluster = await open(2);
  const [publisher, listener] = cluster.members as readonly [BusMember, BusMember];
  return {
    world: cluster.world,
    publisher: publisher.bus,
    listener: listener.bus,
    close: () => cluster.close(),
  };
});

describe('the bus over three servers', () => {
  it('delivers everything in order while one server after the other dies, stalls and comes back', async () => {
    const cluster = await open(3);
    const { members, world } = cluster;
    const start = await world.head();
    const told = members.map((): RevisionCommitted[] => []);
    const listening = members.map(async ({ bus }, index) => {
      for await (const { event } of await bus.subscribe(BRANCH, { after: start })) {
        told[index]?.push(event as RevisionCommitted);
        if ((event as RevisionCommitted).message === 'many') return;
      }
    });
    const written: string[] = [];
    let isDone = false;
    const writing = (async () => {
      while (!isDone) {
        written.push(await world.write());
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
    })();
    for (const server of nats().servers as readonly NatsServer[]) {
      await server.kill();
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      server.start();
      await nats().ready();
      await server.pause();
      await new Promise((resolve) => setTimeout(resolve, 4_000));
      server.resume();
      await nats().ready();
    }
    isDone = true;
    await writing;
    written.push(await world.writeLarge(2));
    await Promise.all(listening);
    for (const events of told) {
      expect(events.map(({ revision }) => revision)).toEqual(written);
      expect(events.map(({ previous }) => previous)).toEqual([start, ...written.slice(0, -1)]);
    }
    await cluster.close();
  });
});
