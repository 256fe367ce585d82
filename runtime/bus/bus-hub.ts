import type { ActorId, Router } from '#runtime/actor/ports.ts';
import type { QueueLimits } from '#runtime/base/queues/byte-queue.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { formatRevision, parseRevision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { isUnder } from '#runtime/log/lifecycle-entry.ts';
import type { BranchEvent, PublishedPosition, RevisionCommitted } from '#runtime/tree/branch-events.ts';
import type { NodeChange } from '#runtime/tree/revision-record.ts';
import { BranchFeed } from './branch-feed.ts';
import { BranchHistory, branchGone } from './branch-history.ts';
import { BranchSubscriber } from './branch-subscriber.ts';
import { type BusLimits, busLimits } from './bus-limits.ts';
import { envelopeOf } from './envelope.ts';
import { FanOut } from './fan-out.ts';
import { OwnerSubscriber } from './owner-subscriber.ts';
import type { BranchSubscription, BusSubscription, SubscribeOptions } from './ports.ts';
import type { BusObserver, Receiver } from './receiver.ts';

/** Dependencies of a hub. */
export interface HubEnvironment {
  /** Carries the requests for missed events to the branches. */
  readonly router: Router;
  readonly clock: Clock;
  readonly random: Random;
  readonly observer: BusObserver;
  /** Default: {@link busLimits}. */
  readonly limits?: BusLimits;
}

/** The feed of a branch with the subscribers of this branch alone. */
interface Outlet {
  readonly feed: BranchFeed;
  readonly subscribers: Set<BranchSubscriber>;
  /** All receivers; undefined when the list must be rebuilt. */
  receivers: readonly Receiver[] | undefined;
}

/** Feeds examined in the search for an unused one. */
const EVICTION_TRIES = 64;

/**
 * The part of a bus inside one member: takes events from any transport and delivers them to the subscribers here. An
 * event without subscribers costs one look-up.
 */
export class BusHub {
  readonly #history: BranchHistory;
  readonly #observer: BusObserver;
  readonly #limits: BusLimits;
  readonly #fanOut: FanOut;
  readonly #outlets = new Map<ActorId, Outlet>();
  readonly #owners = new Map<string, Set<OwnerSubscriber>>();
  #subscriptions = 0;
  #isClosed = false;

  constructor({ clock, limits = busLimits, observer, random, router }: HubEnvironment) {
    this.#history = new BranchHistory(router, clock, random, limits);
    this.#observer = observer;
    this.#limits = limits;
    this.#fanOut = new FanOut(clock);
  }

  /** Number of subscriptions. */
  get subscriptions(): number {
    return this.#subscriptions;
  }

  /** Number of branches followed. */
  get feeds(): number {
    return this.#outlets.size;
  }

