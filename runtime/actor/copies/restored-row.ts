import { isIdempotencyRow } from '#runtime/commit/idempotency.ts';
import type { ActorId } from '../ports.ts';

/** A row of a backup. */
export interface StoredRow {
  readonly table: number;
  readonly key: string;
  readonly value: Uint8Array;
}

/**
 * Converts a row of a backup for the restored actor: returns another value, or null for a row that is valid only at its
 * original time and place.
 */
export type RestoreRow = (row: StoredRow) => Uint8Array | null;

/** As `restore`, without kept outcomes: repeated requests are addressed to the original actor. */
export function withoutOutcomes(restore: RestoreRow): RestoreRow {
  return (row) => (isIdempotencyRow(row.table, row.key) ? null : restore(row));
}

/** Maps the actors of one repository or tenant to their ids under another owner. */
export function movedActors(from: string, to: string): (actor: ActorId) => ActorId {
  return (actor) => (actor === from || actor.startsWith(`${from}/`) ? to + actor.slice(from.length) : actor);
}
