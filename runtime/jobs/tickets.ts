import type { JobScope } from './ports.ts';

/** Signals that a repository may have a job to claim. Its holder may claim any one job there. */
export interface JobTicket {
  readonly scope: JobScope;
  /** Number of deliveries, including this one. */
  readonly deliveries: number;
  /** Extends the holder's lease. */
  working(): void;
  /** Acknowledges the ticket, which is then removed. */
  used(): void;
  /** Returns the ticket for redelivery. @param afterMs earliest redelivery, in milliseconds */
  again(afterMs: number): void;
}

/**
 * Notifies the members of a cluster of waiting jobs, and distributes them.
 *
 * Promises:
 * 1. Once the issue of a ticket was answered, it is delivered until it is used: at least once, whatever crashes. A
 *    ticket whose holder is silent for a lease is delivered again.
 * 2. A ticket goes to one waiting member at a time. An earlier holder may still believe that it holds it.
 * 3. An id issued again within minutes is the same ticket. Later it is another one, which does no harm: a ticket
 *    without a job to claim is used up.
 */
export interface JobTickets {
  /**
   * Issues a ticket for a job; resolves when it is durable.
   *
   * @throws when durability is not certain: the caller must issue it again
   */
  issue(scope: JobScope, id: string): Promise<void>;
  /**
   * Waits for a ticket.
   *
   * @returns undefined when the signal aborted first
   */
  take(signal: AbortSignal): Promise<JobTicket | undefined>;
  /** Notifies every member that a job is cancelled. The message may be lost: a heartbeat detects it too. */
  tellCancelled(id: string): void;
  /** @param hear called with the ids of cancelled jobs, including those of this member */
  onCancelled(hear: (id: string) => void): void;
  /** Ends all waits. Tickets still held are delivered again when their lease ends. */
  close(): void;
}
