import { describe, expect, it } from 'vitest';
import { encodeBusMessage } from '#cluster/fanout/bus-messages.ts';
import type { RevisionCommitted } from '#runtime/tree/branch-events.ts';
import { busConformance } from '#test/runtime/bus/bus-conformance.ts';
import { type BusWorld, revisionsOf, takeUntil } from '#test/support/bus-world.ts';
import { type BusMember, NatsBusWorld } from '#test/support/nats-bus-world.ts';
import { NatsDirectories } from '#test/support/nats-directories.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';
import { BRANCH } from '#test/support/test-branch.ts';

const nats = sharedNatsCluster(1);
const never = 3_600_000;

const open = (members: number, times?: { announceMs: number; recentMs: number; doubtMs: number }) =>
  NatsBusWorld.open(
    Array.from({ length: members }, () => nats().urls),
    times,
  );

busConformance('from one member to another', async () => {
  const cluster = await open(2);
  const [publisher, listener] = cluster.members as readonly [BusMember, BusMember];
  return {
    world: cluster.world,
    publisher: publisher.bus,
    listener: listener.bus,
    close: () => cluster.close(),
  };
});

describe('the bus over NATS', () => {
  /** Writes something nobody hears of. */
  const writeUnheard = async (world: BusWorld): Promise<string> => {
    const { sink } = world;
    world.sink = () => {};
    const revision = await world.write();
    world.sink = sink;
    return revision;
  };

  it('delivers to subscribers on every member, including the writer, in revision order [CLU-011]', async () => {
    const cluster = await open(3);
    const { members, world } = cluster;
    const known = await world.head();
    const subscriptions = await Promise.all(members.map(({ bus }) => bus.subscribe(BRANCH)));
    const late = await (members[2] as BusMember).bus.subscribe(BRANCH, { after: known });
    const written = await world.writeMany(40);
    for (const subscription of [...subscriptions, late])
      expect(revisionsOf(await takeUntil(subscription, written.at(-1) as string))).toEqual(written);
    await cluster.close();
  });

  it('reads lost events from the branch, once for all subscribers', async () => {
    const cluster = await open(3, { announceMs: never, recentMs: never, doubtMs: never });
    const { members, world } = cluster;
    const [, one, other] = members as readonly [BusMember, BusMember, BusMember];
    const subscriptions = await Promise.all([one, one, one, other].map(({ bus }) => bus.subscribe(BRANCH)));
    const lost = [await writeUnheard(world), await writeUnheard(world)];
    const heard = await world.write();
    for (const subscription of subscriptions)
      expect(revisionsOf(await takeUntil(subscription, heard))).toEqual([...lost, heard]);
    // The event that showed it is among what was read.
    expect([one.counts.repairs, other.counts.repairs]).toEqual([3, 3]);
    await cluster.close();
  });

  it('notices that the last events were lost, by what the writer announces', async () => {
    const cluster = await open(2, { announceMs: 20, recentMs: 10, doubtMs: never });
    const { members, world } = cluster;
    const [writer, reader] = members as readonly [BusMember, BusMember];
    const subscription = await reader.bus.subscribe(BRANCH);
    const { publish } = writer.connection;
    // Everything but announcements is lost.
    writer.connection.publish = (subject, data, options) => {
      const isLost = Buffer.from(data as Uint8Array).includes('"kind":"events"');
      if (!isLost) publish.call(writer.connection, subject, data, options);
    };
    const written = [await world.write(), await world.write()];
    expect(revisionsOf(await takeUntil(subscription, written[1] as string))).toEqual(written);
    await cluster.close();
  });

  it('ends what is subscribed under a removed owner although the first word of it was lost', async () => {
    const cluster = await open(2, { announceMs: 20, recentMs: 10, doubtMs: never });
    const [writer, reader] = cluster.members as readonly [BusMember, BusMember];
    const owner = BRANCH.slice(0, BRANCH.lastIndexOf('/'));
    const branch = await reader.bus.subscribe(BRANCH);
    const all = reader.bus.subscribeUnder(owner);
    const { publish } = writer.connection;
    let lost = 0;
    writer.connection.publish = (subject, data, options) => {
      const isRemoval = Buffer.from(data as Uint8Array).includes('"kind":"removed"');
      if (isRemoval && lost === 0) lost += 1;
      else publish.call(writer.connection, subject, data, options);
    };
    writer.bus.removed(owner);
    await expect(branch.next()).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
    await expect(all.next()).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(lost).toBe(1);
    await cluster.close();
  });

  it('notices events that its writer never sent, by polling', async () => {
    const cluster = await open(2, { announceMs: never, recentMs: never, doubtMs: 20 });
    const { members, world } = cluster;
    const subscription = await (members[1] as BusMember).bus.subscribe(BRANCH);
    const written = await writeUnheard(world);
    expect(revisionsOf(await takeUntil(subscription, written))).toEqual([written]);
    await cluster.close();
  });

  it('polls a branch with a new owner, because the previous one may not have sent everything', async () => {
    const cluster = await open(2, { announceMs: never, recentMs: never, doubtMs: never });
    const members = new NatsDirectories(32);
    const { directory, registry } = await members.join('a', nats().urls);
    const { world } = cluster;
    const reader = cluster.members[1] as BusMember;
    const partition = directory.partitionOf(BRANCH);
    registry.claim(partition, 1);
    reader.bus.watchOwners(directory);
    const subscription = await reader.bus.subscribe(BRANCH);
    const written = await writeUnheard(world);
    registry.claim(partition, 2);
    expect(revisionsOf(await takeUntil(subscription, written))).toEqual([written]);
    await members.close();
    await cluster.close();
  });

  it('resumes at its position when the server comes back', async () => {
    const cluster = await open(2, { announceMs: never, recentMs: never, doubtMs: never });
    const { members, world } = cluster;
    const subscription = await (members[1] as BusMember).bus.subscribe(BRANCH);
    const before = await world.write();
    expect(revisionsOf(await takeUntil(subscription, before))).toEqual([before]);
    await (nats().servers[0] as { kill(): Promise<void> }).kill();
    const missed = [await world.write(), await world.write()];
    nats().servers[0]?.start();
    await nats().ready();
    expect(revisionsOf(await takeUntil(subscription, missed[1] as string))).toEqual(missed);
    await cluster.close();
  });

  it('sends an event that is too large without its changes, and many in several messages', async () => {
    const cluster = await open(2);
    const { members, world } = cluster;
    const [writer, reader] = members as readonly [BusMember, BusMember];
    const subscription = await reader.bus.subscribe(BRANCH);
    const revision = await world.writeLarge(1_000);
    const [item] = await takeUntil(subscription, revision);
    const event = item?.event as RevisionCommitted;
    expect(event.changes).toHaveLength(1_000);
    const change = { ...event.changes?.[0], path: `/${'x'.repeat(2_000)}` };
    const wide = { ...event, previous: revision, changes: Array.from({ length: 1_000 }, () => change) };
    const next = (n: number) => ({
      ...wide,
      previous: n === 0 ? revision : `${2e14 + n}-0`,
      revision: `${2e14 + n + 1}-0`,
    });
    writer.bus.publish(BRANCH, [next(0), next(1), next(2)] as RevisionCommitted[]);
    const items = await takeUntil(subscription, `${2e14 + 3}-0`);
    expect(items.map(({ event: each }) => (each as RevisionCommitted).changes)).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    await cluster.close();
  });

  it('does not mind messages it cannot read', async () => {
    const cluster = await open(2);
    const { members, subjects, world } = cluster;
    const [writer, reader] = members as readonly [BusMember, BusMember];
    const subscription = await reader.bus.subscribe(BRANCH);
    const newer = Buffer.from(encodeBusMessage('x', { kind: 'removed', owner: BRANCH.slice(0, 4) }))
      .toString()
      .replace('"format":1', '"format":2');
    const odd = {
      kind: 'events',
      branch: BRANCH,
      events: [{ type: 'HeadMoved', revision: 7, previous: 'x' }],
    };
    for (const bytes of ['', 'null', '{', newer, encodeBusMessage('x', odd as never)])
      writer.connection.publish(subjects.events(0), bytes);
    const written = await world.write();
    expect(revisionsOf(await takeUntil(subscription, written))).toEqual([written]);
    await cluster.close();
  });
});