  /** Takes an event of a branch; it may arrive late, twice, or out of order. */
  receive(branch: ActorId, event: BranchEvent): void {
    if (this.#subscriptions === 0) return;
    const outlet = this.#outlets.get(branch) ?? (this.#isWanted(branch) ? this.#open(branch) : undefined);
    outlet?.feed.offer(envelopeOf(branch, event));
  }

  /** Takes the position that the writer of a branch published. */
  hear(branch: ActorId, position: PublishedPosition): void {
    this.#outlets.get(branch)?.feed.hear(position);
  }

  /**
   * Checks followed branches for missed events, after messages may have been lost.
   *
   * @param isMeant default: all
   */
  doubt(isMeant: (branch: ActorId) => boolean = () => true): void {
    for (const { feed } of this.#outlets.values()) if (isMeant(feed.branch)) feed.doubt();
  }

  /** The owner was removed, with everything under it. */
  removed(owner: string): void {
    for (const [branch, outlet] of this.#outlets) if (isUnder(branch, owner)) this.#end(outlet, branchGone());
    for (const [name, subscribers] of this.#owners) {
      if (!isUnder(name, owner)) continue;
      for (const subscriber of subscribers) subscriber.end(new ServiceError('NOT_FOUND'));
    }
  }

  /** @see ports.ts, Bus.subscribe */
  async subscribe(branch: ActorId, options: SubscribeOptions = {}): Promise<BranchSubscription> {
    this.#checkRoom();
    const { buffer = this.#limits.buffer } = options;
    const after = options.after === undefined ? undefined : formatRevision(parseRevision(options.after));
    const outlet = this.#outlets.get(branch) ?? this.#open(branch);
    return BranchSubscriber.start(
      {
        branch,
        history: this.#history,
        buffer,
        observer: this.#observer,
        ended: (subscriber) => this.#leave(outlet, subscriber),
        learnt: (position) => outlet.feed.establish(position),
      },
      after,
      (subscriber) => {
        outlet.subscribers.add(subscriber);
        outlet.receivers = undefined;
        this.#subscriptions += 1;
      },
    );
  }

  /** @see ports.ts, Bus.subscribeUnder */
  subscribeUnder(owner: string, buffer: QueueLimits = this.#limits.buffer): BusSubscription {
    this.#checkRoom();
    const subscribers = this.#owners.get(owner) ?? new Set();
    const subscriber = new OwnerSubscriber(owner, buffer, this.#observer, (ended) => {
      subscribers.delete(ended);
      if (subscribers.size === 0) this.#owners.delete(owner);
      this.#subscriptions -= 1;
      this.#ownersChanged();
    });
    this.#owners.set(owner, subscribers.add(subscriber));
    this.#subscriptions += 1;
    this.#ownersChanged();
    return subscriber;
  }

  /** @see ports.ts, Bus.changes */
  changes(branch: ActorId, event: RevisionCommitted): AsyncIterable<readonly NodeChange[]> {
    return this.#history.changes(branch, event);
  }

  /** Ends every subscription. */
  close(): void {
    this.#isClosed = true;
    const error = new ServiceError('SHUTTING_DOWN');
    for (const outlet of this.#outlets.values()) this.#end(outlet, error);
    for (const subscribers of this.#owners.values()) for (const each of subscribers) each.end(error);
  }

  #checkRoom(): void {
    if (this.#isClosed) throw new ServiceError('SHUTTING_DOWN');
    if (this.#subscriptions >= this.#limits.subscriptionsMax) {
      throw new ServiceError('OVERLOADED', 'This member has as many subscriptions as it takes');
    }
  }

  #open(branch: ActorId): Outlet {
    this.#makeRoom();
    const outlet: Outlet = {
      feed: new BranchFeed({
        branch,
        history: this.#history,
        limits: this.#limits.feed,
        observer: this.#observer,
        receivers: () => {
          outlet.receivers ??= [...outlet.subscribers, ...this.#ownersOf(branch)];
          return outlet.receivers;
        },
        wake: (feed) => this.#fanOut.wake(feed),
        failed: (_feed, error) => this.#end(outlet, error),
      }),
      subscribers: new Set(),
      receivers: undefined,
    };
    this.#outlets.set(branch, outlet);
    return outlet;
  }

  /** Evicts unused feeds: subscribers of more than one branch may need any number of them. */
  #makeRoom(): void {
    if (this.#outlets.size < this.#limits.feedsMax) return;
    let tries = 0;
    for (const outlet of this.#outlets.values()) {
      if (outlet.subscribers.size === 0) {
        this.#close(outlet);
        return;
      }
      tries += 1;
      if (tries === EVICTION_TRIES) return;
    }
  }

  #leave(outlet: Outlet, subscriber: BranchSubscriber): void {
    outlet.subscribers.delete(subscriber);
    outlet.receivers = undefined;
    this.#subscriptions -= 1;
    if (outlet.subscribers.size === 0 && !this.#isWanted(outlet.feed.branch)) this.#close(outlet);
  }

  #end(outlet: Outlet, error: ServiceError): void {
    this.#close(outlet);
    for (const subscriber of [...outlet.subscribers]) subscriber.end(error);
  }

  #close({ feed }: Outlet): void {
    feed.close();
    if (this.#outlets.get(feed.branch)?.feed === feed) this.#outlets.delete(feed.branch);
  }

  #ownersChanged(): void {
    for (const outlet of this.#outlets.values()) {
      outlet.receivers = undefined;
      if (outlet.subscribers.size === 0 && !this.#isWanted(outlet.feed.branch)) this.#close(outlet);
    }
  }

  #isWanted(branch: ActorId): boolean {
    if (this.#owners.size === 0) return false;
    for (const owner of ownersOf(branch)) if (this.#owners.has(owner)) return true;
    return false;
  }

  *#ownersOf(branch: ActorId): Generator<OwnerSubscriber, void> {
    for (const owner of ownersOf(branch)) yield* this.#owners.get(owner) ?? [];
  }
}

/** All owners of a branch: the empty one, its tenant, its repository, and its own id without the kind. */
function* ownersOf(branch: ActorId): Generator<string, void> {
  yield '';
  for (let slash = branch.indexOf('/'); slash >= 0; slash = branch.indexOf('/', slash + 1))
    yield branch.slice(0, slash);
}
