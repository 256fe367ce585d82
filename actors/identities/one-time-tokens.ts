import { parseEmail } from '#runtime/access/identity/email-address.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import { readRecord, recordKey } from '#runtime/commit/record-store.ts';
import { measureJson } from '#runtime/content/values/json-bounds.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { AFTER_END, END } from '#runtime/shard/binary-key.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import { dropUntil, putUntil } from './agenda.ts';
import { configurationOf, identityOfEmail } from './identity-store.ts';
import { IdentitiesTable, putRow, type TokenRow } from './identities-tables.ts';
import {
  type IssuedOneTimeToken,
  type IssueOneTimeToken,
  type OneTimeTokenKind,
  oneTimeTokenMinutes,
  TOKEN_PAYLOAD_UNITS_MAX,
  TOKENS_MAX,
  type UsedOneTimeToken,
} from './messages.ts';

const MINUTE_MS = 60_000;

type TokenName = readonly [emailKey: string, kind: OneTimeTokenKind, hash: string];

/** @see messages.ts, IssueOneTimeToken */
export function issueToken(turn: Turn, command: IssueOneTimeToken): IssuedOneTimeToken {
  const { kind, payload, tokenHash } = command;
  const units = measureJson(payload);
  if (units < 0 || units > TOKEN_PAYLOAD_UNITS_MAX)
    throw invalid('The payload of a one-time token is too large');
  const { magic_link: links } = configurationOf(turn);
  if (kind === 'magic_link' && !links.enabled)
    throw new ServiceError('FORBIDDEN', 'Logins with a link are switched off');
  const { key: emailKey } = parseEmail(command.email);
  if (readRecord(turn, IdentitiesTable.tokenHashes, tokenHash) !== undefined)
    throw new ServiceError('CONFLICT', 'The token is there already');
  dropOldest(turn, emailKey, kind);
  const minutes = kind === 'magic_link' ? links.token_ttl_minutes : oneTimeTokenMinutes[kind];
  const token: TokenRow = { expires_ms: turn.wallMs + minutes * MINUTE_MS, payload };
  const name: TokenName = [emailKey, kind, tokenHash];
  putUntil(turn, 'token', name, token, token.expires_ms);
  putRow(turn, IdentitiesTable.tokenHashes, name, tokenHash);
  return { expiresMs: token.expires_ms };
}

/**
 * Uses a token, which is removed.
 *
 * @throws {ServiceError} `UNAUTHORIZED` for one that is unknown, of another kind, used or expired; all look alike
 */
export function useToken(turn: Turn, kind: OneTimeTokenKind, tokenHash: string): UsedOneTimeToken {
  const name =
    tokenHash === '' ? undefined : readRecord<TokenName>(turn, IdentitiesTable.tokenHashes, tokenHash);
  const token = name === undefined ? undefined : readRecord<TokenRow>(turn, IdentitiesTable.tokens, ...name);
  if (name === undefined || name[1] !== kind || token === undefined || token.expires_ms <= turn.wallMs)
    throw new ServiceError('UNAUTHORIZED', 'The link is not valid; it may have been used, or have expired');
  dropUntil(turn, 'token', name, token.expires_ms);
  const [emailKey] = name;
  return {
    emailKey,
    identityId: identityOfEmail(turn, emailKey)?.identity_id ?? null,
    payload: token.payload,
  };
}

/** Removes the tokens of an address with which somebody could log in or set a password. */
export function dropLoginTokens(turn: Turn, emailKey: string): void {
  for (const kind of ['magic_link', 'password_reset', 'account_activation', 'cli_login'] as const)
    dropTokens(turn, emailKey, kind);
}

/** Removes every token of an address. */
export function dropAllTokens(turn: Turn, emailKey: string): void {
  dropLoginTokens(turn, emailKey);
  for (const kind of ['email_verification', 'workspace_invite'] as const) dropTokens(turn, emailKey, kind);
}

function dropTokens(turn: Turn, emailKey: string, kind: OneTimeTokenKind): void {
  for (const { name, token } of tokensOf(turn, emailKey, kind))
    dropUntil(turn, 'token', name, token.expires_ms);
}

function dropOldest(turn: Turn, emailKey: string, kind: OneTimeTokenKind): void {
  const tokens = tokensOf(turn, emailKey, kind);
  if (tokens.length < TOKENS_MAX) return;
  const first = tokens.reduce((a, b) => (b.token.expires_ms < a.token.expires_ms ? b : a));
  dropUntil(turn, 'token', first.name, first.token.expires_ms);
}

function tokensOf(
  turn: Turn,
  emailKey: string,
  kind: OneTimeTokenKind,
): { readonly name: TokenName; readonly token: TokenRow }[] {
  const prefix = recordKey(emailKey, kind);
  const range = { start: prefix, end: prefix.slice(0, -END.length) + AFTER_END };
  const found: { name: TokenName; token: TokenRow }[] = [];
  // A hash has ASCII characters only.
  for (const { key, value } of turn.range(IdentitiesTable.tokens, range))
    found.push({
      name: [emailKey, kind, key.slice(prefix.length, -END.length)],
      token: decodeJsonRow(value) as TokenRow,
    });
  return found;
}
