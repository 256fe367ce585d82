import type { RestoreRow, StoredRow } from '#runtime/actor/restored-row.ts';
import { CommonTable } from '#runtime/commit/behaviour.ts';
import { listRecords, readRecord, recordKey } from '#runtime/commit/record-store.ts';
import { isOutboxKey } from '#runtime/jobs/outbox.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { BranchAddress, BranchEntry } from './messages.ts';
import { EVERY_BRANCH, RepositoryTable, SETTINGS, type SettingsRow } from './repository-tables.ts';

/** The row that keeps the floor of the fence tokens of a restored repository. @see restoredTokenFloor */
export function tokenFloorRow(floor: number): StoredRow {
  return { table: RepositoryTable.tokens, key: recordKey(EVERY_BRANCH), value: encodeJsonRow(floor) };
}

/** When a repository was made, ISO 8601; undefined where its settings are lost. */
export function storedCreation(repository: TableReader): string | undefined {
  return readRecord<SettingsRow>(repository, RepositoryTable.settings, SETTINGS)?.createdAt;
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
