import type { ActorEvent } from '#runtime/commit/behaviour.ts';

/**
 * Commands and queries about login links that are to be sent by mail. The actor stores what is to be sent, and the member
 * that has it sends it: see docs/decisions/0073-magic-links.md. All of them are for the engine only.
 */

/** Requests for one address within {@link ADDRESS_WINDOW_MS}. @see docs/interface/magic-links.md#limits-of-links */
export const ADDRESS_REQUESTS_MAX = 5;

/** See {@link ADDRESS_REQUESTS_MAX}. */
export const ADDRESS_WINDOW_MS: number = 15 * 60 * 1000;

/** Requests of one client within {@link CLIENT_WINDOW_MS}. @see docs/interface/magic-links.md#limits-of-links */
export const CLIENT_REQUESTS_MAX = 20;

/** See {@link CLIENT_REQUESTS_MAX}. */
export const CLIENT_WINDOW_MS: number = 60 * 60 * 1000;

/** Links of a tenant that wait to be sent. */
export const LINKS_WAITING_MAX = 5_000;

/**
 * Asks for a link that is sent to an address. It does not matter whether the address has an account: whoever sends the
 * link looks. Result: {@link LinkRequested}.
 *
 * @throws {ServiceError} `INVALID_EMAIL`, `VALIDATION_FAILED`; `FORBIDDEN` while links are switched off; `RATE_LIMITED`
 *   for an address or a client with too many requests; `OVERLOADED` while too many wait
 */
export interface RequestLink {
  readonly type: 'RequestLink';
  readonly email: string;
  /** Repository of the login; null for the tenant as a whole. */
  readonly repository: string | null;
  /** Where the person lands, which was checked. */
  readonly landing: string;
  /** Where the client is: as in `NewSession`. */
  readonly place: string;
}

/** Result of {@link RequestLink}. */
export interface LinkRequested {
  /** Lifetime of the link. */
  readonly minutes: number;
}

/** A link that is to be sent. */
export interface WaitingLink {
  readonly id: string;
  readonly email: string;
  readonly repository: string | null;
  readonly landing: string;
  /** When it need not be sent any more. */
  readonly expires_ms: number;
}

/** Removes a link that was sent, or will not be. Result: undefined. */
export interface EndLink {
  readonly type: 'EndLink';
  readonly id: string;
}

/** Links that are to be sent, those that end first before the others. Answer: array of {@link WaitingLink}. */
export interface ListWaitingLinks {
  readonly type: 'ListWaitingLinks';
}

/** A link that is to be sent. Answer: {@link WaitingLink}, or undefined when it is not any more. */
export interface FindWaitingLink {
  readonly type: 'FindWaitingLink';
  readonly id: string;
}

/** What a link that was sent is good for, without using it. Answer: {@link SentLink}, or undefined for a useless one. */
export interface FindSentLink {
  readonly type: 'FindSentLink';
  readonly tokenHash: string;
}

/** What a link is good for: the payload of its one-time token. */
export interface SentLink {
  readonly repository: string | null;
  readonly landing: string;
}

/** A link is to be sent. */
export interface LinkWaiting extends ActorEvent {
  readonly type: 'LinkWaiting';
  readonly id: string;
}

/** Whether an event says that a link is to be sent. */
export function isLinkWaiting(event: ActorEvent): event is LinkWaiting {
  return event.type === 'LinkWaiting';
}
