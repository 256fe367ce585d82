import type { ActorId } from '#runtime/actor/ports.ts';
import { assert } from '#runtime/base/assert.ts';
import type { QueueLimits } from '#runtime/base/queues/byte-queue.ts';
import { Inbox } from '#runtime/base/queues/inbox.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { BranchPosition } from '#runtime/tree/branch-events.ts';
import type { BranchHistory } from './branch-history.ts';
import {
  type Envelope,
  envelopeOf,
  type Place,
  placeAfter,
  placeAt,
  placeBehind,
  stepOf,
} from './envelope.ts';
import type { EventsPage } from './history-messages.ts';
import type { BranchSubscription, BusItem } from './ports.ts';
import type { BusObserver, Receiver } from './receiver.ts';

/** Dependencies of a subscriber. */
export interface SubscriberEnvironment {
  readonly branch: ActorId;
  readonly history: BranchHistory;
  readonly buffer: QueueLimits;
  readonly observer: BusObserver;
  /** Called once, at the end of the subscription. */
  readonly ended: (subscriber: BranchSubscriber) => void;
  /** Called with the position of the branch after every read. */
  readonly learnt: (position: BranchPosition) => void;
}

const done: IteratorReturnResult<undefined> = Object.freeze({ done: true, value: undefined });

/**
 * Delivers the events of one branch to one subscriber in order, from its last known revision to the present.
 *
 * It is *behind* while it reads missed events from the branch, a page at a time and only when its consumer asks for
 * more. It is *live* when every remaining event arrived through the feed. Events that arrive while it is behind wait
 * in the buffer. When the buffer is full it is discarded, because the branch has the events and is read again. Only a
 * live subscriber that does not consume can be too slow.
 *
 * Invariants:
 * 1. `#place` is the end of the last item given to the consumer. Every further item starts there, except a reset. So
 *    there is no gap and no duplicate, whatever arrives and in whatever order.
 * 2. An item that neither starts there nor is already known makes the subscriber read the branch, which decides.
 * 3. It goes live only when the branch answered that nothing follows, and nothing was discarded since that request.
 *
 * Enforcement: test/runtime/bus/bus-hub.fuzz.test.ts, bus-conformance.ts.
 */
export class BranchSubscriber implements BranchSubscription, Receiver {
  readonly #environment: SubscriberEnvironment;
  readonly #inbox: Inbox<Envelope>;
  /** Events read from the branch and not yet delivered, oldest first. */
  #page: readonly Envelope[] = [];
  #given = 0;
  /** The position after the page. */
  #pageEnd: Place;
  #place: Place;
  #isBehind = true;
  #hasMissed = false;
  #isAsked = false;

  private constructor(environment: SubscriberEnvironment, after: string) {
    this.#environment = environment;
    this.#inbox = new Inbox(environment.buffer);
    this.#place = placeAfter(after);
    this.#pageEnd = this.#place;
  }

  /**
   * Creates a subscriber and reads the branch once, so that a missing branch is reported first.
   *
   * @param after undefined: from the present head
   * @param join adds it to the receivers; called before the branch is read, so that no event is missed in between
   * @throws {ServiceError} the errors of reading from the branch; then the subscriber has ended
   */
  static async start(
    environment: SubscriberEnvironment,
    after: string | undefined,
    join: (subscriber: BranchSubscriber) => void,
  ): Promise<BranchSubscriber> {
    const subscriber = new BranchSubscriber(environment, after ?? '');
    join(subscriber);
    try {
      const page = await environment.history.after(environment.branch, after);
      if (after === undefined) subscriber.#place = placeAt(page);
      subscriber.#take(page);
      return subscriber;
    } catch (error) {
      subscriber.close();
      throw error;
    }
  }

