import { hash } from 'node:crypto';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Format number of a cursor; other formats are refused. */
const CURSOR_FORMAT = 1;

/** Bytes of the hash of a cursor's binding. */
const BINDING_BYTES = 12;

/** Longest cursor that is decoded, in characters: it may contain a key of a table. */
const CURSOR_CHARACTERS_MAX = 4_096;

const cursorShape = /^[A-Za-z0-9_-]+$/;

/** Any order key is shorter, and a key of a table has room for it. */
const orderKeyShape = /^[0-9A-Za-z]{1,1000}$/;

/** The values a cursor is bound to; if any of them differs, the cursor is refused. */
export type CursorBinding = readonly (string | null)[];

/** The listing of children that a cursor belongs to. */
export interface ListingIdentity {
  /** Repository and branch as addressed. */
  readonly scope: string;
  readonly workspace: string;
  readonly parentId: string;
  /** Revision as text; null at the head. */
  readonly at: string | null;
  /** Locale in its normal form; null without one. */
  readonly locale: string | null;
}

function bindingOf({ scope, workspace, parentId, at, locale }: ListingIdentity): CursorBinding {
  return [scope, workspace, parentId, at, locale];
}

function bindingHash(binding: CursorBinding): Buffer {
  return hash('sha256', JSON.stringify(binding), 'buffer').subarray(0, BINDING_BYTES);
}

/**
 * The token that continues a listing after a place: format number, hash of its binding, the place. It names no item, so
 * it stays valid when items are added, moved or removed.
 *
 * @param place a binary string
 * @returns unpadded base64url
 * @see docs/interface/reading.md#pages
 */
export function formatBoundCursor(binding: CursorBinding, place: string): string {
  const bytes = [Buffer.of(CURSOR_FORMAT), bindingHash(binding), Buffer.from(place, 'latin1')];
  return Buffer.concat(bytes).toString('base64url');
}

/**
 * Reads {@link formatBoundCursor}. The hash is no signature: a client can forge a cursor with any place.
 *
 * @param isPlace whether a text can be a place of the listing
 * @returns the place
 * @throws {ServiceError} `INVALID_CURSOR`
 */
export function parseBoundCursor(
  binding: CursorBinding,
  cursor: string,
  isPlace: (text: string) => boolean,
): string {
  if (cursor.length > CURSOR_CHARACTERS_MAX || !cursorShape.test(cursor)) throw refuse('cannot be read');
  const bytes = Buffer.from(cursor, 'base64url');
  const place = bytes.subarray(1 + BINDING_BYTES).latin1Slice();
  if (bytes[0] !== CURSOR_FORMAT || !isPlace(place) || bytes.toString('base64url') !== cursor) {
    throw refuse('cannot be read or is of an older format');
  }
  if (!bytes.subarray(1, 1 + BINDING_BYTES).equals(bindingHash(binding))) {
    throw refuse('belongs to another listing (path, workspace, branch, revision and lang must be the same)');
  }
  return place;
}

/** The cursor that continues a listing of children after a child. @returns as {@link formatBoundCursor} */
export function formatCursor(identity: ListingIdentity, orderKey: string): string {
  return formatBoundCursor(bindingOf(identity), orderKey);
}

/**
 * Reads {@link formatCursor}.
 *
 * @returns the order key
 * @throws {ServiceError} `INVALID_CURSOR`
 */
export function parseCursor(identity: ListingIdentity, cursor: string): string {
  return parseBoundCursor(bindingOf(identity), cursor, (text) => orderKeyShape.test(text));
}

function refuse(why: string): ServiceError {
  const message = `The cursor ${why}; start the listing again without a cursor`;
  return new ServiceError('INVALID_CURSOR', message, { field: 'cursor' });
}
