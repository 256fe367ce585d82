import type { RestoreRow, StoredRow } from '#runtime/actor/restored-row.ts';
import { assert } from '#runtime/base/assert.ts';
import { CommonTable } from '#runtime/commit/behaviour.ts';
import { listRecords, recordKey } from '#runtime/commit/record-store.ts';
import { isOutboxKey } from '#runtime/jobs/outbox.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { BranchAddress, BranchEntry } from './messages.ts';
import { EVERY_BRANCH, RepositoryTable, type SettingsRow } from './repository-tables.ts';

/**
 * How far above the highest fence token of a backup those after its restore begin: what was handed out between the
 * two is not known. At 50,000 grants a second it is reached after 250 days, and 8,000 restores one after another
 * stay below 2^53.
 */
export const TOKEN_MARGIN: number = 2 ** 40;

/** Microseconds of a millisecond: nobody is granted a lock more often. */
const TOKENS_PER_MS = 1_000;

/**
 * The fence token everything granted after a restore is above. It lies a wide margin above the backup's, and rises
 * with time by itself: a backup that is restored a second time must not hand out again what was handed out after
 * the first time.
 *
 * @param highest token in the backup
 * @param wallMs time of the restore, in milliseconds since the Unix epoch
 */
export function restoredTokenFloor(highest: number, wallMs: number): number {
  const floor = Math.max(highest + TOKEN_MARGIN, Math.floor(wallMs) * TOKENS_PER_MS);
  assert(Number.isSafeInteger(floor), 'tokens stay below 2^53');
  return floor;
}

/** The row that keeps {@link restoredTokenFloor}. */
export function tokenFloorRow(floor: number): StoredRow {
  return { table: RepositoryTable.tokens, key: recordKey(EVERY_BRANCH), value: encodeJsonRow(floor) };
}

/** The highest fence token the record of a repository knows of. */
export function highestToken(repository: TableReader): number {
  const tokens = listRecords<number>(repository, RepositoryTable.tokens);
  return tokens.reduce((highest, token) => Math.max(highest, token), 0);
}

/** The branches of a repository whose content must be there: the listed ones, and those that tags keep. */
export function storedBranches(repository: TableReader): readonly BranchAddress[] {
  const listed = listRecords<BranchEntry>(repository, RepositoryTable.branches);
  return [...listed, ...listRecords<BranchAddress>(repository, RepositoryTable.retired)];
}

/**
 * What becomes of the rows of a repository in a restored one: it has another name, jobs on their way to the queue
 * are enqueued anew, and the floor of the fence tokens is a row of its own, {@link tokenFloorRow}.
 */
export function restoredRepositoryRow(name: string): RestoreRow {
  const floorKey = recordKey(EVERY_BRANCH);
  return ({ key, table, value }) => {
    if (table === CommonTable.meta) return isOutboxKey(key) ? null : value;
    if (table === RepositoryTable.tokens) return key === floorKey ? null : value;
    if (table !== RepositoryTable.settings) return value;
    return encodeJsonRow({ ...(decodeJsonRow(value) as SettingsRow), repositoryId: name });
  };
}
