import { invalid } from '#runtime/errors/service-error.ts';
import {
  LOCK_NAME_LENGTH_MAX,
  LOCK_TTL_MS_MAX,
  LOCK_TTL_MS_MIN,
  LOCK_WAIT_MS_MAX,
  POOL_UNITS_MAX,
} from './messages.ts';

/** The characters of Unicode category Cc. Testing a Unicode property class takes four times as long. */
const control = /[\u0000-\u001f\u007f-\u009f]/;

/**
 * Whether a text is a valid name of a lock or pool. Keys of a shard are bytes, so names must be well-formed Unicode.
 */
export function isLockName(text: string): boolean {
  if (text === '' || text.length > LOCK_NAME_LENGTH_MAX) return false;
  // Clients normalize these path segments away before they send a request.
  if (text === '.' || text === '..') return false;
  return text.isWellFormed() && !control.test(text);
}

/**
 * Checks the name of a lock or pool.
 *
 * @param field name on the wire
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function requireLockName(text: string, field: 'key' | 'pool'): void {
  if (isLockName(text)) return;
  throw invalid(
    `\`${field}\` has 1 to ${LOCK_NAME_LENGTH_MAX} characters, no control characters, and is not . or ..`,
    { field },
  );
}

/** Checks the owner of a lock. @throws {ServiceError} `VALIDATION_FAILED` */
export function requireOwner(text: string | null): void {
  if (text === null || (text.length <= LOCK_NAME_LENGTH_MAX && text.isWellFormed())) return;
  throw invalid(`\`owner\` has at most ${LOCK_NAME_LENGTH_MAX} characters`, { field: 'owner' });
}

/** Checks the time to live of a lease. @throws {ServiceError} `VALIDATION_FAILED` */
export function requireTtl(ttlMs: number): void {
  requireBetween('ttl_ms', ttlMs, LOCK_TTL_MS_MIN, LOCK_TTL_MS_MAX);
}

/** Checks the wait time of an acquire. @throws {ServiceError} `VALIDATION_FAILED` */
export function requireWait(waitMs: number): void {
  requireBetween('wait_ms', waitMs, 0, LOCK_WAIT_MS_MAX);
}

/** Checks a number of units. @throws {ServiceError} `VALIDATION_FAILED` */
export function requireUnits(n: number): void {
  requireBetween('n', n, 1, POOL_UNITS_MAX);
}

/** Checks the capacity of a pool. @throws {ServiceError} `VALIDATION_FAILED` */
export function requireCapacity(capacity: number): void {
  requireBetween('capacity', capacity, 0, POOL_UNITS_MAX);
}

function requireBetween(field: string, value: number, min: number, max: number): void {
  if (Number.isSafeInteger(value) && value >= min && value <= max) return;
  throw invalid(`\`${field}\` must be a whole number from ${min} to ${max}.`, { field });
}
