import { parseEmail } from '#runtime/access/identity/email-address.ts';
import type { QueryContext, Turn } from '#runtime/commit/behaviour.ts';
import { listRecords, readRecord, recordKey } from '#runtime/commit/record-store.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { AFTER_END, END } from '#runtime/shard/binary-key.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import type { Range, ShardSnapshot, TableReader } from '#runtime/shard/shard.ts';
import { dropUntil, putUntil } from './agenda.ts';
import {
  accessIndexName,
  type AccessName,
  type AccessRow,
  dropRow,
  IdentitiesTable,
  type IdentityRow,
  putRow,
} from './identities-tables.ts';
import { configurationOf, findIdentity, requireIdentity, timestampOf } from './identity-store.ts';
import {
  ACCESS_KEPT_MS,
  ACCESS_PAGE_MAX,
  type AccessEntry,
  type AccessPage,
  type AccessStatus,
  accessStatuses,
  type DecideAccess,
  type EndInvitation,
  type FindAccess,
  type FindInvitation,
  INVITATION_DAYS_MAX,
  INVITED_MAX,
  type InviteToRepository,
  type ListAccess,
  PENDING_MAX,
  type RequestAccess,
  type TakeInvitation,
  TAKEN_MS,
} from './people-messages.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Rows read between two looks at the slice. */
const ROWS_PER_STEP = 64;

/** @see people-messages.ts, RequestAccess */
export function requestAccess(turn: Turn, command: RequestAccess): AccessEntry {
  const { identityId, message, repository, roles } = command;
  if (!configurationOf(turn).access_settings.allow_access_requests)
    throw new ServiceError('FORBIDDEN', 'Requests for access are switched off');
  if (!requireIdentity(turn, identityId).is_active) throw new ServiceError('ACCOUNT_DISABLED');
  const name: AccessName = ['identity', identityId, repository];
  const before = readAccess(turn, name);
  const at = timestampOf(turn);
  if (before?.status === 'pending')
    return put(turn, name, { ...before, message, requested_roles: roles, updated_at: at }, before);
  requireRoom(turn, repository, 'pending', PENDING_MAX, 'Too many requests for access are pending');
  const row: AccessRow = {
    ...newRow(turn, repository, at),
    identity_id: identityId,
    status: 'pending',
    requested_roles: roles,
    message,
  };
  return put(turn, name, row, before);
}

/** @see people-messages.ts, DecideAccess */
export function decideAccess(
  turn: Turn,
  { by, decision, id, reason, repository }: DecideAccess,
): AccessEntry {
  const found = rowOf(turn, repository, id, turn.wallMs);
  if (found === undefined) throw new ServiceError('NOT_FOUND', 'There is no such request');
  const isTaken = found.taken_ms !== undefined;
  if (found.status === decision && !isTaken) return shown(found);
  // Whoever took an invitation is giving the access.
  const isOpen = isTaken && (decision === 'active' || hasLeft(turn, found));
  if (found.status !== 'pending' && found.status !== 'invited' && !isOpen)
    throw new ServiceError(
      'CONFLICT',
      `The request is ${found.status === 'active' ? 'granted' : 'denied'} already`,
    );
  return putDecided(turn, found, decision, reason, by);
}

/** @see people-messages.ts, InviteToRepository */
export function inviteToRepository(turn: Turn, command: InviteToRepository): AccessEntry {
  const { by, days, message, repository, roles } = command;
  if (!configurationOf(turn).access_settings.allow_invitations)
    throw new ServiceError('FORBIDDEN', 'Invitations are switched off');
  if (!Number.isInteger(days) || days < 1 || days > INVITATION_DAYS_MAX)
    throw invalid(`An invitation is valid for 1 to ${INVITATION_DAYS_MAX} days`, {
      field: 'expires_in_days',
    });
  const { address, key } = parseEmail(command.email);
  const name: AccessName = ['email', key, repository];
  const before = readAccess(turn, name);
  const at = timestampOf(turn);
  const isOpen = before?.status === 'invited' && before.forget_ms > turn.wallMs;
  if (!isOpen) requireRoom(turn, repository, 'invited', INVITED_MAX, 'Too many invitations are open');
  const row: AccessRow = {
    ...(isOpen ? before : newRow(turn, repository, at)),
    email: address,
    status: 'invited',
    requested_roles: roles,
    message,
    decided_by: by,
    updated_at: at,
    forget_ms: turn.wallMs + days * DAY_MS,
  };
  return put(turn, name, row, before);
}

