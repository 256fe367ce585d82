import { isLargeJson } from '#runtime/base/text/sliced-json.ts';
import { type ErrorFacts, ServiceError } from '#runtime/errors/service-error.ts';
import { type ErrorCode, errorRegistry } from '#runtime/errors/error-registry.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { principalKey } from '#runtime/access/principal.ts';
import { CommonTable, type Caller, type IdempotencyKey, type Turn } from './behaviour.ts';

/** Limits of the idempotency table. @see docs/configuration.md, [limits] */
export interface IdempotencyLimits {
  readonly ttlMs: number;
  readonly entriesMax: number;
}

/**
 * Size in characters up to which a result, or the details of an error, are kept unchanged for a repetition of the
 * request. Details may quote values that are as long as a body.
 */
export const KEPT_WHOLE_CHARACTERS: number = 64 * 1024;

interface KeptError extends Omit<ErrorFacts, 'cause'> {
  readonly code: ErrorCode;
  readonly message: string;
}

interface Outcome {
  readonly hash: string;
  readonly at: number;
  readonly result?: unknown;
  readonly error?: KeptError;
}

/** Expired rows removed by each keyed command: two, so that the table shrinks faster than it can grow. */
const SWEPT_PER_COMMAND = 2;

/** Digits of a timestamp in a key. */
const TIME_LENGTH = 12;

const COUNT_KEY = 'idempotency_count';

/** Number of the current memory; absent: 0. */
const MEMORY_KEY = 'idempotency_memory';

/** Whether a row belongs to the kept outcomes, which are specific to one actor and its clients. */
export function isIdempotencyRow(table: number, key: string): boolean {
  return (
    table === CommonTable.idempotency ||
    table === CommonTable.idempotencyExpiry ||
    (table === CommonTable.meta && key === COUNT_KEY)
  );
}

/**
 * Drops every outcome at constant cost: for a copy of another actor, whose outcomes do not apply to it. The rows become
 * unreachable, and are swept when they would have expired.
 */
export function forgetOutcomes(turn: Turn): void {
  turn.put(CommonTable.meta, MEMORY_KEY, Buffer.from(String(readNumber(turn, MEMORY_KEY) + 1)));
  turn.remove(CommonTable.meta, COUNT_KEY);
}

/** Key prefix of the current memory: empty for the first one, as in every shard of the first builds. */
function memoryPrefix(reader: TableReader): string {
  const memory = readNumber(reader, MEMORY_KEY);
  // All other keys begin with the kind of a principal, which is a word.
  return memory === 0 ? '' : `${memory}\0`;
}

/** The number of the memory a row belongs to. */
function memoryOf(row: string): number {
  const number = Number(row.slice(0, row.indexOf('\0')));
  return Number.isNaN(number) ? 0 : number;
}

function rowKey(reader: TableReader, caller: Caller, key: string): string {
  const text = `${memoryPrefix(reader)}${principalKey(caller.principal)}\0${key}`;
  return Buffer.from(text).toString('latin1');
}

function timeKey(atMs: number, row: string): string {
  return atMs.toString(16).padStart(TIME_LENGTH, '0') + row;
}

function readNumber(reader: TableReader, name: string): number {
  const bytes = reader.get(CommonTable.meta, name);
  return bytes === undefined ? 0 : Number(Buffer.from(bytes).toString('latin1'));
}

/**
 * The stored outcome of an earlier command with the same key, thrown or returned, or undefined when this is
 * the first one.
 *
 * @throws {ServiceError} the stored error; `IDEMPOTENCY_MISMATCH` when the key was used with another request
 */
export function replayed(
  reader: TableReader,
  caller: Caller,
  key: IdempotencyKey,
  turn: Pick<Turn, 'ageMs'>,
  limits: IdempotencyLimits,
): { result: unknown } | undefined {
  const bytes = reader.get(CommonTable.idempotency, rowKey(reader, caller, key.key));
  if (bytes === undefined) return undefined;
  const outcome = JSON.parse(Buffer.from(bytes).toString()) as Outcome;
  if (turn.ageMs(outcome.at) > limits.ttlMs) return undefined;
  if (outcome.hash !== key.requestHash) throw new ServiceError('IDEMPOTENCY_MISMATCH');
  if (outcome.error === undefined) return { result: outcome.result };
  const { code, message, ...facts } = outcome.error;
  throw new ServiceError(code, message, facts);
}

