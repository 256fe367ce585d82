import { listRecords, readRecord } from '#runtime/commit/record-store.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { EVERY_NAME, TenantTable } from './tenant-tables.ts';

/** What the fence tokens of a new repository have to be above: no earlier one of its name went there. */
export function nameFloor(reader: TableReader, repositoryId: string): number {
  const ofName = readRecord<number>(reader, TenantTable.tokens, repositoryId) ?? 0;
  return Math.max(ofName, readRecord<number>(reader, TenantTable.tokens, EVERY_NAME) ?? 0);
}

/** The highest floor of all names, for restores. It costs a look at each name that ever was removed. */
export function highestNameFloor(reader: TableReader): number {
  const floors = listRecords<number>(reader, TenantTable.tokens);
  return floors.reduce((highest, floor) => Math.max(highest, floor), 0);
}