/** @see people-messages.ts, TakeInvitation */
export function takeInvitation(turn: Turn, { identityId, repository }: TakeInvitation): AccessEntry | null {
  const found = invitationOf(turn, repository, identityId, turn.wallMs);
  if (found === undefined) return null;
  const updatedAt = found.taken_ms === undefined ? timestampOf(turn) : found.updated_at;
  const taken: AccessRow = { ...found, status: 'active', updated_at: updatedAt, taken_ms: turn.wallMs };
  return put(turn, nameOf(found), taken, found);
}

/** Whether whoever took an invitation is not using it any more; also when the clock was set back since. */
function hasLeft(turn: Turn, { taken_ms: takenMs = 0 }: AccessRow): boolean {
  return Math.abs(turn.wallMs - takenMs) >= TAKEN_MS;
}

/** @see people-messages.ts, EndInvitation */
export function endInvitation(turn: Turn, { by, identityId, reason, repository }: EndInvitation): void {
  const identity = findIdentity(turn, identityId);
  if (identity === undefined) return;
  const open = openInvitation(turn, identity, repository, turn.wallMs);
  if (open !== undefined) putDecided(turn, open, 'denied', reason, by);
}

/** Removes what an identity has asked for. */
export function dropAccessOf(turn: Turn, identityId: string): void {
  for (const row of listRecords<AccessRow>(turn, IdentitiesTable.access, 'identity', identityId)) {
    dropUntil(turn, 'access', nameOf(row), row.forget_ms);
    dropRow(turn, IdentitiesTable.accessIndex, ...accessIndexName(row));
  }
}

/** @see people-messages.ts, FindAccess */
export function findAccess(
  reader: TableReader,
  { id, repository }: FindAccess,
  nowMs: number,
): AccessEntry | undefined {
  const row = rowOf(reader, repository, id, nowMs);
  return row === undefined ? undefined : shown(row);
}

/** @see people-messages.ts, FindInvitation */
export function findInvitation(
  reader: TableReader,
  { identityId, repository }: FindInvitation,
  nowMs: number,
): AccessEntry | undefined {
  const row = invitationOf(reader, repository, identityId, nowMs);
  return row === undefined ? undefined : shown(row);
}

function invitationOf(
  reader: TableReader,
  repository: string,
  identityId: string,
  nowMs: number,
): AccessRow | undefined {
  const identity = findIdentity(reader, identityId);
  // Whoever registers an address without proving it must not get what was meant for its owner.
  if (identity === undefined || !identity.is_active || !identity.email_verified) return undefined;
  return openInvitation(reader, identity, repository, nowMs);
}

/** The invitation of an address that is open, or is being used. */
function openInvitation(
  reader: TableReader,
  { email }: IdentityRow,
  repository: string,
  nowMs: number,
): AccessRow | undefined {
  const row = readAccess(reader, ['email', parseEmail(email).key, repository]);
  const isOpen = row?.status === 'invited' || row?.taken_ms !== undefined;
  return isOpen && row.forget_ms > nowMs ? row : undefined;
}

/** @see people-messages.ts, ListAccess */
export async function listAccess(query: ListAccess, context: QueryContext): Promise<AccessPage> {
  const { limit, offset } = query;
  if (limit < 1 || limit > ACCESS_PAGE_MAX || offset < 0)
    throw invalid(`A page has 1 to ${ACCESS_PAGE_MAX} requests, and begins at 0 or later`);
  const snapshot = context.pin();
  try {
    return await pageOf(query, snapshot, context);
  } finally {
    snapshot.close();
  }
}

