import type { QueueLimits } from '#runtime/base/queues/byte-queue.ts';
import { Inbox } from '#runtime/base/queues/inbox.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Envelope } from './envelope.ts';
import type { BusItem, BusSubscription } from './ports.ts';
import type { BusObserver, Receiver } from './receiver.ts';

const done: IteratorReturnResult<undefined> = Object.freeze({ done: true, value: undefined });

/** Delivers the events of all branches of an owner to one subscriber, from now on. */
export class OwnerSubscriber implements BusSubscription, Receiver {
  /** Prefix of the ids of its branches; empty for all. */
  readonly owner: string;
  readonly #inbox: Inbox<Envelope>;
  readonly #observer: BusObserver;
  readonly #ended: (subscriber: OwnerSubscriber) => void;

  constructor(
    owner: string,
    buffer: QueueLimits,
    observer: BusObserver,
    ended: (subscriber: OwnerSubscriber) => void,
  ) {
    this.owner = owner;
    this.#inbox = new Inbox(buffer);
    this.#observer = observer;
    this.#ended = ended;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<BusItem, undefined>> {
    for (;;) {
      const value = this.#inbox.shift();
      if (value !== undefined) return { done: false, value };
      if (this.#inbox.isClosed) return done;
      await this.#inbox.heard();
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
    this.#observer.disconnected();
    this.end(new ServiceError('SUBSCRIBER_TOO_SLOW'));
  }

  /** Does nothing: this subscriber is live only and has no history to check. */
  check(): void {}

  lag(reset: Envelope): void {
    this.receive(reset);
  }

  end(error: ServiceError): void {
    this.#close(error);
  }

  #close(error: ServiceError | undefined): void {
    if (this.#inbox.isClosed) return;
    this.#inbox.close(error);
    this.#ended(this);
  }
}
