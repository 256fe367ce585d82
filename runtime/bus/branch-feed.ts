import type { ActorId } from '#runtime/actor/ports.ts';
import { ByteQueue, type QueueLimits } from '#runtime/base/queues/byte-queue.ts';
import { compareRevisions, parseRevision } from '#runtime/content/revision.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { BranchPosition, PublishedPosition } from '#runtime/tree/branch-events.ts';
import type { BranchHistory } from './branch-history.ts';
import {
  type Envelope,
  envelopeOf,
  type Place,
  placeAt,
  placeBefore,
  placeBehind,
  stepOf,
} from './envelope.ts';
import type { FanOutSource } from './fan-out.ts';
import type { EventsPage } from './history-messages.ts';
import type { BusObserver, Receiver } from './receiver.ts';

/** Receivers that get an item in one turn. */
const RECEIVERS_PER_TURN = 32;

/** Dependencies of a feed. */
export interface FeedEnvironment {
  readonly branch: ActorId;
  readonly history: BranchHistory;
  readonly limits: QueueLimits;
  readonly observer: BusObserver;
  /** All receivers; a new array after every change. */
  readonly receivers: () => readonly Receiver[];
  readonly wake: (feed: BranchFeed) => void;
  /** The feed cannot continue. */
  readonly failed: (feed: BranchFeed, error: ServiceError) => void;
}

/** The delivery in progress. */
interface Handout {
  readonly envelope: Envelope;
  readonly way: keyof Pick<Receiver, 'receive' | 'check' | 'lag'>;
  readonly receivers: readonly Receiver[];
  next: number;
}

/**
 * The events of one branch on the way to the receivers of this member. Loss in transit is detected when an event does
 * not start at the end of the one before it. The feed then reads the missed events from the branch, once for all
 * receivers. A few missed events are delivered like others; if there are more, each receiver catches up at its own
 * pace.
 */
export class BranchFeed implements FanOutSource {
  readonly branch: ActorId;
  readonly #environment: FeedEnvironment;
  readonly #queue: ByteQueue<Envelope>;
  /** Missed events read from the branch, to be delivered before the queue. */
  #repairs: Envelope[] = [];
  /** The position the branch answered, to be delivered after the repairs. */
  #check: Envelope | undefined;
  #place: Place | undefined;
  #handout: Handout | undefined;
  /** Whether events may be missing after the queued ones. */
  #isDoubtful = false;
  #isReading = false;
  #isClosed = false;

  constructor(environment: FeedEnvironment) {
    this.branch = environment.branch;
    this.#environment = environment;
    this.#queue = new ByteQueue(environment.limits);
  }

  /** Takes a new event. */
  offer(envelope: Envelope): void {
    if (!this.#queue.push(envelope)) {
      // The branch has all of them; it is read after the delivery in progress.
      this.#queue.clear();
      this.#isDoubtful = true;
    }
    this.#environment.wake(this);
  }

  /** Events may have been lost: the branch must be read. */
  doubt(): void {
    this.#isDoubtful = true;
    this.#environment.wake(this);
  }

  /** Takes a published position of the branch. */
  hear({ head, tip }: PublishedPosition): void {
    const place = this.#place;
    if (place === undefined || head === place.at) return;
    // A position published before a later event is out of date.
    if (tip === null || compareRevisions(parseRevision(tip), place.tip) >= 0) this.doubt();
  }

  /** A subscriber read the position of the branch: a feed that has not started starts there. */
  establish(position: BranchPosition): void {
    this.#place ??= placeAt(position);
  }

  /** Stops all delivery. */
  close(): void {
    this.#isClosed = true;
    this.#handout = undefined;
    this.#repairs = [];
    this.#check = undefined;
    this.#queue.clear();
  }

  turn(): boolean {
    if (this.#isClosed) return false;
    if (this.#handout !== undefined) return this.#hand(this.#handout);
    if (this.#isReading) return false;
    const repair = this.#repairs.shift();
    if (repair !== undefined) return this.#begin(repair, 'receive');
    const check = this.#check;
    if (check !== undefined) {
      this.#check = undefined;
      return this.#begin(check, 'check');
    }
    const envelope = this.#queue.shift();
    if (envelope === undefined) {
      if (this.#isDoubtful) void this.#read();
      return false;
    }
    const place = this.#place ?? placeBefore(envelope);
    switch (stepOf(place, envelope)) {
      case 'known':
        return true;
      case 'next':
        this.#place = placeBehind(place, envelope);
        return this.#begin(envelope, 'receive');
      case 'gap':
        // The branch has this event too.
        void this.#read();
        return false;
    }
  }

  #begin(envelope: Envelope, way: Handout['way']): boolean {
    this.#handout = { envelope, way, receivers: this.#environment.receivers(), next: 0 };
    return this.#hand(this.#handout);
  }

  #hand(handout: Handout): boolean {
    const { envelope, receivers, way } = handout;
    const end = Math.min(handout.next + RECEIVERS_PER_TURN, receivers.length);
    this.#environment.observer.delivered(end - handout.next);
    for (; handout.next < end; handout.next++) (receivers[handout.next] as Receiver)[way](envelope);
    if (end === receivers.length) this.#handout = undefined;
    return true;
  }

  async #read(): Promise<void> {
    const { failed, history, wake } = this.#environment;
    const after = this.#place?.at;
    this.#isReading = true;
    this.#isDoubtful = false;
    try {
      const page = await history.afterPatiently(this.branch, after, () => !this.#isClosed);
      if (page !== undefined && !this.#isClosed) this.#take(page, after !== undefined);
    } catch (error) {
      failed(this, error as ServiceError);
    } finally {
      this.#isReading = false;
      wake(this);
    }
  }

  #take(page: EventsPage, isKnown: boolean): void {
    const { observer } = this.#environment;
    const reset = envelopeOf(this.branch, { type: 'Reset', revision: page.head });
    this.#place = placeAt(page);
    if (isKnown && page.isContinued && page.isComplete) {
      this.#repairs = page.events.map((event) => envelopeOf(this.branch, event));
      if (page.events.length > 0) observer.repaired(page.events.length);
      // The same events may lead a receiver to another position when it was not where this feed was.
      this.#check = reset;
      return;
    }
    observer.reset();
    this.#begin(reset, 'lag');
  }
}