  get revision(): string {
    return this.#place.at;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<BusItem, undefined>> {
    assert(!this.#isAsked, 'a subscription is read by one, one item at a time');
    this.#isAsked = true;
    try {
      for (;;) {
        const value = this.#ofPage() ?? (this.#isBehind ? undefined : this.#ofInbox());
        if (value !== undefined) return { done: false, value };
        if (this.#inbox.isClosed) {
          // Throws the error it was closed with.
          this.#inbox.shift();
          return done;
        }
        if (this.#isBehind) await this.#read();
        else if (this.#inbox.length === 0) await this.#inbox.heard();
      }
    } finally {
      this.#isAsked = false;
    }
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    this.close();
    return done;
  }

  close(): void {
    this.#close(undefined);
  }

  receive(envelope: Envelope): void {
    if (this.#inbox.push(envelope)) return;
    if (this.#isBehind) {
      this.#inbox.clear();
      this.#hasMissed = true;
      return;
    }
    this.#environment.observer.disconnected();
    this.end(new ServiceError('SUBSCRIBER_TOO_SLOW', undefined, { details: { revision: this.revision } }));
  }

  /** Queued in order with the other items. A subscriber at another position then reads the branch. */
  check(reset: Envelope): void {
    this.receive(reset);
  }

  lag(reset: Envelope): void {
    this.receive(reset);
  }

  end(error: ServiceError): void {
    this.#close(error);
  }

  #close(error: ServiceError | undefined): void {
    if (this.#inbox.isClosed) return;
    this.#inbox.close(error);
    this.#page = [];
    this.#environment.ended(this);
  }

  #ofPage(): Envelope | undefined {
    const envelope = this.#page[this.#given];
    if (envelope === undefined) return undefined;
    this.#given += 1;
    const isLast = this.#given === this.#page.length;
    this.#place = isLast ? this.#pageEnd : { at: envelope.event.revision, tip: envelope.revision };
    if (isLast) this.#page = [];
    return envelope;
  }

  /** The next new item that arrived through the feed; undefined when there is none, or when one shows a gap. */
  #ofInbox(): Envelope | undefined {
    for (let envelope = this.#inbox.shift(); envelope !== undefined; envelope = this.#inbox.shift()) {
      const step = stepOf(this.#place, envelope);
      if (step === 'known') continue;
      if (step === 'gap') {
        this.#isBehind = true;
        return undefined;
      }
      this.#place = placeBehind(this.#place, envelope);
      return envelope;
    }
    return undefined;
  }

  async #read(): Promise<void> {
    const { branch, history } = this.#environment;
    this.#hasMissed = false;
    try {
      const page = await history.afterPatiently(branch, this.#place.at, () => !this.#inbox.isClosed);
      if (page !== undefined && !this.#inbox.isClosed) this.#take(page);
    } catch (error) {
      this.#close(error as ServiceError);
    }
  }

  #take(page: EventsPage): void {
    const { branch, learnt, observer } = this.#environment;
    learnt(page);
    this.#isBehind = !page.isComplete || this.#hasMissed;
    this.#given = 0;
    if (page.isContinued) {
      assertFollows(this.#place.at, page);
      this.#page = page.events.map((event) => envelopeOf(branch, event));
    } else {
      observer.reset();
      this.#page = [envelopeOf(branch, { type: 'Reset', revision: page.head })];
    }
    const last = this.#page.at(-1);
    this.#pageEnd =
      page.isComplete || last === undefined ? placeAt(page) : { at: last.event.revision, tip: last.revision };
    if (last === undefined) this.#place = this.#pageEnd;
  }
}

/** Checks that a page answers the request: the promises to the subscriber depend on it. */
function assertFollows(after: string, { events, head, isComplete }: EventsPage): void {
  let at = after;
  for (const { previous, revision } of events) {
    assert(previous === at, 'events of a branch follow each other');
    at = revision;
  }
  assert(!isComplete || at === head, 'the last event leads to the head');
  assert(isComplete || events.length > 0, 'a page leads on');
}