async function pageOf(
  query: ListAccess,
  snapshot: ShardSnapshot,
  context: QueryContext,
): Promise<AccessPage> {
  const { limit, offset, repository, status } = query;
  const nowMs = context.clock.wallMs();
  const entries: AccessEntry[] = [];
  let total = 0;
  for (const one of status === undefined ? accessStatuses : [status]) {
    const range = indexRange(repository, one);
    let { end } = range;
    for (;;) {
      let read = 0;
      for (const { key, value } of snapshot.range(IdentitiesTable.accessIndex, {
        ...range,
        end,
        reverse: true,
      })) {
        end = key;
        read += 1;
        const row = readAccess(snapshot, decodeJsonRow(value) as AccessName);
        if (row !== undefined && row.forget_ms > nowMs) {
          if (total >= offset && entries.length < limit) entries.push(shown(row));
          total += 1;
        }
        if (read === ROWS_PER_STEP) break;
      }
      if (read < ROWS_PER_STEP) break;
      const wait = context.pause();
      if (wait !== undefined) await wait;
    }
  }
  return { entries, total };
}

function newRow(turn: Turn, repository: string, at: string): AccessRow {
  return {
    id: turn.newId(),
    repository,
    identity_id: null,
    email: null,
    status: 'pending',
    requested_roles: [],
    message: null,
    reason: null,
    decided_by: null,
    created_at: at,
    updated_at: at,
    forget_ms: turn.wallMs + ACCESS_KEPT_MS,
  };
}

/** Reads the rows only where their number is reached: some of them may have ended. */
function requireRoom(
  turn: Turn,
  repository: string,
  status: AccessStatus,
  most: number,
  message: string,
): void {
  const names: Uint8Array[] = [];
  for (const { value } of turn.range(IdentitiesTable.accessIndex, indexRange(repository, status)))
    names.push(value);
  if (names.length < most) return;
  const open = names.filter((name) => {
    const row = readAccess(turn, decodeJsonRow(name) as AccessName);
    return row !== undefined && row.forget_ms > turn.wallMs;
  });
  if (open.length >= most) throw new ServiceError('RATE_LIMITED', message);
}

function putDecided(
  turn: Turn,
  found: AccessRow,
  decision: DecideAccess['decision'],
  reason: string | null,
  by: string,
): AccessEntry {
  const { taken_ms: _, ...rest } = found;
  const decided: AccessRow = {
    ...rest,
    status: decision,
    reason,
    decided_by: by,
    updated_at: timestampOf(turn),
    forget_ms: turn.wallMs + ACCESS_KEPT_MS,
  };
  return put(turn, nameOf(found), decided, found);
}

function put(turn: Turn, name: AccessName, row: AccessRow, before: AccessRow | undefined): AccessEntry {
  if (before !== undefined) dropRow(turn, IdentitiesTable.accessIndex, ...accessIndexName(before));
  putUntil(turn, 'access', name, row, row.forget_ms, before?.forget_ms);
  putRow(turn, IdentitiesTable.accessIndex, name, ...accessIndexName(row));
  return shown(row);
}

function rowOf(reader: TableReader, repository: string, id: string, nowMs: number): AccessRow | undefined {
  if (id === '' || repository === '') return undefined;
  for (const status of accessStatuses) {
    const name = readRecord<AccessName>(reader, IdentitiesTable.accessIndex, repository, status, id);
    const row = name === undefined ? undefined : readAccess(reader, name);
    if (row !== undefined) return row.forget_ms > nowMs ? row : undefined;
  }
  return undefined;
}

function readAccess(reader: TableReader, name: AccessName): AccessRow | undefined {
  return readRecord<AccessRow>(reader, IdentitiesTable.access, ...name);
}

function nameOf({ email, identity_id: identityId, repository }: AccessRow): AccessName {
  return identityId === null
    ? ['email', parseEmail(email as string).key, repository]
    : ['identity', identityId, repository];
}

function indexRange(repository: string, status: AccessStatus): Range & { readonly end: string } {
  const prefix = recordKey(repository, status);
  return { start: prefix, end: prefix.slice(0, -END.length) + AFTER_END };
}

function shown({ forget_ms: _, taken_ms: __, ...entry }: AccessRow): AccessEntry {
  return entry;
}
