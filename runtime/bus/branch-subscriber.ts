import type { ActorId } from '#runtime/actor/ports.ts';
import { assert } from '#runtime/base/assert.ts';
import type { QueueLimits } from '#runtime/base/byte-queue.ts';
import { Inbox } from '#runtime/base/inbox.ts';
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

/** What a subscriber works with. */
export interface SubscriberEnvironment {
  readonly branch: ActorId;
  readonly history: BranchHistory;
  readonly buffer: QueueLimits;
  readonly observer: BusObserver;
  /** Told once, when it is over. */
  readonly ended: (subscriber: BranchSubscriber) => void;
  /** Told where the branch stands whenever it was asked. */
  readonly learnt: (position: BranchPosition) => void;
}

const done: IteratorReturnResult<undefined> = Object.freeze({ done: true, value: undefined });

/**
 * Tells one subscriber of a branch everything in order, from what it knows to what happens now.
 *
 * It is *behind* while it reads what it missed from the branch, a page at a time and only when its consumer asks
 * for more, and *live* when all it has to tell came by itself. What arrives while it is behind waits in the buffer;
 * when that is full it is thrown away, because the branch has it and is asked once more. Only one that is live and
 * does not read can fall too far back.
 *
 * Invariants:
 * 1. `#place` is where the last item led that the consumer was given; nothing is given that does not start there,
 *    but a reset. So there is no gap and nothing twice, whatever arrives and in whatever order.
 * 2. An item that neither starts there nor is known makes it ask the branch, which decides.
 * 3. It goes live only when the branch said that nothing follows, and nothing was thrown away since it was asked.
 *
 * Enforcement: test/runtime/bus/bus-hub.fuzz.test.ts, bus-conformance.ts.
 */
export class BranchSubscriber implements BranchSubscription, Receiver {
  readonly #environment: SubscriberEnvironment;
  readonly #inbox: Inbox<Envelope>;
  /** What was read of the branch and not given yet, oldest first. */
  #page: readonly Envelope[] = [];
  #given = 0;
  /** The place behind the page. */
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
   * Makes one that has asked the branch once, so that a branch that does not exist is known before anything else.
   *
   * @param after undefined: from where the branch is now
   * @param join adds it to those who are told; called before the branch is asked, so that nothing falls in between
   * @throws {ServiceError} what asking the branch throws; then it has ended
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
          // Throws what it was closed with.
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

  /** In its turn among what waits: one that stands elsewhere then asks the branch. */
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

  /** The next item that came by itself and is new; undefined where there is none, or one shows a gap. */
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

/** Says whether a page is what was asked for: what a subscriber is told rests on it. */
function assertFollows(after: string, { events, head, isComplete }: EventsPage): void {
  let at = after;
  for (const { previous, revision } of events) {
    assert(previous === at, 'events of a branch follow each other');
    at = revision;
  }
  assert(!isComplete || at === head, 'the last event leads to the head');
  assert(isComplete || events.length > 0, 'a page leads on');
}
