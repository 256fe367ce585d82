import type { Clock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { type CallId, CommonTable, type Turn } from './behaviour.ts';

/**
 * Retention of the outcome of a call whose slot is not reused, in milliseconds, measured by one owner of the actor.
 * Much longer than any caller repeats a call.
 */
export const OUTCOME_KEPT_MS = 600_000;

/** Interval between sweeps of expired outcomes, in milliseconds. */
const SWEEP_MS = 1000;

/** Maximum rows per sweep, so that its cost for a command is negligible. */
const SWEPT_ROWS_MAX = 64;

/** Prefix of every key here. Keys of clients' outcomes begin with a word or a digit. */
const PREFIX = '\u0001';
const AFTER_PREFIX = '\u0002';

/** Bytes of the call number that precedes the result. */
const HEAD_BYTES = 6;

interface Kept {
  readonly number: number;
  readonly json: string;
}

/** An outcome found by a sweep. */
interface Seen {
  readonly number: number;
  /** When it was first found, on the monotonic clock. */
  readonly sinceMs: number;
}

/**
 * The outcomes of commands that other members sent, so that a command whose answer was lost can be resent without
 * taking effect twice. They are written in the turn of the effects.
 *
 * An outcome is needed only until its caller has the answer, so it does not get a row of its own. The caller numbers
 * its concurrent calls to this actor by *slots* and reuses the slot of an answered call, which overwrites its row. The
 * number of rows is the highest number of concurrent calls. Rows of departed callers are swept a few at a time by later
 * commands. The age of a row is what this owner observed on its monotonic clock, because the wall clocks of two
 * owners, or a wall clock that is set, do not give it.
 *
 * Only outcomes of commands with effects are kept: a command that was refused or changed nothing can be repeated.
 *
 * @see docs/decisions/0019-ownership-and-calls.md
 */
export class CallOutcomes {
  readonly #clock: Clock;
  /** Time of the last sweep, on the monotonic clock. */
  #sweptMs = Number.NEGATIVE_INFINITY;
  /** Key at which the last sweep ended. */
  #sweptTo = PREFIX;
  readonly #seen = new Map<string, Seen>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * The outcome of an earlier delivery of the same call, or undefined when there is none.
   *
   * @throws {ServiceError} `REQUEST_CANCELLED` when the caller has reused the slot, so it no longer waits for this call
   */
  earlier(reader: TableReader, call: CallId): { readonly result: unknown } | undefined {
    const bytes = reader.get(CommonTable.idempotency, keyOf(call));
    if (bytes === undefined) return undefined;
    const { number, json } = decode(bytes);
    if (number < call.number) return undefined;
    if (number > call.number) throw new ServiceError('REQUEST_CANCELLED');
    return { result: json === '' ? undefined : JSON.parse(json) };
  }

  /** Keeps an outcome, in the turn of its effects. Does not overwrite that of a later call. */
  keep(turn: Turn, call: CallId, result: unknown): void {
    const key = keyOf(call);
    const before = turn.get(CommonTable.idempotency, key);
    if (before !== undefined && decode(before).number > call.number) return;
    turn.put(CommonTable.idempotency, key, encode(call.number, result));
    this.#sweep(turn);
  }

  #sweep(turn: Turn): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#sweptMs < SWEEP_MS) return;
    this.#sweptMs = nowMs;
    const old: string[] = [];
    let looked = 0;
    let last = PREFIX;
    for (const { key, value } of turn.range(CommonTable.idempotency, {
      start: this.#sweptTo,
      end: AFTER_PREFIX,
    })) {
      if (this.#isOld(key, decode(value).number, nowMs)) old.push(key);
      last = key;
      looked += 1;
      if (looked === SWEPT_ROWS_MAX) break;
    }
    this.#sweptTo = looked < SWEPT_ROWS_MAX ? PREFIX : `${last}\0`;
    for (const key of old) {
      this.#seen.delete(key);
      turn.remove(CommonTable.idempotency, key);
    }
  }

  #isOld(key: string, number: number, nowMs: number): boolean {
    const seen = this.#seen.get(key);
    if (seen?.number === number) return nowMs - seen.sinceMs > OUTCOME_KEPT_MS;
    this.#seen.set(key, { number, sinceMs: nowMs });
    return false;
  }
}

function keyOf({ session, slot }: CallId): string {
  return (
    PREFIX + Buffer.from(session, 'hex').toString('latin1') + String.fromCharCode(slot >> 8, slot & 0xff)
  );
}

function encode(number: number, result: unknown): Buffer {
  const json = JSON.stringify(result) ?? '';
  const bytes = Buffer.allocUnsafe(HEAD_BYTES + Buffer.byteLength(json));
  bytes.writeUIntBE(number, 0, 6);
  bytes.write(json, HEAD_BYTES);
  return bytes;
}

function decode(value: Uint8Array): Kept {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
  return {
    number: bytes.readUIntBE(0, 6),
    get json() {
      return bytes.toString('utf8', HEAD_BYTES);
    },
  };
}
