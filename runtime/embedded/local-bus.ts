import type { ActorId } from '#runtime/actor/ports.ts';
import type { QueueLimits } from '#runtime/base/queues/byte-queue.ts';
import { BusHub, type HubEnvironment } from '#runtime/bus/bus-hub.ts';
import type { BranchSubscription, Bus, BusSubscription, SubscribeOptions } from '#runtime/bus/ports.ts';
import type { BranchEvent, RevisionCommitted } from '#runtime/tree/branch-events.ts';
import type { NodeChange } from '#runtime/tree/revision-record.ts';

/** The bus of a single process: events are delivered within the process. */
export class LocalBus implements Bus {
  readonly #hub: BusHub;

  constructor(environment: HubEnvironment) {
    this.#hub = new BusHub(environment);
  }

  /** Number of subscriptions. */
  get subscriptions(): number {
    return this.#hub.subscriptions;
  }

  publish(branch: ActorId, events: readonly BranchEvent[]): void {
    for (const event of events) this.#hub.receive(branch, event);
  }

  removed(owner: string): void {
    this.#hub.removed(owner);
  }

  subscribe(branch: ActorId, options?: SubscribeOptions): Promise<BranchSubscription> {
    return this.#hub.subscribe(branch, options);
  }

  subscribeUnder(owner: string, buffer?: QueueLimits): BusSubscription {
    return this.#hub.subscribeUnder(owner, buffer);
  }

  changes(branch: ActorId, event: RevisionCommitted): AsyncIterable<readonly NodeChange[]> {
    return this.#hub.changes(branch, event);
  }

  async close(): Promise<void> {
    this.#hub.close();
  }
}
