import type { AuthConfiguration } from '#runtime/access/identity/auth-configuration.ts';
import { isPasswordTooOld } from '#runtime/access/identity/password-policy.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import { listRecords, readRecord } from '#runtime/commit/record-store.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { dropUntil, putUntil } from './agenda.ts';
import { configurationOf, findIdentity, shownIdentity } from './identity-store.ts';
import { IdentitiesTable, type IdentityRow, type SessionRow } from './identities-tables.ts';
import {
  ACTIVITY_MS,
  type ListSessions,
  type NewSession,
  type NoteActivity,
  type OpenedSession,
  type RefreshOutcome,
  type RefreshRefusal,
  type RefreshSession,
  type RevokeSession,
  type Session,
  type SessionEnd,
} from './messages.ts';

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

/** How long a session lasts. It is not prolonged by its use. */
export const SESSION_MS: number = DAY_MS;

/** As {@link SESSION_MS}, for a person who wants to be remembered. */
export const REMEMBERED_SESSION_MS: number = 30 * DAY_MS;

/**
 * Most sessions of an identity that have ended and are still stored, so that a refresh says why it is refused. When
 * there would be more, the oldest is removed.
 */
export const ENDED_SESSIONS_MAX = 50;

/**
 * Opens a session. When the identity has as many as it may have, the oldest are revoked.
 *
 * @param strategy how the person has shown who they are
 * @throws {ServiceError} `CONFLICT` for an id that is taken
 */
export function openSession(
  turn: Turn,
  identity: IdentityRow,
  strategy: string,
  session: NewSession,
  configuration: AuthConfiguration,
): OpenedSession {
  const { identity_id: identityId } = identity;
  const { session_settings: settings } = configuration;
  if (readSession(turn, identityId, session.sessionId) !== undefined)
    throw new ServiceError('CONFLICT', 'The id of the session is taken');
  const open = openSessionsOf(turn, identityId, turn.wallMs);
  // At least one place is needed for the new one.
  for (const oldest of open.slice(settings.max_sessions_per_user - 1).reverse())
    end(turn, oldest, 'session_limit');
  const lastsMs = session.rememberMe ? REMEMBERED_SESSION_MS : SESSION_MS;
  const row: SessionRow = {
    session_id: session.sessionId,
    identity_id: identityId,
    auth_strategy: strategy,
    repository: session.repository,
    user_agent: session.userAgent,
    ip_address: session.ipAddress,
    created_ms: turn.wallMs,
    last_active_ms: turn.wallMs,
    expires_ms: turn.wallMs + lastsMs,
    forget_ms: turn.wallMs + lastsMs + settings.refresh_token_duration_days * DAY_MS,
    revoked: null,
    token_family: session.family,
    token_generation: 1,
    token_hash: session.tokenHash,
  };
  putUntil(turn, 'session', nameOf(row), row, row.forget_ms);
  pruneEnded(turn, identityId);
  return openedOf(identity, row, configuration, turn.wallMs);
}

/**
 * Exchanges a refresh token, with the checks in the order of the interface. A token of another family or generation was
 * stolen or copied, so nobody can tell who has the right one: the session ends.
 */
export function refreshSession(turn: Turn, command: RefreshSession): RefreshOutcome {
  const session = knownSession(turn, command.identityId, command.sessionId);
  if (session === undefined) return refused('SESSION_NOT_FOUND');
  if (session.revoked !== null) return refused('SESSION_REVOKED');
  if (session.expires_ms <= turn.wallMs) return refused('SESSION_EXPIRED');
  if (session.token_family !== command.family) {
    end(turn, session, 'family_mismatch');
    return refused('TOKEN_FAMILY_MISMATCH');
  }
  if (session.token_generation !== command.generation || session.token_hash !== command.tokenHash) {
    end(turn, session, 'token_reused');
    return refused('TOKEN_REUSE_DETECTED');
  }
  const identity = findIdentity(turn, command.identityId);
  if (identity === undefined) return refused('IDENTITY_NOT_FOUND');
  if (!identity.is_active) return refused('ACCOUNT_DISABLED');
  const rotated: SessionRow = {
    ...session,
    token_generation: session.token_generation + 1,
    token_hash: command.nextTokenHash,
    last_active_ms: turn.wallMs,
  };
  putSession(turn, rotated);
  return { isRefreshed: true, opened: openedOf(identity, rotated, configurationOf(turn), turn.wallMs) };
}

/**
 * Requires a session of an identity that has not ended. An access token is valid until it expires, also after the end of
 * its session, so the token alone is no right to change the account or to end its other sessions.
 *
 * @throws {ServiceError} `UNAUTHORIZED`
 */
export function requireOpenSession(
  reader: TableReader,
  identityId: string,
  sessionId: string | undefined,
  nowMs: number,
): void {
  const session = readSession(reader, identityId, sessionId ?? '');
  if (session === undefined || !isOpen(session, nowMs))
    throw new ServiceError('UNAUTHORIZED', 'The session of the token has ended; log in again');
}

