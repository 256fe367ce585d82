import type { RestoreRow, StoredRow } from '#runtime/actor/restored-row.ts';
import { listRecords, recordKey } from '#runtime/commit/record-store.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { RepositoryEntry } from './messages.ts';
import { EVERY_NAME, type TenantRow, TenantTable } from './tenant-tables.ts';

/** Which tenants and repositories there are after a restore. */
export interface RestoredNames {
  /** Whether a tenant was restored. */
  readonly hasTenant: (tenantId: string) => boolean;
  /** What a restored repository is registered with now; undefined for one that was not restored. */
  readonly repository: (stored: RepositoryEntry) => RestoredRepository | undefined;
}

/** What of the registration of a repository a restore gives anew. */
export type RestoredRepository = Required<Pick<RepositoryEntry, 'uid' | 'tokenFloor'>>;

/**
 * What becomes of the rows of a tenant in a restored one: it lists what was restored, and no other. What its names
 * were removed with is below the one row {@link nameFloorRow}.
 */
export function restoredTenantRow({ hasTenant, repository }: RestoredNames): RestoreRow {
  return ({ table, value }) => {
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

/** The row that keeps the floor of the fence tokens of every repository made in a restored tenant. */
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
