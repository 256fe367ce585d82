import { RECORD_HEADER_BYTES, RecordKind } from '#cluster/replication/record-format.ts';

/** Maximum number of voters of a partition: the owner and its followers, with space for more. */
const VOTERS_MAX = 16;

/**
 * The members whose flush journals decide whether a record is durable. They are recorded in the log itself, in the
 * body of a `noop` record, so that all members agree on them. A change goes through a record that names both sets
 * (Raft's joint consensus): from that record until the new set stands alone, majorities of both are required.
 */
export interface Voters {
  /** Equal to `new` except during a change; empty before the first voters. */
  readonly old: readonly string[];
  readonly new: readonly string[];
}

/** Before the log has named any. */
export const noVoters: Voters = Object.freeze({ old: Object.freeze([]), new: Object.freeze([]) });

/** Encodes the body of the record that names them. Its key is that of the first format, which older members read. */
export function encodeVoters({ old, new: next }: Voters): Buffer {
  return Buffer.from(JSON.stringify({ keepers: { old, new: next } }), 'utf8');
}

/** Returns the voters in a message. @returns undefined for a message without voters */
export function votersIn(bytes: Buffer): Voters | undefined {
  if (bytes[5] !== RecordKind.noop || bytes.length === RECORD_HEADER_BYTES) return undefined;
  try {
    const { keepers } = JSON.parse(bytes.toString('utf8', RECORD_HEADER_BYTES)) as { keepers?: unknown };
    return votersOf(keepers);
  } catch {
    // A statement of a later version about something else.
    return undefined;
  }
}

/** Reads the voters of {@link encodeVoters} or of a status. */
export function votersOf(value: unknown): Voters | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { old, new: next } = value as { old?: unknown; new?: unknown };
  return isNames(old) && isNames(next) ? { old, new: next } : undefined;
}

function isNames(value: unknown): value is string[] {
  return (
    Array.isArray(value) &&
    value.length <= VOTERS_MAX &&
    value.every((each) => typeof each === 'string' && each.length > 0)
  );
}

/** Returns whether a change of the voters is under way. */
export function isJoint({ old, new: next }: Voters): boolean {
  return !sameNames(old, next);
}

/** Returns whether two sets have the same members. */
export function sameNames(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((each) => others.includes(each));
}

/**
 * Returns the highest sequence that a majority of some members has reached.
 *
 * @param reached by member; 0 for a missing one
 * @returns `Infinity` without members
 */
export function majorityReached(names: readonly string[], reached: ReadonlyMap<string, number>): number {
  if (names.length === 0) return Number.POSITIVE_INFINITY;
  const sequences = names.map((name) => reached.get(name) ?? 0).sort((a, b) => b - a);
  return sequences[Math.floor(names.length / 2)] as number;
}

/** Returns whether a majority of the voters, of both sets during a change, is among some members. */
export function isMajority({ old, new: next }: Voters, members: ReadonlySet<string>): boolean {
  return [old, next].every(
    (names) =>
      names.length === 0 || names.filter((name) => members.has(name)).length > Math.floor(names.length / 2),
  );
}
