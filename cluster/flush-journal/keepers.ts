import { RECORD_HEADER_BYTES, RecordKind } from '#cluster/replication/record-format.ts';

/** Members a partition's records are kept by at most: the owner and its followers, with room for more. */
const KEEPERS_MAX = 16;

/**
 * The members whose flush journals decide whether a record is durable. They stand in the log itself, as what a `noop`
 * record says, so that everybody agrees on them. A change goes through a record that names both sets (Raft's joint
 * consensus): until a majority of each has that one, and from then on until the set stands alone, both are asked.
 */
export interface Keepers {
  /** The same as `new` but during a change; empty before there were any. */
  readonly old: readonly string[];
  readonly new: readonly string[];
}

/** Before a log has named any. */
export const noKeepers: Keepers = Object.freeze({ old: Object.freeze([]), new: Object.freeze([]) });

/** The body of the record that names them. */
export function encodeKeepers({ old, new: next }: Keepers): Buffer {
  return Buffer.from(JSON.stringify({ keepers: { old, new: next } }), 'utf8');
}

/** What a message says of the keepers. @returns undefined for one that does not say anything of them */
export function keepersIn(bytes: Buffer): Keepers | undefined {
  if (bytes[5] !== RecordKind.noop || bytes.length === RECORD_HEADER_BYTES) return undefined;
  try {
    const { keepers } = JSON.parse(bytes.toString('utf8', RECORD_HEADER_BYTES)) as { keepers?: unknown };
    return keepersOf(keepers);
  } catch {
    // A statement of a later version about something else.
    return undefined;
  }
}

/** Reads what {@link encodeKeepers} or a standing says of them. */
export function keepersOf(value: unknown): Keepers | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { old, new: next } = value as { old?: unknown; new?: unknown };
  return isNames(old) && isNames(next) ? { old, new: next } : undefined;
}

function isNames(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.length <= KEEPERS_MAX &&
    value.every((each) => typeof each === 'string' && each.length > 0)
  );
}

/** Whether a change of the keepers is under way. */
export function isJoint({ old, new: next }: Keepers): boolean {
  return !sameNames(old, next);
}

/** Whether two sets have the same members. */
export function sameNames(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((each) => others.includes(each));
}

/**
 * The highest sequence that a majority of some members has reached.
 *
 * @param reached by member; 0 for one that is not named
 * @returns `Infinity` for no members
 */
export function majorityReached(names: readonly string[], reached: ReadonlyMap<string, number>): number {
  if (names.length === 0) return Number.POSITIVE_INFINITY;
  const sequences = names.map((name) => reached.get(name) ?? 0).sort((a, b) => b - a);
  return sequences[Math.floor(names.length / 2)] as number;
}

/** Whether a majority of the keepers, of both sets during a change, is among some members. */
export function isMajority({ old, new: next }: Keepers, members: ReadonlySet<string>): boolean {
  return [old, next].every(
    (names) =>
      names.length === 0 || names.filter((name) => members.has(name)).length > Math.floor(names.length / 2),
  );
}
