import { createHash } from 'node:crypto';
import { parseEmail } from '#runtime/access/identity/email-address.ts';
import { LANDING_CHARACTERS_MAX } from '#runtime/access/identity/landing-address.ts';
import type { Turn } from '#runtime/commit/behaviour.ts';
import { listRecords, readRecord } from '#runtime/commit/record-store.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { counted, dropUntil, putUntil } from './agenda.ts';
import { configurationOf, identityOfEmail } from './identity-store.ts';
import { IdentitiesTable, type RequestsRow, type TokenRow } from './identities-tables.ts';
import {
  ADDRESS_REQUESTS_MAX,
  ADDRESS_WINDOW_MS,
  CLIENT_REQUESTS_MAX,
  CLIENT_WINDOW_MS,
  type LinkRequested,
  type LinkWaiting,
  LINKS_WAITING_MAX,
  type RequestLink,
  type SentLink,
  type WaitingLink,
} from './link-messages.ts';
import { requirePlace } from './logins.ts';

const MINUTE_MS = 60_000;

/** What requests are counted for. Each row is removed at its time. */
export interface CountedRequests {
  readonly name: readonly [subject: string, kind: 'address' | 'client'];
  readonly max: number;
  readonly windowMs: number;
  /** Requests for an address that has an account are not forgotten for those of others. */
  readonly kind: RequestsRow['kind'];
}

/** @see link-messages.ts, RequestLink */
export function requestLink(turn: Turn, command: RequestLink): LinkRequested {
  const { landing, repository } = command;
  const { magic_link: links } = configurationOf(turn);
  if (!links.enabled) throw new ServiceError('FORBIDDEN', 'Logins with a link are switched off');
  const { address, key } = parseEmail(command.email);
  if (landing.length > LANDING_CHARACTERS_MAX) throw invalid('The address to land at is too long');
  const subjects: readonly CountedRequests[] = [
    {
      ...ofAddress(key),
      kind: identityOfEmail(turn, key) === undefined ? 'other-requests' : 'account-requests',
    },
    { ...ofClient(command.place), kind: 'client-requests' },
  ];
  // A refused request does not count, otherwise a client that repeats it would never get through.
  for (const subject of subjects) requireRoom(turn, subject);
  if (counted(turn, 'link') >= LINKS_WAITING_MAX)
    throw new ServiceError('OVERLOADED', 'Too many links wait to be sent; try again later');
  for (const subject of subjects) count(turn, subject);
  const link: WaitingLink = {
    id: turn.newId(),
    email: address,
    repository,
    landing,
    expires_ms: turn.wallMs + links.token_ttl_minutes * MINUTE_MS,
  };
  putUntil(turn, 'link', [link.id], link, link.expires_ms);
  const waiting: LinkWaiting = { type: 'LinkWaiting', id: link.id };
  turn.emit(waiting);
  return { minutes: links.token_ttl_minutes };
}

/** Requests for one address. @param key of the address, and of the tenant where it is another one */
export function ofAddress(key: string): Omit<CountedRequests, 'kind'> {
  const name = [createHash('sha256').update(key).digest('hex'), 'address'] as const;
  return { name, max: ADDRESS_REQUESTS_MAX, windowMs: ADDRESS_WINDOW_MS };
}

/** Requests of one client. @throws {ServiceError} `VALIDATION_FAILED` for a place that is no hash */
export function ofClient(place: string): Omit<CountedRequests, 'kind'> {
  return { name: [requirePlace(place), 'client'], max: CLIENT_REQUESTS_MAX, windowMs: CLIENT_WINDOW_MS };
}

/** @see link-messages.ts, EndLink */
export function endLink(turn: Turn, id: string): void {
  const link = findWaitingLink(turn, id);
  if (link !== undefined) dropUntil(turn, 'link', [id], link.expires_ms);
}

/** @see link-messages.ts, ListWaitingLinks */
export function listWaitingLinks(reader: TableReader): readonly WaitingLink[] {
  const links = listRecords<WaitingLink>(reader, IdentitiesTable.waitingLinks);
  return links.sort((a, b) => a.expires_ms - b.expires_ms);
}

/** @see link-messages.ts, FindWaitingLink */
export function findWaitingLink(reader: TableReader, id: string): WaitingLink | undefined {
  return id === '' ? undefined : readRecord<WaitingLink>(reader, IdentitiesTable.waitingLinks, id);
}

/** @see link-messages.ts, FindSentLink */
export function findSentLink(reader: TableReader, tokenHash: string, nowMs: number): SentLink | undefined {
  const name =
    tokenHash === ''
      ? undefined
      : readRecord<readonly string[]>(reader, IdentitiesTable.tokenHashes, tokenHash);
  if (name?.[1] !== 'magic_link') return undefined;
  const token = readRecord<TokenRow>(reader, IdentitiesTable.tokens, ...name);
  return token === undefined || token.expires_ms <= nowMs
    ? undefined
    : (token.payload as unknown as SentLink);
}

/** @throws {ServiceError} `RATE_LIMITED` when there were too many requests */
export function requireRoom(turn: Turn, subject: CountedRequests): void {
  const times = timesOf(turn, subject);
  const first = times.at(-subject.max);
  if (first === undefined) return;
  const waitMs = Math.min(Math.max(first + subject.windowMs - turn.wallMs, 1), subject.windowMs);
  throw new ServiceError('RATE_LIMITED', 'Too many links were asked for; wait and try again', {
    details: { retry_after_seconds: Math.ceil(waitMs / 1000) },
  });
}

/** Counts a request. */
export function count(turn: Turn, subject: CountedRequests): void {
  const { kind, name, windowMs } = subject;
  const before = stored(turn, subject);
  const row: RequestsRow = {
    times_ms: [...timesOf(turn, subject), turn.wallMs],
    forget_ms: turn.wallMs + windowMs,
    kind,
  };
  const isKept = before?.kind === kind;
  // The address has got an account since, or lost it.
  if (before !== undefined && !isKept) dropUntil(turn, before.kind, name, before.forget_ms);
  putUntil(turn, kind, name, row, row.forget_ms, isKept ? before.forget_ms : undefined);
}

/** Requests within the window. Those of a clock that was ahead by more than the window do not count. */
function timesOf(turn: Turn, subject: CountedRequests): readonly number[] {
  const times = stored(turn, subject)?.times_ms ?? [];
  return times.filter((atMs) => Math.abs(turn.wallMs - atMs) < subject.windowMs);
}

function stored(turn: Turn, { name }: CountedRequests): RequestsRow | undefined {
  return readRecord<RequestsRow>(turn, IdentitiesTable.linkRequests, ...name);
}
