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
  /**
   * repository, or {@link EVERY_NAME} → the fence token everything in a new repository of this name is above. A name
   * that was removed once keeps its row, some 60 bytes, for good.
   */
  tokens: FIRST_OWN_TABLE + 4,
} as const;

/** Names of the tables, in the order of their numbers. */
export const tenantTableNames: readonly string[] = Object.freeze([
  'admins',
  'admin_names',
  'repositories',
  'tenants',
  'tokens',
]);

/** In `tokens`, what no repository of any name may go below: the tenant was restored. No repository has this name. */
export const EVERY_NAME = '*';

/** A registered tenant; `admin` stays until the tenant is made. */
export interface TenantRow extends TenantEntry {
  readonly admin?: FirstAdmin;
}
