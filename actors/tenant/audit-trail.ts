import { actorName, type Principal } from '#runtime/access/principal.ts';
import { CommonTable, type Turn } from '#runtime/commit/behaviour.ts';
import { recordKey, removeRecord, writeRecord } from '#runtime/commit/record-store.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { shortDetails } from '#runtime/content/values/short-details.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { AFTER_END } from '#runtime/shard/binary-key.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import type { Row, TableReader } from '#runtime/shard/shard.ts';
import {
  type ActionRecorded,
  AUDIT_DETAIL_CHARACTERS_MAX,
  AUDIT_PAGE_MAX,
  type AuditEntry,
  type ListAudit,
  type RecordAdminAction,
  type RecordAdminActions,
} from './messages.ts';

/** First part of the names of the rows, in the meta table: a member of an older version applies them unseen. */
const NAME = 'audit';

const START = recordKey(NAME);
const PAST = NAME + AFTER_END;

/** Digits of a sequence in names, so that they sort. */
const SEQUENCE_DIGITS = 12;

/** Entries that are kept at most, of about 300 bytes each. */
const ENTRIES_MAX = 100_000;

/** Time that an entry is kept: more than a year, so that a yearly audit finds everything. */
const KEEP_MS = 400 * 24 * 60 * 60 * 1000;

/** Entries that one action removes at most: two for each one added, so that a long trail becomes short again. */
const REMOVED_MAX = 2;

/** An action for the trail. */
export interface NotedAction {
  /** What was done, in the past tense. */
  readonly action: string;
  readonly subject: string;
  /** No secrets. */
  readonly details?: JsonObject;
  /** The identity for which the engine acts. */
  readonly identityId?: string;
}

/**
 * Adds an action of the caller to the audit trail, in the transaction that carries it out. Old entries are removed.
 *
 * @see docs/interface/accounts.md#audit-trail
 */
export function noteAction(turn: Turn, { action, details = {}, identityId, subject }: NotedAction): void {
  const entry: AuditEntry = {
    sequence: newestSequence(turn) + 1,
    at: new Date(turn.wallMs).toISOString(),
    actor: auditActor(turn.caller.principal, identityId),
    action,
    subject,
    details,
  };
  writeRecord(turn, CommonTable.meta, entry, NAME, sequenceText(entry.sequence));
  removeOld(turn, entry.sequence);
  const event: ActionRecorded = { type: 'ActionRecorded', entry };
  turn.emit(event);
}

/**
 * What is recorded was done already, so it is never refused: long details are shortened.
 *
 * @see messages.ts, RecordAdminAction
 */
export function recordAction(
  turn: Turn,
  { action, details = {}, identityId, subject }: Omit<RecordAdminAction, 'type'>,
): void {
  const by = identityId === undefined ? {} : { identityId };
  noteAction(turn, { action, subject, details: shortDetails(details, AUDIT_DETAIL_CHARACTERS_MAX), ...by });
}

/** @see messages.ts, RecordAdminActions */
export function recordActions(turn: Turn, { actions, identityId }: RecordAdminActions): void {
  const by = identityId === undefined ? {} : { identityId };
  for (const action of actions) recordAction(turn, { ...action, ...by });
}

/** @see messages.ts, ListAudit */
export function listAudit(reader: TableReader, { before, limit }: ListAudit): readonly AuditEntry[] {
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > AUDIT_PAGE_MAX)
    throw invalid(`limit is a number from 1 to ${AUDIT_PAGE_MAX}`, { field: 'limit' });
  const end = before === undefined ? PAST : recordKey(NAME, sequenceText(before));
  const entries: AuditEntry[] = [];
  for (const { value } of reader.range(CommonTable.meta, { start: START, end, reverse: true })) {
    entries.push(decodeJsonRow(value) as AuditEntry);
    if (entries.length === limit) break;
  }
  return entries;
}

/** Whether a row of the meta table is an entry that is stored under another sequence than its own. */
export function isMisplacedEntry({ key, value }: Row): boolean {
  if (!key.startsWith(START)) return false;
  const { sequence } = decodeJsonRow(value) as AuditEntry;
  return key !== recordKey(NAME, sequenceText(sequence));
}

function auditActor(principal: Principal, identityId: string | undefined): AuditEntry['actor'] {
  // Nobody but the engine speaks for others.
  if (principal.kind === 'system' && identityId !== undefined)
    return { user_id: identityId, username: identityId };
  const userId = principal.kind === 'admin' ? principal.userId : null;
  return { user_id: userId, username: actorName(principal) };
}

function newestSequence(reader: TableReader): number {
  for (const { value } of reader.range(CommonTable.meta, { start: START, end: PAST, reverse: true }))
    return (decodeJsonRow(value) as AuditEntry).sequence;
  return 0;
}

function removeOld(turn: Turn, newest: number): void {
  const old: number[] = [];
  for (const { value } of turn.range(CommonTable.meta, { start: START, end: PAST })) {
    const { at, sequence } = decodeJsonRow(value) as AuditEntry;
    if (sequence > newest - ENTRIES_MAX && turn.ageMs(Date.parse(at)) <= KEEP_MS) break;
    old.push(sequence);
    if (old.length === REMOVED_MAX) break;
  }
  for (const sequence of old) removeRecord(turn, CommonTable.meta, NAME, sequenceText(sequence));
}

function sequenceText(sequence: number): string {
  return String(sequence).padStart(SEQUENCE_DIGITS, '0');
}
