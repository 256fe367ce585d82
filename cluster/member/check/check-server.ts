import type { Clock } from '#runtime/base/clock.ts';
import { type ConnectionSettings, connect } from '#cluster/operator/connect.ts';
import { begin, follow, type Operation } from '#cluster/operator/operation.ts';
import type { DamageFound } from './check-report.ts';

/** A check of a running server, as it is answered. */
export interface ServerCheck extends Operation {
  readonly id: string;
  readonly actors: number;
  readonly actors_total: number;
  readonly damage: readonly DamageFound[];
  readonly damage_total: number;
  /** Partitions that the server did not check, or not to their end. */
  readonly partitions_skipped: readonly number[];
}

const PATH = '/api/management/checks';

/**
 * Has a running server check what it has stored, and waits for it.
 *
 * @param signal gives the check up; it is over when nothing of it is left
 * @param show told how far it is
 * @throws {UsageError} when the server does not take who asks
 * @throws {OperatorError} when the check failed or was given up, or nobody answers
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
