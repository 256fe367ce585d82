import { FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import type { FirstAdmin, TenantEntry } from './messages.ts';

/** Own tables of a tenant. Records are JSON with a checksum; the key is the name. */
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
   * repository, or {@link EVERY_NAME} → the fence token floor of a new repository with this name. The row of a removed
   * name, about 60 bytes, is kept permanently.
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

/**
 * Key in `tokens` of the floor for repositories of every name, set when the tenant was restored. It is no valid name of
 * a repository.
 */
export const EVERY_NAME = '*';

/** A registered tenant; `admin` is kept until the tenant is created. */
export interface TenantRow extends TenantEntry {
  readonly admin?: FirstAdmin;
}
