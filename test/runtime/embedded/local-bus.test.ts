import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { LocalBus } from '#runtime/embedded/local-bus.ts';
import { busConformance } from '../bus/bus-conformance.ts';
import { BusCounts, BusWorld } from '#test/support/bus-world.ts';

busConformance('of one process', async () => {
  const world = await BusWorld.open();
  const bus = new LocalBus({
    router: world.branch.engine.host,
    clock: systemClock,
    random: systemRandom,
    observer: new BusCounts(),
  });
  world.sink = (branch, events) => bus.publish(branch, events);
  return {
    world,
    publisher: bus,
    listener: bus,
    close: async () => {
      await bus.close();
      await world.close();
    },
  };
});
