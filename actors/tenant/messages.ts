import type { AccessFlags } from '#runtime/access/principal.ts';
import type { JsonObject } from '#runtime/content/json-value.ts';

/**
 * What a tenant actor can be told and asked: admin accounts and the registry of repositories. The actor of
 * tenant `default` keeps the registry of tenants as well.
 *
 * @see Identity, Authentication and MCP Interface: Admin; Supplement 1.1, 2
 */

/** Makes the tenant with its first admin account; making one that exists changes nothing. */
export interface BootstrapTenant {
  readonly type: 'BootstrapTenant';
  readonly adminUsername: string;
  readonly passwordHash: string;
  readonly mustChangePassword: boolean;
}

/** Stores a new password hash for an admin. Result: undefined. */
export interface ChangeAdminPassword {
  readonly type: 'ChangeAdminPassword';
  readonly userId: string;
  readonly passwordHash: string;
}

/** Notes a successful login. */
export interface RecordAdminLogin {
  readonly type: 'RecordAdminLogin';
  readonly userId: string;
}

/** Registers a repository whose actors are ready. @throws {ServiceError} `REPOSITORY_ALREADY_EXISTS` */
export interface RegisterRepository {
  readonly type: 'RegisterRepository';
  readonly repositoryId: string;
  readonly uid: string;
}

/** Takes a repository out of the registry. Result: its {@link RepositoryEntry}. @throws {ServiceError} `REPOSITORY_NOT_FOUND` */
export interface UnregisterRepository {
  readonly type: 'UnregisterRepository';
  readonly repositoryId: string;
}

/** Registers a tenant (tenant `default` only). @throws {ServiceError} `TENANT_ALREADY_EXISTS` */
export interface RegisterTenant {
  readonly type: 'RegisterTenant';
  readonly tenantId: string;
  readonly metadata: JsonObject;
}

/** Every command of a tenant. */
export type TenantCommand =
  | BootstrapTenant
  | ChangeAdminPassword
  | RecordAdminLogin
  | RegisterRepository
  | UnregisterRepository
  | RegisterTenant;

/** An admin account as stored. Never leaves the process as it is. */
export interface AdminAccount {
  readonly user_id: string;
  readonly username: string;
  readonly email: string | null;
  readonly password_hash: string;
  readonly access_flags: AccessFlags;
  readonly must_change_password: boolean;
  readonly is_active: boolean;
  readonly created_at: string;
  readonly last_login: string | null;
  /** Milliseconds; tokens issued before are refused. */
  readonly password_changed_ms: number;
}

/** A repository in the registry. */
export interface RepositoryEntry {
  readonly repositoryId: string;
  readonly uid: string;
  readonly createdAt: string;
}

/** An admin account by name or id. Answer: {@link AdminAccount} or undefined. */
export interface FindAdmin {
  readonly type: 'FindAdmin';
  readonly username?: string;
  readonly userId?: string;
}

/** A repository by name. Answer: {@link RepositoryEntry} or undefined. */
export interface FindRepository {
  readonly type: 'FindRepository';
  readonly repositoryId: string;
}

/** Every repository, sorted by name. Answer: array of {@link RepositoryEntry}. */
export interface ListRepositories {
  readonly type: 'ListRepositories';
}

/** Every tenant, or one. Answer: array of `{tenant_id, metadata, created_at}`. */
export interface ListTenants {
  readonly type: 'ListTenants';
  readonly tenantId?: string;
}

/** Every query of a tenant. */
export type TenantQuery = FindAdmin | FindRepository | ListRepositories | ListTenants;
