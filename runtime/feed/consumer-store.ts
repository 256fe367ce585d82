import type { Turn } from '#runtime/commit/behaviour.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { decodeExactJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import type { Row, TableReader } from '#runtime/shard/shard.ts';
import type { FeedConsumer } from './consumer.ts';
import type { FeedPosition, FeedStart } from './feed-batch.ts';

/** Limit of the stored state of a consumer, in bytes of JSON. */
const STATE_BYTES_MAX = 64 * 1024;

/** A consumer as a branch stores it. */
export interface StoredConsumer {
  readonly name: string;
  readonly effects: FeedConsumer['effects'];
  /** Undefined: it is registered and has not started. */
  readonly position: FeedPosition | undefined;
  readonly state: JsonValue;
  /** A start at that position, some steps of which are done. */
  readonly start?: Omit<FeedStart, 'position'> | undefined;
}

type StoredPlace = readonly [
  sequence: number,
  parts: number,
  part?: readonly [revision: string, part: number, isUndone: boolean],
];

type StoredRow = readonly [
  name: string,
  effects: FeedConsumer['effects'],
  place: StoredPlace | null,
  state: JsonValue,
  start?: readonly [revision: string, reason: FeedStart['reason']],
];

const everything = { start: '', end: '\u00ff' };

/** The consumer of a name; undefined when the branch does not have it. */
export function readConsumer(reader: TableReader, name: string): StoredConsumer | undefined {
  const bytes = reader.get(BranchTable.consumers, name);
  return bytes === undefined ? undefined : decodeConsumer(bytes);
}

/** All consumers of a branch, by name. There are few. */
export function readConsumers(reader: TableReader): readonly StoredConsumer[] {
  return [...reader.range(BranchTable.consumers, everything)].map(({ value }) => decodeConsumer(value));
}

function decodeConsumer(bytes: Uint8Array): StoredConsumer {
  const [name, effects, place, state, start] = decodeExactJsonRow(bytes) as unknown as StoredRow;
  const position = place === null ? undefined : positionOf(place);
  if (start === undefined) return { name, effects, position, state };
  return { name, effects, position, state, start: { revision: start[0], reason: start[1] } };
}

function positionOf([sequence, parts, last]: StoredPlace): FeedPosition {
  if (last === undefined) return { sequence, parts };
  const [revision, part, isUndone] = last;
  return { sequence, parts, part: { revision, part, isUndone } };
}

function placeOf({ part, parts, sequence }: FeedPosition): StoredPlace {
  if (part === undefined) return [sequence, parts];
  return [sequence, parts, [part.revision, part.part, part.isUndone]];
}

/** Stores a consumer. */
export function writeConsumer(turn: Turn, { effects, name, position, start, state }: StoredConsumer): void {
  const place = position === undefined ? null : placeOf(position);
  const settled = [name, effects, place, state] as const;
  const row: StoredRow = start === undefined ? settled : [...settled, [start.revision, start.reason]];
  const bytes = encodeJsonRow(row);
  if (bytes.length > STATE_BYTES_MAX)
    throw invalid(`The state of the consumer '${name}' has more than ${STATE_BYTES_MAX} bytes`);
  turn.put(BranchTable.consumers, name, bytes);
}

/** Removes a consumer. */
export function removeConsumer(turn: Turn, name: string): void {
  turn.remove(BranchTable.consumers, name);
}

/** Removes all consumers: those of a fork belong to its source. */
export function forgetConsumers(turn: Turn): void {
  for (const { name } of readConsumers(turn)) removeConsumer(turn, name);
}

/**
 * The row of a consumer in a restored branch: rows of the branch are restored with the position they belong to, effects
 * elsewhere are not.
 */
export function restoredConsumer(value: Uint8Array): Uint8Array | null {
  return decodeConsumer(value).effects === 'shard' ? value : null;
}

/**
 * The row of a consumer with effects in the shard after the content of the branch was changed without a commit: it starts
 * again. Undefined for others, and for one that has not started.
 */
export function restartedConsumer(value: Uint8Array): Uint8Array | undefined {
  const { effects, name, position } = decodeConsumer(value);
  if (effects !== 'shard' || position === undefined) return undefined;
  const row: StoredRow = [name, effects, null, null];
  return encodeJsonRow(row);
}

/** @throws {ServiceError} `DATA_CORRUPTED` @returns the name that the key must be */
export function consumerNameIn({ value }: Pick<Row, 'value'>): string {
  return decodeConsumer(value).name;
}
