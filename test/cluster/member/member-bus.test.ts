import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { busObserver, tellingEvents, tellingRemovals, watchBus } from '#cluster/member/member-bus.ts';
import { systemClock } from '#runtime/base/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { LocalBus } from '#runtime/embedded/local-bus.ts';
import { Metrics } from '#runtime/telemetry/metrics.ts';
import { BusWorld, revisionsOf, takeUntil } from '#test/support/bus-world.ts';
import { BRANCH } from '#test/support/test-branch.ts';

describe('the bus of a member', () => {
  let world: BusWorld;

  beforeEach(async () => {
    world = await BusWorld.open();
  });

  afterEach(() => world.close());

  it('is told what happens in branches, is told of removals, and is counted', async () => {
    const metrics = new Metrics();
    const { host } = world.branch.engine;
    const bus = new LocalBus({
      router: host,
      clock: systemClock,
      random: systemRandom,
      observer: busObserver(metrics),
    });
    watchBus(metrics, bus);
    const seen: number[] = [];
    const own = {
      batchDurable: () => {},
      events: (_actor: string, events: readonly unknown[]) => void seen.push(events.length),
      stopped: () => {},
      applyFailed: () => {},
    };
    // The bus needs the actors, and they the observer.
    let told: LocalBus | undefined;
    const observer = tellingEvents(own, () => told);
    world.sink = (branch, events) => observer.events(branch, events);
    await world.write();
    told = bus;
    const subscription = await bus.subscribe(BRANCH);
    const written = await world.writeMany(2);
    observer.events(BRANCH, [{ type: 'Other' }]);
    expect(revisionsOf(await takeUntil(subscription, written[1] as string))).toEqual(written);
    expect(seen).toEqual([1, 1, 1, 1]);
    const text = await metrics.text();
    expect(text).toContain('svc_bus_subscriptions 1\n');
    expect(text).toContain('svc_bus_items_total 2\n');
    const ended = subscription.next();
    const lifecycle = tellingRemovals(host, bus);
    expect(await lifecycle.exists(BRANCH)).toBe(true);
    const removing = lifecycle.destroyUnder(BRANCH.slice(0, BRANCH.lastIndexOf('/')));
    await expect(ended).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
    await removing;
    expect(await lifecycle.exists(BRANCH)).toBe(false);
    await bus.close();
  });
});
