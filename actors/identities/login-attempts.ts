import { createHash } from 'node:crypto';
import type { AuthConfiguration } from '#runtime/access/identity/auth-configuration.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import { readRecord, recordKey } from '#runtime/commit/record-store.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { AFTER_END, bytesText, END } from '#runtime/shard/binary-key.ts';
import { dropUntil, putUntil } from './agenda.ts';
import { type AgendaKind, type AttemptsRow, EVERYWHERE, IdentitiesTable } from './identities-tables.ts';

/** Time after the last failure, or the end of its lock, after which failures from nowhere in particular are forgotten. */
export const FAILURES_KEPT_MS: number = 24 * 60 * 60 * 1000;

/** Time after the last login after which a place is forgotten. */
export const PLACE_KEPT_MS: number = 90 * 24 * 60 * 60 * 1000;

/** Most places of an account; when there would be more, the one that was used least recently is forgotten. */
export const PLACES_MAX = 8;

const MINUTE_MS = 60_000;

/**
 * Failed logins to one address. Failures lock it as {@link AuthConfiguration} says: from the places where the person has
 * logged in before, each place by itself; from everywhere else together. So a stranger who fails all day locks out other
 * strangers, and a person at a new place, but nobody at a place of their own.
 *
 * Addresses without an account are counted alike, so that a lock does not tell whether there is one.
 */
export class LoginAttempts {
  readonly #reader: TableReader;
  readonly #subject: string;
  readonly #isAccount: boolean;
  readonly #nowMs: number;

  /**
   * @param emailKey of the address
   * @param isAccount whether there is an account with it
   */
  constructor(reader: TableReader, emailKey: string, isAccount: boolean, nowMs: number) {
    this.#reader = reader;
    this.#subject = createHash('sha256').update(emailKey).digest('hex');
    this.#isAccount = isAccount;
    this.#nowMs = nowMs;
  }

  /** Milliseconds until the lock for a place ends; 0: it is open. */
  lockedMs(place: string, { rate_limiting: limits }: AuthConfiguration): number {
    const row = this.#row(this.#bucket(place));
    return row === undefined ? 0 : lockedMsOf(row, limits.lockout_duration_minutes * MINUTE_MS, this.#nowMs);
  }

  /** Whether the person has logged in from a place. */
  isKnown(place: string): boolean {
    return this.#row(place) !== undefined;
  }

  /** Counts a failure from a place that is not locked. */
  failed(turn: Turn, place: string, { rate_limiting: limits }: AuthConfiguration): void {
    const bucket = this.#bucket(place);
    const before = this.#row(bucket);
    const failed = (before?.failed ?? 0) + 1;
    const isLocking = failed >= limits.lockout_threshold;
    const lockMs = isLocking ? limits.lockout_duration_minutes * MINUTE_MS : 0;
    this.#put(turn, bucket, {
      failed,
      locked_ms: isLocking ? turn.wallMs : null,
      // A place stays known for its time. Its count ends with it.
      forget_ms:
        bucket === EVERYWHERE ? turn.wallMs + lockMs + FAILURES_KEPT_MS : (before as AttemptsRow).forget_ms,
      is_account: this.#isAccount,
    });
  }

  /** The person logged in from a place, or set a password there: it is one of their own, without failures. */
  succeeded(turn: Turn, place: string, { rate_limiting: limits }: AuthConfiguration): void {
    const everywhere = this.#row(EVERYWHERE);
    // The lock of others stays, so that a login does not give a stranger another five attempts at once.
    if (
      everywhere !== undefined &&
      lockedMsOf(everywhere, limits.lockout_duration_minutes * MINUTE_MS, turn.wallMs) === 0
    )
      this.#drop(turn, EVERYWHERE, everywhere);
    this.#put(turn, place, {
      failed: 0,
      locked_ms: null,
      forget_ms: turn.wallMs + PLACE_KEPT_MS,
      is_account: true,
    });
    this.#forgetPlaces(turn);
  }

  /** Forgets everything: there is a new account with the address, or none any more. */
  forget(turn: Turn): void {
    for (const { bucket, row } of this.#rows()) this.#drop(turn, bucket, row);
  }

  #forgetPlaces(turn: Turn): void {
    const places = this.#rows().filter(({ bucket }) => bucket !== EVERYWHERE);
    if (places.length <= PLACES_MAX) return;
    const oldest = places.reduce((a, b) => (b.row.forget_ms < a.row.forget_ms ? b : a));
    this.#drop(turn, oldest.bucket, oldest.row);
  }

  #bucket(place: string): string {
    return this.isKnown(place) ? place : EVERYWHERE;
  }

  /** A row that counts: one that was to be removed by now may still be there. */
  #row(bucket: string): AttemptsRow | undefined {
    const stored = this.#stored(bucket);
    return stored === undefined || stored.forget_ms <= this.#nowMs ? undefined : stored;
  }

  #stored(bucket: string): AttemptsRow | undefined {
    return readRecord<AttemptsRow>(this.#reader, IdentitiesTable.attempts, this.#subject, bucket);
  }

  #rows(): { readonly bucket: string; readonly row: AttemptsRow }[] {
    const prefix = recordKey(this.#subject);
    const range = { start: prefix, end: prefix.slice(0, -END.length) + AFTER_END };
    const rows: { bucket: string; row: AttemptsRow }[] = [];
    for (const { key, value } of this.#reader.range(IdentitiesTable.attempts, range))
      rows.push({
        bucket: bytesText(key.slice(prefix.length, -END.length)),
        row: decodeJsonRow(value) as AttemptsRow,
      });
    return rows;
  }

  #put(turn: Turn, bucket: string, row: AttemptsRow): void {
    const before = this.#stored(bucket);
    putUntil(turn, kindOf(row), [this.#subject, bucket], row, row.forget_ms, before?.forget_ms);
  }

  #drop(turn: Turn, bucket: string, row: AttemptsRow): void {
    dropUntil(turn, kindOf(row), [this.#subject, bucket], row.forget_ms);
  }
}

/** The agenda that removes a row of attempts. */
export function kindOf({ is_account: isAccount }: AttemptsRow): AgendaKind {
  return isAccount ? 'account-attempts' : 'other-attempts';
}

/** A lock of a clock that was ahead, by more than the duration, has ended. */
function lockedMsOf({ locked_ms: lockedMs }: AttemptsRow, durationMs: number, nowMs: number): number {
  if (lockedMs === null || Math.abs(nowMs - lockedMs) >= durationMs) return 0;
  return lockedMs + durationMs - nowMs;
}
