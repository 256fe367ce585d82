import type { HostObserver } from '#runtime/actor/host/actor-host.ts';
import type { ActorLifecycle } from '#runtime/actor/ports.ts';
import type { Bus } from '#runtime/bus/ports.ts';
import type { BusObserver } from '#runtime/bus/receiver.ts';
import type { Metrics } from '#runtime/telemetry/metrics.ts';
import { isBranchEvent } from '#runtime/tree/branch-events.ts';

/** A bus that counts its subscriptions. */
export interface CountedBus extends Bus {
  /** Subscriptions on this member. */
  readonly subscriptions: number;
}

/** Counts the events of a bus. */
export function busObserver(metrics: Metrics): BusObserver {
  const items = metrics.counter('svc_bus_items_total', 'Events handed to subscribers.');
  const slow = metrics.counter('svc_bus_disconnections_total', 'Subscribers that were too slow.');
  const repaired = metrics.counter(
    'svc_bus_repaired_events_total',
    'Events that were lost on the way and read from their branch.',
  );
  const resets = metrics.counter('svc_bus_resets_total', 'Times subscribers had to start over.');
  return {
    delivered: (receivers) => items.add(receivers),
    disconnected: () => slow.add(),
    repaired: (events) => repaired.add(events),
    reset: () => resets.add(),
  };
}

/** Exports the number of subscriptions. */
export function watchBus(metrics: Metrics, bus: CountedBus): void {
  metrics.gauge('svc_bus_subscriptions', 'Subscriptions to committed changes.', () => bus.subscriptions);
}

/**
 * Wraps an observer of actors so that it also publishes the events of branches on the bus.
 *
 * @param bus undefined before it exists: it needs the actors, as they need the observer
 */
export function tellingEvents(observer: HostObserver, bus: () => Bus | undefined): HostObserver {
  return {
    ...observer,
    events(actor, happened) {
      observer.events(actor, happened);
      const events = happened.filter(isBranchEvent);
      if (events.length > 0) bus()?.publish(actor, events);
    },
  };
}

/** Wraps a lifecycle of actors so that it ends the subscriptions to removed branches. */
export function tellingRemovals(lifecycle: ActorLifecycle, bus: Bus): ActorLifecycle {
  return {
    exists: (actor) => lifecycle.exists(actor),
    create: (actor, precondition) => lifecycle.create(actor, precondition),
    fork: (source, target) => lifecycle.fork(source, target),
    namesUnder: (owner) => lifecycle.namesUnder(owner),
    destroyUnder(owner) {
      const destroyed = lifecycle.destroyUnder(owner);
      bus.removed(owner);
      return destroyed;
    },
  };
}
