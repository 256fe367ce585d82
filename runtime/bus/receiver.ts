import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { Envelope } from './envelope.ts';

/** Receives the events of branches. Its methods neither wait nor throw. */
export interface Receiver {
  /** The next item of a branch. */
  receive(envelope: Envelope): void;
  /** All known events of a branch were delivered: the branch is at the revision of this reset. */
  check(reset: Envelope): void;
  /** Some events of a branch cannot be delivered: the branch is at the revision of this reset. */
  lag(reset: Envelope): void;
  /** The end: no further items are delivered. */
  end(error: ServiceError): void;
}

/** Events of the bus itself, for metrics. */
export interface BusObserver {
  /** Items were handed to receivers. */
  delivered(receivers: number): void;
  /** A subscriber was too slow and was disconnected. */
  disconnected(): void;
  /** A gap was found; this many events were read from the branch. */
  repaired(events: number): void;
  /** A reset was sent to subscribers. */
  reset(): void;
}
