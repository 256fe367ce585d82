import { assert } from '#runtime/base/assert.ts';
import { CommonTable, type Turn } from '#runtime/commit/behaviour.ts';
import { readRecord, recordKey } from '#runtime/commit/record-store.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import {
  accessIndexName,
  type AccessRow,
  agendaBefore,
  agendaKey,
  type AgendaKind,
  agendaKinds,
  agendaTables,
  dropRow,
  IdentitiesTable,
  putRow,
} from './identities-tables.ts';

/** Rows of each kind that a command removes once their time has come: two, so that fewer are left than were added. */
const SWEPT_PER_COMMAND = 2;

/** Most rows of attempts at addresses without an account. When there would be more, the one that ends first is removed. */
export const OTHER_ATTEMPTS_MAX = 10_000;

/** As {@link OTHER_ATTEMPTS_MAX}, for clients that ask for links, and for addresses without an account. */
export const REQUESTS_MAX = 20_000;

/** A kind of rows that are counted. */
interface CountedKind {
  /** Key in `meta` of their number. */
  readonly key: string;
  /** When there would be more, the one that ends first is removed; undefined: whoever adds one sees to it. */
  readonly max?: number;
}

const countedOf: Partial<Readonly<Record<AgendaKind, CountedKind>>> = {
  'other-attempts': { key: 'other_attempts', max: OTHER_ATTEMPTS_MAX },
  'other-requests': { key: 'other_requests', max: REQUESTS_MAX },
  'client-requests': { key: 'client_requests', max: REQUESTS_MAX },
  link: { key: 'waiting_links' },
};

/** The kinds whose rows are counted. */
export const countedKinds: readonly AgendaKind[] = Object.freeze(Object.keys(countedOf) as AgendaKind[]);

/** The number of rows of a kind that is counted. */
export function counted(reader: TableReader, kind: AgendaKind): number {
  const bytes = reader.get(CommonTable.meta, keyOfCount(kind));
  return bytes === undefined ? 0 : (decodeJsonRow(bytes) as number);
}

/** The stored form of {@link counted}. */
export function countedRow(
  kind: AgendaKind,
  count: number,
): { table: number; key: string; value: Uint8Array } {
  return { table: CommonTable.meta, key: keyOfCount(kind), value: encodeJsonRow(count) };
}

function keyOfCount(kind: AgendaKind): string {
  const { key } = countedOf[kind] ?? {};
  assert(key !== undefined, `rows of ${kind} are counted`);
  return key;
}

/**
 * Stores a row that is removed at a time.
 *
 * @param beforeMs when the row that it replaces would have been removed; undefined: there is none
 */
export function putUntil(
  turn: Turn,
  kind: AgendaKind,
  name: readonly string[],
  row: unknown,
  atMs: number,
  beforeMs?: number,
): void {
  if (beforeMs === undefined) {
    makeRoom(turn, kind);
    add(turn, kind, 1);
  }
  if (beforeMs !== undefined && beforeMs !== atMs)
    turn.remove(IdentitiesTable.agenda, agendaKey(kind, beforeMs, name));
  putRow(turn, agendaTables[kind], row, ...name);
  if (beforeMs !== atMs) turn.put(IdentitiesTable.agenda, agendaKey(kind, atMs, name), encodeJsonRow(name));
}

/** Removes a row before its time. @param atMs when it would have been removed */
export function dropUntil(turn: Turn, kind: AgendaKind, name: readonly string[], atMs: number): void {
  turn.remove(IdentitiesTable.agenda, agendaKey(kind, atMs, name));
  dropRow(turn, agendaTables[kind], ...name);
  if (kind === 'token') dropRow(turn, IdentitiesTable.tokenHashes, name.at(-1) as string);
  add(turn, kind, -1);
}

/**
 * Removes rows whose time has come, a bounded number of each kind. Every command that adds rows calls it, so that
 * nothing depends on a timer.
 */
export function sweep(turn: Turn): void {
  for (const kind of agendaKinds) dropFirst(turn, kind, SWEPT_PER_COMMAND, turn.wallMs + 1);
}

function dropFirst(turn: Turn, kind: AgendaKind, count: number, beforeMs?: number): void {
  const found: { readonly key: string; readonly name: readonly string[] }[] = [];
  for (const { key, value } of turn.range(IdentitiesTable.agenda, agendaBefore(kind, beforeMs))) {
    found.push({ key, name: decodeJsonRow(value) as readonly string[] });
    if (found.length === count) break;
  }
  for (const { key, name } of found) {
    turn.remove(IdentitiesTable.agenda, key);
    if (kind === 'access') dropAccessIndex(turn, name);
    turn.remove(agendaTables[kind], recordKey(...name));
    if (kind === 'token') dropRow(turn, IdentitiesTable.tokenHashes, name.at(-1) as string);
    add(turn, kind, -1);
  }
}

function dropAccessIndex(turn: Turn, name: readonly string[]): void {
  const row = readRecord<AccessRow>(turn, IdentitiesTable.access, ...name);
  if (row !== undefined) dropRow(turn, IdentitiesTable.accessIndex, ...accessIndexName(row));
}

function makeRoom(turn: Turn, kind: AgendaKind): void {
  const max = countedOf[kind]?.max;
  if (max !== undefined && counted(turn, kind) >= max) dropFirst(turn, kind, 1);
}

function add(turn: Turn, kind: AgendaKind, by: number): void {
  if (countedOf[kind] === undefined) return;
  const { key, table, value } = countedRow(kind, counted(turn, kind) + by);
  turn.put(table, key, value);
}
