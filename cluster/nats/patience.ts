import { JetStreamApiError, JetStreamError } from '@nats-io/jetstream';
import { errors, type NatsConnection } from '@nats-io/transport-node';
import { backoffMs } from '#runtime/base/time/backoff.ts';
import { type Clock, sleep } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Time for which an unanswered request is repeated, in milliseconds: a leader may have to be elected. */
const PATIENCE_MS = 15_000;

const RETRY = { firstMs: 50, factor: 2, mostMs: 1_000 };

/** Codes of refusals for lack of space: account, server, memory or storage exceeded, and a store that failed. */
const NO_SPACE: ReadonlySet<number> = new Set([10_002, 10_023, 10_028, 10_047, 10_077]);

/** Codes of temporary refusals: no leader at present, a busy store. */
const PASSING: ReadonlySet<number> = new Set([10_008, 10_009]);

/** Environment of repeated requests. */
export interface PatienceEnvironment {
  readonly connection: NatsConnection;
  readonly clock: Clock;
  readonly random: Random;
  /** Name of the unreachable service for the error message. */
  readonly what: string;
}

/**
 * Repeats a request to JetStream while the servers elect a leader.
 *
 * @param request must be safe to execute more than once
 * @throws {ServiceError} `STORAGE_FULL`; `OVERLOADED` when the servers do not answer
 * @throws the error of `request` when it is not temporary
 */
export async function patiently<T>(
  { clock, connection, random, what }: PatienceEnvironment,
  request: () => Promise<T>,
): Promise<T> {
  const untilMs = clock.monotonicMs() + PATIENCE_MS;
  for (let retries = 0; ; retries++) {
    try {
      return await request();
    } catch (error) {
      if (isFull(error)) throw new ServiceError('STORAGE_FULL', undefined, { cause: error });
      if (!isPassing(error)) throw error;
      if (clock.monotonicMs() >= untilMs || connection.isClosed())
        throw new ServiceError('OVERLOADED', `${what} cannot be reached; try again`, { cause: error });
    }
    await sleep(clock, backoffMs(RETRY, retries, random));
  }
}

function isFull(error: unknown): boolean {
  return error instanceof JetStreamApiError && NO_SPACE.has(error.code);
}

/** Returns whether a failed request may succeed unchanged later: no leader at present, no reply, no connection. */
export function isPassing(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return PASSING.has(error.code) || error.status === 503;
  // The leader does not reply, or there is none.
  return (
    error instanceof JetStreamError ||
    // The client does not export this error: the request had no reply because no server leads.
    (error instanceof Error && error.name === 'JetStreamNotEnabled') ||
    error instanceof errors.TimeoutError ||
    error instanceof errors.RequestError ||
    error instanceof errors.NoRespondersError ||
    error instanceof errors.ConnectionError ||
    error instanceof errors.ClosedConnectionError
  );
}