/**
 * Whether an error is caused by the request itself, so that every repetition would fail alike and the error is kept.
 * Cancellation is not: a client may reconnect and repeat the request with the same key.
 */
export function isLasting(error: unknown): error is ServiceError {
  return (
    error instanceof ServiceError &&
    error.code !== 'REQUEST_CANCELLED' &&
    errorRegistry[error.code].advice === 'give-up' &&
    error.entry.status < 500
  );
}

/**
 * Keeps the outcome of a keyed command, in the turn of its effects, and sweeps expired ones. An error is kept only while
 * the table is less than half full: it had no effect that a repetition could double, and a caller who may not write at
 * all must not fill the table for those who may.
 *
 * @param caller who sent the key; default: the caller of the turn
 * @throws {ServiceError} `RATE_LIMITED` for a result when the table is full, because entries are never dropped early
 */
export function remember(
  turn: Turn,
  key: IdempotencyKey,
  outcome: { result: unknown } | { error: ServiceError },
  limits: IdempotencyLimits,
  caller: Caller = turn.caller,
): void {
  const swept = sweep(turn, limits);
  const count = readNumber(turn, COUNT_KEY) - swept;
  const isError = 'error' in outcome;
  if (isError && count >= limits.entriesMax / 2) {
    turn.put(CommonTable.meta, COUNT_KEY, Buffer.from(String(count)));
    return;
  }
  if (count >= limits.entriesMax) {
    throw new ServiceError(
      'RATE_LIMITED',
      'Too many idempotency keys are kept for this branch; wait until old ones expire',
    );
  }
  const row = rowKey(turn, caller, key.key);
  const stored: Outcome = isError
    ? { hash: key.requestHash, at: turn.wallMs, error: keptError(outcome.error) }
    : { hash: key.requestHash, at: turn.wallMs, result: outcome.result };
  turn.put(CommonTable.idempotency, row, Buffer.from(JSON.stringify(stored)));
  turn.put(CommonTable.idempotencyExpiry, timeKey(turn.wallMs + limits.ttlMs, row), new Uint8Array(0));
  turn.put(CommonTable.meta, COUNT_KEY, Buffer.from(String(count + 1)));
}

/** What a client is told of an error, without details that are too long to be kept. */
function keptError({ code, details, field, message }: ServiceError): KeptError {
  const isKept = details !== undefined && !isLargeJson(details, KEPT_WHOLE_CHARACTERS);
  return {
    code,
    message,
    ...(field === undefined ? {} : { field }),
    ...(isKept ? { details } : {}),
  };
}

/** @returns how many rows of the current memory were removed */
function sweep(turn: Turn, limits: IdempotencyLimits): number {
  const now = timeKey(turn.wallMs, '');
  const expired: string[] = [];
  for (const { key } of turn.range(CommonTable.idempotencyExpiry, { start: '', end: now })) {
    if (turn.ageMs(Number.parseInt(key.slice(0, TIME_LENGTH), 16) - limits.ttlMs) <= limits.ttlMs) break;
    expired.push(key);
    if (expired.length === SWEPT_PER_COMMAND) break;
  }
  const memory = readNumber(turn, MEMORY_KEY);
  let counted = 0;
  for (const key of expired) {
    turn.remove(CommonTable.idempotencyExpiry, key);
    const row = key.slice(TIME_LENGTH);
    if (memoryOf(row) === memory) counted += 1;
    const bytes = turn.get(CommonTable.idempotency, row);
    // The key may have been used again: then its row is newer and has an expiry row of its own.
    if (
      bytes !== undefined &&
      turn.ageMs((JSON.parse(Buffer.from(bytes).toString()) as Outcome).at) >= limits.ttlMs
    ) {
      turn.remove(CommonTable.idempotency, row);
    }
  }
  return counted;
}
