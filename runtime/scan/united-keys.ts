import { REVISION_BYTES } from '#runtime/content/revision.ts';
import { AFTER_END, END } from '#runtime/shard/binary-key.ts';
import type { StoredRow, StoredValue } from '#runtime/shard/large-value.ts';
import type { Range, TableReader } from '#runtime/shard/shard.ts';
import { storedRows } from '#runtime/shard/value-in-steps.ts';
import { PART_BYTES, readBytes } from './places.ts';

/** Versions of one key that are stepped over before the next key is looked up: a look-up costs as much as four. */
const STEPPED_VERSIONS = 4;

/** Bytes of a version up to which the next ones are stepped over: copying one costs as much as a look-up. */
const STEPPED_BYTES = 4096;

/** A key that has a present row, versions, or both. */
export interface UnitedKey {
  readonly key: string;
  /** The present row; undefined when there are only versions. A large one is not read. */
  readonly present: StoredValue | undefined;
}

/** Consecutive keys. */
export interface UnitedPart {
  readonly keys: readonly UnitedKey[];
  /** Absent at the end. */
  readonly next?: string;
}

/** A head table and the table of the versions of its rows, whose keys are the key, `END` and the revision. */
export interface VersionedTable {
  readonly head: number;
  readonly versions: number;
}

/**
 * The keys that had a row at any time, in order: those of a head table and of its version table together. A state at a
 * revision has some of them. The cost follows the number of keys, not of versions.
 *
 * @param range keys without a revision
 * @param after only keys behind this one, in the direction of the range
 * @param most the most keys; there are fewer when the rows read for them have more bytes than a part may read
 * @param isLast whether a key ends the part; default: none does
 */
export function unitedKeys(
  reader: TableReader,
  { head, versions }: VersionedTable,
  range: Range,
  after: string | undefined,
  most: number,
  isLast: (key: string) => boolean = () => false,
): UnitedPart {
  const bounds = after === undefined ? range : behind(range, after);
  const reverse = range.reverse === true;
  const keys: UnitedKey[] = [];
  let bytes = 0;
  const present = storedRows(reader, head, bounds)[Symbol.iterator]();
  const past = versionedKeys(reader, versions, bounds, (value) => {
    bytes += readBytes(value);
  });
  try {
    let row = nextOf<StoredRow>(present);
    let version = nextOf<string>(past);
    while (row !== undefined || version !== undefined) {
      const end = keys.at(-1)?.key;
      if (end !== undefined && (keys.length === most || bytes >= PART_BYTES || isLast(end)))
        return { keys, next: end };
      const isPresent =
        row !== undefined && (version === undefined || (reverse ? row.key >= version : row.key <= version));
      const key = (isPresent ? row?.key : version) as string;
      keys.push({ key, present: isPresent ? row?.value : undefined });
      if (isPresent) bytes += readBytes(row?.value);
      if (version === key) version = nextOf<string>(past);
      if (isPresent) row = nextOf<StoredRow>(present);
    }
    return { keys };
  } finally {
    present.return?.();
    past.return(undefined);
  }
}

/** The rest of a range behind a key. All versions of a key are between the key and the first key after it. */
export function behind(range: Range, after: string): Range {
  if (range.reverse === true) return { ...range, end: after < range.end ? after : range.end };
  const start = after + AFTER_END;
  return { ...range, start: start > range.start ? start : range.start };
}

/** The keys that have versions. @param note called with each value that is read */
function* versionedKeys(
  reader: TableReader,
  table: number,
  range: Range,
  note: (value: StoredValue) => void,
): Generator<string, undefined> {
  let bounds: Range | undefined = range;
  while (bounds !== undefined) {
    let key: string | undefined;
    let stepped = 0;
    const rows: Iterable<StoredRow> = storedRows(reader, table, bounds);
    bounds = undefined;
    for (const row of rows) {
      note(row.value);
      const found = row.key.slice(0, row.key.length - REVISION_BYTES - END.length);
      if (found === key) stepped += 1;
      else {
        key = found;
        stepped = 0;
        yield found;
      }
      if (stepped < STEPPED_VERSIONS && row.value.length <= STEPPED_BYTES) continue;
      bounds = behind(range, key);
      break;
    }
  }
  return undefined;
}

function nextOf<T>(items: Iterator<T, unknown>): T | undefined {
  const item = items.next();
  return item.done === true ? undefined : item.value;
}
