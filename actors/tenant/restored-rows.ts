import type { RestoreRow, StoredRow } from '#runtime/actor/copies/restored-row.ts';
import { CommonTable } from '#runtime/commit/behaviour.ts';
import { listRecords, recordKey } from '#runtime/commit/record-store.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { isEndingKey } from './ending-branches.ts';
import type { RepositoryEntry } from './messages.ts';
import { EVERY_NAME, type TenantRow, TenantTable } from './tenant-tables.ts';

/** The tenants and repositories after a restore. */
export interface RestoredNames {
  /** Whether a tenant was restored. */
  readonly hasTenant: (tenantId: string) => boolean;
  /** The new registration of a restored repository; undefined for a repository that was not restored. */
  readonly repository: (stored: RepositoryEntry) => RestoredRepository | undefined;
}

/** The fields of a registration that a restore replaces. */
export type RestoredRepository = Required<Pick<RepositoryEntry, 'uid' | 'tokenFloor'>>;

/**
 * Transforms the rows of a tenant for a restored one. It lists only restored repositories and tenants. One row,
 * {@link nameFloorRow}, replaces the token floors of all names.
 */
export function restoredTenantRow({ hasTenant, repository }: RestoredNames): RestoreRow {
  return ({ key, table, value }) => {
    // Branches of the server that made the backup.
    if (table === CommonTable.meta && isEndingKey(key)) return null;
    if (table === TenantTable.tenants) {
      return hasTenant((decodeJsonRow(value) as TenantRow).tenant_id) ? value : null;
    }
    if (table === TenantTable.tokens) return null;
    if (table !== TenantTable.repositories) return value;
    const entry = decodeJsonRow(value) as RepositoryEntry;
    const restored = repository(entry);
    return restored === undefined ? null : encodeJsonRow({ ...entry, ...restored });
  };
}

/** The row with the fence token floor of every repository created in a restored tenant. */
export function nameFloorRow(floor: number): StoredRow {
  return { table: TenantTable.tokens, key: recordKey(EVERY_NAME), value: encodeJsonRow(floor) };
}

/** Names of the registered tenants; in the rows of tenant `default` only. */
export function storedTenants(tenant: TableReader): readonly string[] {
  return listRecords<TenantRow>(tenant, TenantTable.tenants).map(({ tenant_id }) => tenant_id);
}

/** The registered repositories of a tenant. */
export function storedRepositories(tenant: TableReader): readonly RepositoryEntry[] {
  return listRecords<RepositoryEntry>(tenant, TenantTable.repositories);
}