/** @see messages.ts, RevokeSession */
export function revokeSession(turn: Turn, command: RevokeSession): void {
  const { askingSessionId, identityId, reason, sessionId } = command;
  if (askingSessionId !== undefined) requireOpenSession(turn, identityId, askingSessionId, turn.wallMs);
  const session = knownSession(turn, identityId, sessionId);
  if (session === undefined) throw new ServiceError('NOT_FOUND', 'Session not found');
  if (isOpen(session, turn.wallMs)) end(turn, session, reason);
}

/** Ends the open sessions of an identity, except one. @returns how many ended */
export function endSessions(turn: Turn, identityId: string, reason: SessionEnd, except?: string): number {
  const ending = openSessionsOf(turn, identityId, turn.wallMs).filter(({ session_id: id }) => id !== except);
  for (const session of ending) end(turn, session, reason);
  return ending.length;
}

/** Removes every session of an identity. */
export function removeSessions(turn: Turn, identityId: string): void {
  for (const session of sessionsOf(turn, identityId))
    dropUntil(turn, 'session', nameOf(session), session.forget_ms);
}

/** @see messages.ts, NoteActivity */
export function noteActivity(turn: Turn, { identityId, sessionId }: NoteActivity): void {
  const session = knownSession(turn, identityId, sessionId);
  if (session === undefined || !isOpen(session, turn.wallMs)) return;
  if (turn.wallMs - session.last_active_ms < ACTIVITY_MS) return;
  putSession(turn, { ...session, last_active_ms: turn.wallMs });
}

/** @see messages.ts, ListSessions */
export function listSessions(
  reader: TableReader,
  { identityId }: ListSessions,
  nowMs: number,
): readonly Session[] {
  return openSessionsOf(reader, identityId, nowMs).map(shownSession);
}

function openSessionsOf(reader: TableReader, identityId: string, nowMs: number): readonly SessionRow[] {
  return sessionsOf(reader, identityId).filter((session) => isOpen(session, nowMs));
}

/** The stored sessions of an identity, newest first. */
function sessionsOf(reader: TableReader, identityId: string): readonly SessionRow[] {
  if (identityId === '') return [];
  return listRecords<SessionRow>(reader, IdentitiesTable.sessions, identityId).sort(newestFirst);
}

function newestFirst(a: SessionRow, b: SessionRow): number {
  return b.created_ms - a.created_ms || (a.session_id < b.session_id ? 1 : -1);
}

function readSession(reader: TableReader, identityId: string, sessionId: string): SessionRow | undefined {
  if (identityId === '' || sessionId === '') return undefined;
  return readRecord<SessionRow>(reader, IdentitiesTable.sessions, identityId, sessionId);
}

/** A session whose row was to be removed by now, and may still be there, is not known. */
function knownSession(turn: Turn, identityId: string, sessionId: string): SessionRow | undefined {
  const session = readSession(turn, identityId, sessionId);
  return session === undefined || session.forget_ms <= turn.wallMs ? undefined : session;
}

function isOpen({ expires_ms: expiresMs, revoked }: SessionRow, nowMs: number): boolean {
  return revoked === null && nowMs < expiresMs;
}

function end(turn: Turn, session: SessionRow, reason: SessionEnd): void {
  putSession(turn, { ...session, revoked: { reason, at_ms: turn.wallMs } });
}

function putSession(turn: Turn, session: SessionRow): void {
  putUntil(turn, 'session', nameOf(session), session, session.forget_ms, session.forget_ms);
}

function pruneEnded(turn: Turn, identityId: string): void {
  const ended = sessionsOf(turn, identityId).filter((session) => !isOpen(session, turn.wallMs));
  for (const session of ended.slice(ENDED_SESSIONS_MAX))
    dropUntil(turn, 'session', nameOf(session), session.forget_ms);
}

function nameOf({ identity_id: identityId, session_id: sessionId }: SessionRow): readonly [string, string] {
  return [identityId, sessionId];
}

function refused(code: RefreshRefusal): RefreshOutcome {
  return { isRefreshed: false, code };
}

function openedOf(
  identity: IdentityRow,
  session: SessionRow,
  { password_policy: policy, session_settings: settings }: AuthConfiguration,
  nowMs: number,
): OpenedSession {
  const credentials = session.auth_strategy === 'local' ? identity.local_credentials : null;
  return {
    identity: shownIdentity(identity),
    session: shownSession(session),
    mustChangePassword:
      credentials !== null &&
      (credentials.must_change_password || isPasswordTooOld(credentials.password_changed_ms, policy, nowMs)),
    accessTokenHours: settings.duration_hours,
    refreshTokenDays: settings.refresh_token_duration_days,
  };
}

function shownSession(session: SessionRow): Session {
  return {
    session_id: session.session_id,
    auth_strategy: session.auth_strategy,
    repository: session.repository,
    user_agent: session.user_agent,
    ip_address: session.ip_address,
    created_ms: session.created_ms,
    last_active_ms: session.last_active_ms,
    expires_ms: session.expires_ms,
    token_generation: session.token_generation,
  };
}
