import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Bus, BusSubscription } from '#runtime/bus/ports.ts';
import type { RevisionCommitted } from '#runtime/tree/branch-events.ts';
import { type BusWorld, revisionsOf, take, takeUntil } from '#test/support/bus-world.ts';
import { BRANCH } from '#test/support/test-branch.ts';

/** What the suite runs against: a branch that is written here and buses here and elsewhere. */
export interface BusUnderTest {
  readonly world: BusWorld;
  /** Where the branch is written. */
  readonly publisher: Bus;
  /** Where subscribers are: the same one, or one of another member. */
  readonly listener: Bus;
  close(): Promise<void>;
}

/**
 * What every implementation of the `Bus` promises.
 *
 * @param open makes a new one; events of the branch go to its publisher
 */
export function busConformance(name: string, open: () => Promise<BusUnderTest>): void {
  describe(`the bus: ${name}`, () => {
    let bus: BusUnderTest;

    beforeEach(async () => {
      bus = await open();
    });

    afterEach(() => bus.close());

    /** The revisions a subscriber is told up to the first large one. */
    const untilLarge = async (subscription: BusSubscription): Promise<string[]> => {
      const revisions: string[] = [];
      for await (const { event } of subscription) {
        revisions.push(event.revision);
        if (event.type === 'RevisionCommitted' && event.message === 'many') break;
      }
      return revisions;
    };

    /** Holds of what a subscriber is told: every event starts where the one before it led. */
    const expectChain = (start: string, items: readonly { event: { type: string } }[]): void => {
      let at = start;
      for (const { event } of items as { event: RevisionCommitted }[]) {
        expect(event.previous).toBe(at);
        at = event.revision;
      }
    };

    it('delivers commits from now on, in order, once and complete', async () => {
      const { listener, world } = bus;
      await world.write();
      const start = await world.head();
      const subscription = await listener.subscribe(BRANCH);
      expect(subscription.revision).toBe(start);
      const written = await world.writeMany(20);
      const items = await takeUntil(subscription, written.at(-1) as string);
      expect(revisionsOf(items)).toEqual(written);
      expect(items.map(({ event }) => event)).toEqual(world.told.slice(-20));
      expect(subscription.revision).toBe(written.at(-1));
      expect(items[0]).toMatchObject({ branch: BRANCH, event: { changes: [{ operation: 'added' }] } });
      subscription.close();
    });

    it('delivers missed events since a revision first, then new ones, without gaps or duplicates', async () => {
      const { listener, world } = bus;
      const known = await world.head();
      const missed = await world.writeMany(70);
      const writing = world.writeMany(40);
      const early = await listener.subscribe(BRANCH, { after: known });
      const late = await listener.subscribe(BRANCH, { after: missed[30] as string });
      const live = await writing;
      const all = [...missed, ...live];
      const last = all.at(-1) as string;
      expect(revisionsOf(await takeUntil(early, last))).toEqual(all);
      expect(revisionsOf(await takeUntil(late, last))).toEqual(all.slice(31));
      early.close();
      late.close();
    });

    it('delivers the complete rest to many subscribers that start anywhere during writes', async () => {
      const { listener, world } = bus;
      const known = [await world.head()];
      const followed: { after: string; items: Promise<string[]> }[] = [];
      for (let round = 0; round < 12; round++) {
        const writing = world.writeMany(5);
        const after = known[(round * 7) % known.length] as string;
        const subscription = await listener.subscribe(BRANCH, {
          after,
          buffer: { itemsMax: 8, bytesMax: 1e6 },
        });
        followed.push({ after, items: untilLarge(subscription) });
        known.push(...(await writing));
      }
      known.push(await world.writeLarge(3));
      for (const { after, items } of followed)
        expect(await items).toEqual(known.slice(known.indexOf(after) + 1));
    });

    it('delivers a move of the head to current subscribers', async () => {
      const { listener, world } = bus;
      const [one, two] = (await world.writeMany(2)) as [string, string];
      const subscription = await listener.subscribe(BRANCH);
      await world.moveHead(one);
      const three = await world.write();
      const items = await takeUntil(subscription, three);
      expectChain(two, items);
      expect(items.map(({ event }) => event.type)).toEqual(['HeadMoved', 'RevisionCommitted']);
      subscription.close();
    });

    it('tells a subscriber that was away while the head moved back to start over', async () => {
      const { listener, world } = bus;
      const [one, two] = (await world.writeMany(2)) as [string, string];
      await world.moveHead(one);
      const subscription = await listener.subscribe(BRANCH, { after: two });
      expect((await take(subscription, 1))[0]?.event).toEqual({ type: 'Reset', revision: one });
      expect(subscription.revision).toBe(one);
      const three = await world.write();
      expect(revisionsOf(await takeUntil(subscription, three))).toEqual([three]);
      const unknown = await listener.subscribe(BRANCH, { after: '5-5' });
      expect((await take(unknown, 1))[0]?.event).toEqual({ type: 'Reset', revision: three });
      subscription.close();
      unknown.close();
    });

    it('disconnects a subscriber that does not read, which then resumes at its position', async () => {
      const { listener, world } = bus;
      const slow = await listener.subscribe(BRANCH, { buffer: { itemsMax: 4, bytesMax: 1e6 } });
      const quick = await listener.subscribe(BRANCH);
      const written = await world.writeMany(10);
      expect(revisionsOf(await takeUntil(quick, written.at(-1) as string))).toEqual(written);
      await expect(slow.next()).rejects.toMatchObject({ code: 'SUBSCRIBER_TOO_SLOW' });
      expect(await slow.next()).toEqual({ done: true, value: undefined });
      const again = await listener.subscribe(BRANCH, { after: slow.revision });
      expect(revisionsOf(await takeUntil(again, written.at(-1) as string))).toEqual(written);
      quick.close();
      again.close();
    });

    it('disconnects a subscriber with too many waiting bytes', async () => {
      const { listener, world } = bus;
      const slow = await listener.subscribe(BRANCH, { buffer: { itemsMax: 1_000, bytesMax: 2_000 } });
      const quick = await listener.subscribe(BRANCH);
      await takeUntil(quick, (await world.writeMany(5)).at(-1) as string);
      await expect(slow.next()).rejects.toMatchObject({ code: 'SUBSCRIBER_TOO_SLOW' });
      quick.close();
    });

    it('delivers to subscribers of a repository, a tenant or everything only events of their branches', async () => {
      const { listener, world } = bus;
      const [tenant, repository] = BRANCH.split('/') as [string, string];
      const others = [listener.subscribeUnder(`${tenant}/other`), listener.subscribeUnder('nobody')];
      const told = ['', tenant, `${tenant}/${repository}`].map((owner) => listener.subscribeUnder(owner));
      const written = await world.writeMany(3);
      for (const subscription of told) {
        expect(revisionsOf(await takeUntil(subscription, written.at(-1) as string))).toEqual(
          expect.arrayContaining(written),
        );
      }
      for (const subscription of [...others, ...told]) subscription.close();
      for (const subscription of others) expect((await subscription.next()).done).toBe(true);
    });

    it('gives all changes of a revision, also when there are many', async () => {
      const { listener, world } = bus;
      const subscription = await listener.subscribe(BRANCH);
      const large = await world.writeLarge(2_100);
      const [item] = await takeUntil(subscription, large);
      const event = item?.event as RevisionCommitted;
      expect([event.changeCount, event.changes]).toEqual([2_100, undefined]);
      const parts: number[] = [];
      for await (const part of listener.changes(BRANCH, event)) parts.push(part.length);
      expect(parts.reduce((sum, part) => sum + part, 0)).toBe(2_100);
      const small = await world.write();
      const [next] = await takeUntil(subscription, small);
      for await (const part of listener.changes(BRANCH, next?.event as RevisionCommitted))
        expect(part).toHaveLength(1);
      subscription.close();
    });

    it('knows no branch that does not exist, and ends what was subscribed when one is removed', async () => {
      const { listener, publisher } = bus;
      const missing = BRANCH.replace('main~1', 'none~1');
      await expect(listener.subscribe(missing)).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
      await expect(listener.subscribe(BRANCH, { after: 'x' })).rejects.toMatchObject({
        code: 'INVALID_REVISION_NUMBER',
      });
      const subscription = await listener.subscribe(BRANCH);
      const reading = subscription.next();
      publisher.removed(BRANCH.slice(0, BRANCH.lastIndexOf('/')));
      await expect(reading).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
    });

    it('ends a subscription that is closed or left, and all when it closes', async () => {
      const { listener, world } = bus;
      const closed = await listener.subscribe(BRANCH);
      const reading = closed.next();
      closed.close();
      expect(await reading).toEqual({ done: true, value: undefined });
      const left = await listener.subscribe(BRANCH);
      const one = await world.write();
      for await (const { event } of left) {
        expect(event.revision).toBe(one);
        break;
      }
      expect((await left.next()).done).toBe(true);
      const ended = await listener.subscribe(BRANCH);
      await listener.close();
      await expect(ended.next()).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
      await expect(listener.subscribe(BRANCH)).rejects.toMatchObject({ code: 'SHUTTING_DOWN' });
    });
  });
}
