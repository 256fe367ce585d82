import type { StoredRow } from '#runtime/actor/copies/restored-row.ts';
import { listRecords, readRecord, recordKey } from '#runtime/commit/record-store.ts';
import { encodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { AdminAccount, FirstAdmin, RepositoryEntry, TenantEntry } from './messages.ts';
import { newAccount } from './new-account.ts';
import { nameFloorRow } from './restored-rows.ts';
import { TenantTable } from './tenant-tables.ts';

/** What was found for a damaged registry besides its remaining rows. */
export interface FoundOfRegistry {
  /** Repositories whose records were found. Listed repositories are not changed. */
  readonly repositories: readonly RepositoryEntry[];
  /** Tenants whose registries were found; for tenant `default` only. */
  readonly tenants: readonly string[];
  /** Fence token floor of new repositories. The floors of single names are not known. */
  readonly tokenFloor: number;
  /**
   * A new account, needed when no active account is left; undefined otherwise. It replaces an inactive account with its
   * name.
   */
  readonly admin: { readonly account: FirstAdmin; readonly userId: string } | undefined;
  /** The present time. */
  readonly wallMs: number;
}

/** Whether a registry has an active account. */
export function hasAccounts(registry: TableReader): boolean {
  return listRecords<AdminAccount>(registry, TenantTable.admins).some(({ is_active: isActive }) => isActive);
}

/** The rows that a registry lacks. @param registry its remaining rows */
export function missingRegistryRows(registry: TableReader, found: FoundOfRegistry): readonly StoredRow[] {
  const { admin, repositories, tenants, tokenFloor, wallMs } = found;
  const rows: StoredRow[] = [nameFloorRow(tokenFloor)];
  const add = (table: number, name: string, record: unknown): void =>
    void rows.push({ table, key: recordKey(name), value: encodeJsonRow(record) });
  let accounts = listRecords<AdminAccount>(registry, TenantTable.admins);
  if (admin !== undefined) {
    const namesake = accounts.find(({ username }) => username === admin.account.username);
    const account = newAccount(admin.account, namesake?.user_id ?? admin.userId, wallMs);
    accounts = [...accounts.filter((each) => each !== namesake), account];
    add(TenantTable.admins, account.user_id, account);
  }
  // A stored name may belong to an account that is lost.
  for (const { user_id: userId, username } of accounts)
    if (readRecord<{ userId: string }>(registry, TenantTable.adminNames, username)?.userId !== userId)
      add(TenantTable.adminNames, username, { userId });
  for (const entry of repositories)
    if (readRecord(registry, TenantTable.repositories, entry.repositoryId) === undefined)
      add(TenantTable.repositories, entry.repositoryId, entry);
  for (const tenant of tenants) {
    if (readRecord(registry, TenantTable.tenants, tenant) !== undefined) continue;
    const entry: TenantEntry = {
      tenant_id: tenant,
      metadata: {},
      created_at: new Date(wallMs).toISOString(),
    };
    add(TenantTable.tenants, tenant, entry);
  }
  return rows;
}
