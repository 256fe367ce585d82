import type { RestoreRow, StoredRow } from '#runtime/actor/copies/restored-row.ts';
import { CommonTable } from '#runtime/commit/behaviour.ts';
import { listRecords, readRecord, recordKey } from '#runtime/commit/record-store.ts';
import { isOutboxKey } from '#runtime/jobs/outbox.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { BranchAddress, BranchEntry } from './messages.ts';
import { EVERY_BRANCH, RepositoryTable, SETTINGS, type SettingsRow } from './repository-tables.ts';

/** The row with the fence token floor of a restored repository. @see restoredTokenFloor */
export function tokenFloorRow(floor: number): StoredRow {
  return { table: RepositoryTable.tokens, key: recordKey(EVERY_BRANCH), value: encodeJsonRow(floor) };
}

/** When a repository was created, ISO 8601; undefined when its settings are lost. */
export function storedCreation(repository: TableReader): string | undefined {
  return readRecord<SettingsRow>(repository, RepositoryTable.settings, SETTINGS)?.createdAt;
}

/** The highest fence token in the records of a repository. */
export function highestToken(repository: TableReader): number {
  const tokens = listRecords<number>(repository, RepositoryTable.tokens);
  return tokens.reduce((highest, token) => Math.max(highest, token), 0);
}

/** The branches of a repository whose content must exist: listed branches and branches kept for tags. */
export function storedBranches(repository: TableReader): readonly BranchAddress[] {
  const listed = listRecords<BranchEntry>(repository, RepositoryTable.branches);
  return [...listed, ...listRecords<BranchAddress>(repository, RepositoryTable.retired)];
}

/**
 * Transforms the rows of a repository for a restored one. The restored repository has another name, jobs in the outbox
 * are enqueued again, and the fence token floor is a separate row, {@link tokenFloorRow}.
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
