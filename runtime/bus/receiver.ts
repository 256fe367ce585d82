import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { Envelope } from './envelope.ts';

/** One who is told what happens in branches. Nothing of it waits or throws. */
export interface Receiver {
  /** The next item of a branch. */
  receive(envelope: Envelope): void;
  /** All that a branch has was handed out: it stands at the revision of this reset. */
  check(reset: Envelope): void;
  /** Something of a branch cannot be handed out: it stands at the revision of this reset. */
  lag(reset: Envelope): void;
  /** Nothing more comes. */
  end(error: ServiceError): void;
}

/** What the bus tells about itself; metrics hang on it. */
export interface BusObserver {
  /** Items were handed to receivers. */
  delivered(receivers: number): void;
  /** A subscriber was too slow and was disconnected. */
  disconnected(): void;
  /** Something was found missing; so many events were read from the branch. */
  repaired(events: number): void;
  /** Subscribers were told to start anew. */
  reset(): void;
}
