import type { RestoreRow } from '#runtime/actor/restored-row.ts';
import { listRecords } from '#runtime/commit/record-store.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { RepositoryEntry } from './messages.ts';
import { type TenantRow, TenantTable } from './tenant-tables.ts';

/** Which tenants and repositories there are after a restore. */
export interface RestoredNames {
  /** Whether a tenant was restored. */
  readonly hasTenant: (tenantId: string) => boolean;
  /** The suffix a restored repository has now; undefined for one that was not restored. */
  readonly uidOf: (repository: RepositoryEntry) => string | undefined;
}

/** What becomes of the rows of a tenant in a restored one: it lists what was restored, and no other. */
export function restoredTenantRow({ hasTenant, uidOf }: RestoredNames): RestoreRow {
  return ({ table, value }) => {
    if (table === TenantTable.tenants) {
      return hasTenant((decodeJsonRow(value) as TenantRow).tenant_id) ? value : null;
    }
    if (table !== TenantTable.repositories) return value;
    const entry = decodeJsonRow(value) as RepositoryEntry;
    const uid = uidOf(entry);
    return uid === undefined ? null : encodeJsonRow({ ...entry, uid });
  };
}

/** Names of the registered tenants; in the rows of tenant `default` only. */
export function storedTenants(tenant: TableReader): readonly string[] {
  return listRecords<TenantRow>(tenant, TenantTable.tenants).map(({ tenant_id }) => tenant_id);
}

/** The registered repositories of a tenant. */
export function storedRepositories(tenant: TableReader): readonly RepositoryEntry[] {
  return listRecords<RepositoryEntry>(tenant, TenantTable.repositories);
}
