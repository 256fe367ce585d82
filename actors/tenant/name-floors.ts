import { listRecords, readRecord } from '#runtime/commit/record-store.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { EVERY_NAME, TenantTable } from './tenant-tables.ts';

/** The fence token floor of a new repository: no earlier repository with its name issued a higher token. */
export function nameFloor(reader: TableReader, repositoryId: string): number {
  const ofName = readRecord<number>(reader, TenantTable.tokens, repositoryId) ?? 0;
  return Math.max(ofName, readRecord<number>(reader, TenantTable.tokens, EVERY_NAME) ?? 0);
}

/** The highest floor of all names, for restores. It reads the row of every name that was ever removed. */
export function highestNameFloor(reader: TableReader): number {
  const floors = listRecords<number>(reader, TenantTable.tokens);
  return floors.reduce((highest, floor) => Math.max(highest, floor), 0);
}
