import { isIdempotencyRow } from '#runtime/commit/idempotency.ts';
import type { ActorId } from './ports.ts';

/** A row of a backup. */
export interface StoredRow {
  readonly table: number;
  readonly key: string;
  readonly value: Uint8Array;
}

/**
 * What becomes of a row in the actor that is made of a backup: another value, or null where the row belonged to the
 * time and place it was made in.
 */
export type RestoreRow = (row: StoredRow) => Uint8Array | null;

/** As `restore`, without the memory of outcomes: whoever repeats a request meant the actor that was copied. */
export function withoutOutcomes(restore: RestoreRow): RestoreRow {
  return (row) => (isIdempotencyRow(row.table, row.key) ? null : restore(row));
}

/** Gives actors of one repository or tenant the ids they have under another owner. */
export function movedActors(from: string, to: string): (actor: ActorId) => ActorId {
  return (actor) => (actor === from || actor.startsWith(`${from}/`) ? to + actor.slice(from.length) : actor);
}
