import { damagedRow, eachRow, checkJsonRows, type OnDamage, ownTables } from '#runtime/check/check-rows.ts';
import { CommonTable, commonTableNames } from '#runtime/commit/behaviour.ts';
import { readRecord, recordKey } from '#runtime/commit/record-store.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { isMisplacedEntry } from './audit-trail.ts';
import type { AdminAccount } from './messages.ts';
import { TenantTable, tenantTableNames } from './tenant-tables.ts';

const tableNames = [...commonTableNames, ...tenantTableNames];

/**
 * Verifies the records of a tenant: every row has a valid checksum; an account is stored under its id, and a name leads
 * to the account that has it; an entry of the audit trail is stored under its sequence.
 */
export function* checkTenant(reader: TableReader, tell: OnDamage): Generator<undefined, void> {
  yield* checkJsonRows(reader, tableNames, ownTables(tableNames), tell);
  yield* eachRow(reader, TenantTable.admins, 'admins', tell, ({ key, value }) => {
    const { user_id: userId } = decodeJsonRow(value) as AdminAccount;
    if (recordKey(userId) !== key) throw damagedRow(`it holds account ${userId}`);
  });
  yield* eachRow(reader, TenantTable.adminNames, 'admin_names', tell, ({ key, value }) => {
    const { userId } = decodeJsonRow(value) as { readonly userId: string };
    const account = readRecord<AdminAccount>(reader, TenantTable.admins, userId);
    if (account === undefined || recordKey(account.username) !== key)
      throw damagedRow(`account ${userId} has not this name`);
  });
  yield* eachRow(reader, CommonTable.meta, 'meta', tell, (row) => {
    if (isMisplacedEntry(row)) throw damagedRow('it holds another entry of the audit trail');
  });
}
