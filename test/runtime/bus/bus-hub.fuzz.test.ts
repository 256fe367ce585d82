import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { BusHub } from '#runtime/bus/bus-hub.ts';
import { busLimits } from '#runtime/bus/bus-limits.ts';
import type { BusItem, BusSubscription } from '#runtime/bus/ports.ts';
import type { BranchEvent } from '#runtime/tree/branch-events.ts';
import { BusCounts, BusWorld } from '#test/support/bus-world.ts';
import { settle } from '#test/support/test-clock.ts';
import { BRANCH } from '#test/support/test-branch.ts';

/** What happens to an event on its way from the writer to a member. */
const fate = fc.oneof(
  { weight: 6, arbitrary: fc.constant('arrive' as const) },
  { weight: 2, arbitrary: fc.constant('lost' as const) },
  { weight: 1, arbitrary: fc.constant('twice' as const) },
  { weight: 1, arbitrary: fc.constant('late' as const) },
);

const act = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('write' as const), fate }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('move' as const), fate, to: fc.nat({ max: 20 }) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('subscribe' as const), from: fc.nat({ max: 20 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rest' as const) }) },
);

/** Somebody who takes everything down. */
class Listener {
  readonly start: string;
  readonly items: BusItem[] = [];
  readonly #subscription: BusSubscription;

  constructor(start: string, subscription: BusSubscription) {
    this.start = start;
    this.#subscription = subscription;
    void this.#listen();
  }

  get at(): string {
    return this.items.at(-1)?.event.revision ?? this.start;
  }

  close(): void {
    this.#subscription.close();
  }

  async #listen(): Promise<void> {
    for await (const item of this.#subscription) this.items.push(item);
  }
}

describe('what is lost, doubled or late on the way', () => {
  let world: BusWorld;

  beforeAll(async () => {
    world = await BusWorld.open();
    await world.writeMany(3);
  });

  afterAll(() => world.close());

  it('leaves every subscriber with an unbroken way to where the branch is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 25 }), async (acts) => {
        const hub = new BusHub({
          router: world.branch.engine.host,
          clock: systemClock,
          random: systemRandom,
          observer: new BusCounts(),
          // A feed that holds little throws away often.
          limits: { ...busLimits, feed: { itemsMax: 2, bytesMax: 1e6 } },
        });
        const late: BranchEvent[] = [];
        let now: 'arrive' | 'lost' | 'twice' | 'late' = 'arrive';
        world.sink = (branch, events) => {
          for (const event of events) {
            if (now === 'late') late.push(event);
            else if (now !== 'lost') hub.receive(branch, event);
            if (now === 'twice') hub.receive(branch, event);
          }
        };
        const known = [await world.head()];
        const listeners: Listener[] = [];
        const everything: BusItem[] = [];
        const owner = hub.subscribeUnder('');
        void (async () => {
          for await (const item of owner) everything.push(item);
        })();
        for (const each of acts) {
          if ('fate' in each) now = each.fate;
          if (each.do === 'write') known.push(await world.write());
          else if (each.do === 'move') await world.moveHead(known[each.to % known.length] as string);
          else if (each.do === 'rest') await settle(2);
          else {
            const after = known[each.from % known.length] as string;
            listeners.push(new Listener(after, await hub.subscribe(BRANCH, { after })));
          }
        }
        for (const event of late) hub.receive(BRANCH, event);
        hub.doubt();
        const head = await world.head();
        const isTold = () =>
          listeners.every(({ at }) => at === head) && (everything.at(-1)?.event.revision ?? head) === head;
        for (let turn = 0; turn < 500 && !isTold(); turn++) await settle(1);
        for (const { at, items, start } of listeners) {
          expect(at).toBe(head);
          expectUnbroken(start, items);
        }
        if (everything[0] !== undefined) {
          const [{ event }] = everything as [BusItem];
          expectUnbroken(event.type === 'Reset' ? event.revision : event.previous, everything);
          expect(everything.at(-1)?.event.revision).toBe(head);
        }
        for (const listener of listeners) listener.close();
        owner.close();
        expect([hub.feeds, hub.subscriptions]).toEqual([0, 0]);
      }),
      { numRuns: 60 },
    );
  });
});

/** Each item starts where the one before it led, unless it says that it does not. */
function expectUnbroken(start: string, items: readonly BusItem[]): void {
  let at = start;
  for (const { event } of items) {
    if (event.type !== 'Reset') expect(event.previous).toBe(at);
    at = event.revision;
  }
}
