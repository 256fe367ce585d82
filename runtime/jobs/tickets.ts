import type { JobScope } from './ports.ts';

/** Says that there may be a job to claim in a repository. Whoever holds it may claim one there, any one. */
export interface JobTicket {
  readonly scope: JobScope;
  /** How often it has been handed out, this time included. */
  readonly deliveries: number;
  /** It is still made use of: nobody else gets it for another lease. */
  working(): void;
  /** It has served its purpose and is gone. */
  used(): void;
  /** It is handed out again. @param afterMs not before, in milliseconds */
  again(afterMs: number): void;
}

/**
 * What tells the members of a cluster that there are jobs to be done, and spreads them.
 *
 * Promises:
 * 1. A ticket whose issue was answered is handed out until it is used up: at least once, whatever crashes. One whose
 *    holder says nothing for a lease is handed out again.
 * 2. Of several who wait one gets it. Somebody who was given it earlier may still believe to have it.
 * 3. An id that is issued again within minutes is one ticket. Later it is another one, which does no harm: a ticket
 *    that finds nothing to claim is used up.
 */
export interface JobTickets {
  /**
   * Issues a ticket for a job; resolves when it will not be lost.
   *
   * @throws when that is not certain: then issue it again
   */
  issue(scope: JobScope, id: string): Promise<void>;
  /**
   * Waits for a ticket.
   *
   * @returns undefined when the signal aborted first
   */
  take(signal: AbortSignal): Promise<JobTicket | undefined>;
  /** Tells every member that a job is cancelled. May be lost: a heartbeat finds out as well. */
  tellCancelled(id: string): void;
  /** @param hear called with the ids of cancelled jobs, of this member's too */
  onCancelled(hear: (id: string) => void): void;
  /** Ends what waits. What is held is handed out again when its time is up. */
  close(): void;
}
