import { FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import type { FirstAdmin, TenantEntry } from './messages.ts';

/** Own tables of a tenant. Records are JSON with a checksum, each under its name. */
export const TenantTable = {
  /** userId → account */
  admins: FIRST_OWN_TABLE,
  /** username → {userId} */
  adminNames: FIRST_OWN_TABLE + 1,
  /** repository → entry */
  repositories: FIRST_OWN_TABLE + 2,
  /** tenant → {@link TenantRow}; in tenant `default` only */
  tenants: FIRST_OWN_TABLE + 3,
} as const;

/** Names of the tables, in the order of their numbers. */
export const tenantTableNames: readonly string[] = Object.freeze([
  'admins',
  'admin_names',
  'repositories',
  'tenants',
]);

/** A registered tenant; `admin` stays until the tenant is made. */
export interface TenantRow extends TenantEntry {
  readonly admin?: FirstAdmin;
}
