import { hash } from 'node:crypto';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Format number of a cursor; one of another format is refused. */
const CURSOR_FORMAT = 1;

/** Bytes of the hash of what a cursor is bound to. */
const BINDING_BYTES = 12;

/** Longest cursor that is looked at, in characters. */
const CURSOR_CHARACTERS_MAX = 1024;

const cursorShape = /^[A-Za-z0-9_-]+$/;
const orderKeyShape = /^[0-9A-Za-z]+$/;

/** What a cursor belongs to; with any of it different the cursor is foreign. */
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

function bindingOf({ scope, workspace, parentId, at, locale }: ListingIdentity): Buffer {
  const text = JSON.stringify([scope, workspace, parentId, at, locale]);
  return hash('sha256', text, 'buffer').subarray(0, BINDING_BYTES);
}

/**
 * The token that continues a listing behind a child: format number, hash of what it belongs to, order key. It
 * names a place and not a child, so it stays good when siblings come, move or go.
 *
 * @returns unpadded base64url
 * @see docs/interface/reading.md#pages
 */
export function formatCursor(identity: ListingIdentity, orderKey: string): string {
  const bytes = [Buffer.of(CURSOR_FORMAT), bindingOf(identity), Buffer.from(orderKey, 'latin1')];
  return Buffer.concat(bytes).toString('base64url');
}

/**
 * Reads {@link formatCursor}.
 *
 * @returns the order key
 * @throws {ServiceError} `INVALID_CURSOR`
 */
export function parseCursor(identity: ListingIdentity, cursor: string): string {
  if (cursor.length > CURSOR_CHARACTERS_MAX || !cursorShape.test(cursor)) throw refuse('cannot be read');
  const bytes = Buffer.from(cursor, 'base64url');
  const orderKey = bytes.subarray(1 + BINDING_BYTES).latin1Slice();
  if (bytes[0] !== CURSOR_FORMAT || !orderKeyShape.test(orderKey) || bytes.toString('base64url') !== cursor) {
    throw refuse('cannot be read or is of an older format');
  }
  if (!bytes.subarray(1, 1 + BINDING_BYTES).equals(bindingOf(identity))) {
    throw refuse('belongs to another listing (path, workspace, branch, revision and lang must be the same)');
  }
  return orderKey;
}

function refuse(why: string): ServiceError {
  const message = `The cursor ${why}; start the listing again without a cursor`;
  return new ServiceError('INVALID_CURSOR', message, { field: 'cursor' });
}
