import type { ActorId } from '#runtime/actor/ports.ts';
import { ByteQueue, type QueueLimits } from '#runtime/base/byte-queue.ts';
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

/** Receivers one turn hands an item to. */
const RECEIVERS_PER_TURN = 32;

/** What a feed works with. */
export interface FeedEnvironment {
  readonly branch: ActorId;
  readonly history: BranchHistory;
  readonly limits: QueueLimits;
  readonly observer: BusObserver;
  /** Everybody who is to be told; a new array whenever that changed. */
  readonly receivers: () => readonly Receiver[];
  readonly wake: (feed: BranchFeed) => void;
  /** The branch cannot be told of any more. */
  readonly failed: (feed: BranchFeed, error: ServiceError) => void;
}

/** What is being handed out at present. */
interface Handout {
  readonly envelope: Envelope;
  readonly way: keyof Pick<Receiver, 'receive' | 'check' | 'lag'>;
  readonly receivers: readonly Receiver[];
  next: number;
}

/**
 * What happens in one branch, on its way to those who are told on this member. What is lost on the way here shows
 * in that an event does not start where the one before it led; then the branch is asked, once for all receivers.
 * A little is handed out like any other event; with more, everybody is told to see to it at their own pace.
 */
export class BranchFeed implements FanOutSource {
  readonly branch: ActorId;
  readonly #environment: FeedEnvironment;
  readonly #queue: ByteQueue<Envelope>;
  /** Read from the branch, to be handed out before what waits. */
  #repairs: Envelope[] = [];
  /** Where the branch stood when it was asked, to be handed out behind the repairs. */
  #check: Envelope | undefined;
  #place: Place | undefined;
  #handout: Handout | undefined;
  /** Whether something may be missing behind what waits. */
  #isDoubtful = false;
  #isReading = false;
  #isClosed = false;

  constructor(environment: FeedEnvironment) {
    this.branch = environment.branch;
    this.#environment = environment;
    this.#queue = new ByteQueue(environment.limits);
  }

  /** Something happened. */
  offer(envelope: Envelope): void {
    if (!this.#queue.push(envelope)) {
      // The branch has it all; it is asked when what is being handed out is done.
      this.#queue.clear();
      this.#isDoubtful = true;
    }
    this.#environment.wake(this);
  }

  /** Something may have been lost: the branch is to be asked. */
  doubt(): void {
    this.#isDoubtful = true;
    this.#environment.wake(this);
  }

  /** Somebody says that the branch stands there. */
  hear({ head, tip }: PublishedPosition): void {
    const place = this.#place;
    if (place === undefined || head === place.at) return;
    // What was said before something that was told since is out of date.
    if (tip === null || compareRevisions(parseRevision(tip), place.tip) >= 0) this.doubt();
  }

  /** A subscriber asked where the branch stands: a feed that has not begun begins there. */
  establish(position: BranchPosition): void {
    this.#place ??= placeAt(position);
  }

  /** Nothing is handed out any more. */
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
        // The branch has this one too.
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
      // Who stood elsewhere than this feed may be led somewhere else by the same events.
      this.#check = reset;
      return;
    }
    observer.reset();
    this.#begin(reset, 'lag');
  }
}
