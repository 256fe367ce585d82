import type { Clock } from '#runtime/base/time/clock.ts';
import { type ConnectionSettings, connect } from '#operator/connect.ts';
import { begin, follow, type Operation } from '#operator/operation.ts';
import type { DamageFound } from './check-report.ts';

/** A check of a running server, as the API returns it. */
export interface ServerCheck extends Operation {
  readonly id: string;
  readonly actors: number;
  readonly actors_total: number;
  readonly damage: readonly DamageFound[];
  readonly damage_total: number;
  /** Partitions that the server did not check, or not completely. */
  readonly partitions_skipped: readonly number[];
}

const PATH = '/api/management/checks';

/**
 * Requests a check of stored data from a running server, and waits for it.
 *
 * @param signal cancels the check; it ends when nothing of it is left
 * @param show receives the progress
 * @throws {UsageError} when the server refuses the caller
 * @throws {OperatorError} when the check failed or was cancelled, or the server does not answer
 */
export async function checkServer(
  settings: ConnectionSettings,
  clock: Clock,
  signal: AbortSignal,
  show: (check: ServerCheck) => void,
): Promise<ServerCheck> {
  const client = await connect(settings);
  const { id } = await begin<ServerCheck>(client, PATH);
  return await follow<ServerCheck>(client, `${PATH}/${id}`, clock, show, signal);
}
