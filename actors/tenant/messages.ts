import type { AccessFlags } from '#runtime/access/principal.ts';
import type { JsonObject } from '#runtime/content/json-value.ts';

/**
 * What a tenant actor can be told and asked: admin accounts and the registry of repositories. The actor of
 * tenant `default` keeps the registry of tenants as well.
 *
 * @see docs/interface/accounts.md
 */

/** The first admin account of a tenant. */
export interface FirstAdmin {
  readonly username: string;
  readonly email: string | null;
  readonly passwordHash: string;
  readonly mustChangePassword: boolean;
  /** Default: everything but `pgwire_access` and `can_impersonate`. */
  readonly accessFlags?: AccessFlags;
}

/**
 * Makes the tenant with its first admin account; making one that exists changes nothing. Sent by the engine.
 * Result: {@link TenantMade}.
 */
export interface BootstrapTenant {
  readonly type: 'BootstrapTenant';
  readonly tenantId: string;
  readonly admin: FirstAdmin;
}

/** Whether the tenant was made by this command. */
export interface TenantMade {
  readonly created: boolean;
}

/**
 * Stores a new password hash for an admin. Sent for the admin themselves, or by the engine for whoever may read the files
 * of the server. Result: undefined.
 *
 * @throws {ServiceError} `USER_NOT_FOUND`; `CONFLICT` when the password was changed meanwhile
 */
export interface ChangeAdminPassword {
  readonly type: 'ChangeAdminPassword';
  readonly userId: string;
  /** The hash the old password was compared with. */
  readonly oldPasswordHash: string;
  readonly passwordHash: string;
  /** Default: no. The engine alone may ask for it. */
  readonly mustChangePassword?: boolean;
}

/** Notes a successful login. Sent by the engine. Result: undefined. @throws {ServiceError} `USER_NOT_FOUND` */
export interface RecordAdminLogin {
  readonly type: 'RecordAdminLogin';
  readonly userId: string;
}

/**
 * Registers a repository whose actors are ready. Result: its {@link RepositoryEntry}.
 *
 * @throws {ServiceError} `REPOSITORY_ALREADY_EXISTS`; `CONFLICT` when a repository of the name was removed since
 *   {@link ReadNameFloor} was asked
 */
export interface RegisterRepository {
  readonly type: 'RegisterRepository';
  readonly repositoryId: string;
  readonly uid: string;
  /** Every fence token of its actors is above it. Default: 0, for the first repository of its name. */
  readonly tokenFloor?: number;
}

/** Takes a repository out of the registry. Result: its {@link RepositoryEntry}. @throws {ServiceError} `REPOSITORY_NOT_FOUND` */
export interface UnregisterRepository {
  readonly type: 'UnregisterRepository';
  readonly repositoryId: string;
}

/**
 * Registers a tenant (tenant `default` only). The row holds what making the tenant takes, so that a crash
 * before {@link CompleteTenant} is finished by the next start. Result: its {@link TenantEntry}.
 *
 * @throws {ServiceError} `TENANT_ALREADY_EXISTS`
 */
export interface RegisterTenant {
  readonly type: 'RegisterTenant';
  readonly tenantId: string;
  readonly metadata: JsonObject;
  readonly admin: FirstAdmin;
}

/** Notes that a registered tenant has been made. Sent by the engine. Result: undefined. */
export interface CompleteTenant {
  readonly type: 'CompleteTenant';
  readonly tenantId: string;
}

/** Every command of a tenant. */
export type TenantCommand =
  | BootstrapTenant
  | ChangeAdminPassword
  | RecordAdminLogin
  | RegisterRepository
  | UnregisterRepository
  | RegisterTenant
  | CompleteTenant;

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

/** A tenant in the registry. */
export interface TenantEntry {
  readonly tenant_id: string;
  readonly metadata: JsonObject;
  readonly created_at: string;
}

/** A repository in the registry. */
export interface RepositoryEntry {
  readonly repositoryId: string;
  readonly uid: string;
  readonly createdAt: string;
  /** Every fence token of it is above it; absent stands for 0. */
  readonly tokenFloor?: number;
}

/** An admin account by name or id, for the engine only. Answer: {@link AdminAccount} or undefined. */
export interface FindAdmin {
  readonly type: 'FindAdmin';
  readonly username?: string;
  readonly userId?: string;
}

/** A repository by name, for the engine only. Answer: {@link RepositoryEntry} or undefined. */
export interface FindRepository {
  readonly type: 'FindRepository';
  readonly repositoryId: string;
}

/**
 * What the fence tokens of a new repository have to be above, for the engine only. Answer: number, 0 for a name no
 * repository has had.
 */
export interface ReadNameFloor {
  readonly type: 'ReadNameFloor';
  /** Default: the answer is the highest of all names. */
  readonly repositoryId?: string;
}

/** Every repository, sorted by name. Answer: array of {@link RepositoryEntry}. */
export interface ListRepositories {
  readonly type: 'ListRepositories';
}

/** Every tenant sorted by name, or one (tenant `default` only). Answer: array of {@link TenantEntry}. */
export interface ListTenants {
  readonly type: 'ListTenants';
  readonly tenantId?: string;
}

/** Registered tenants that are not made yet, for the engine only. Answer: array of {@link UnfinishedTenant}. */
export interface ListUnfinishedTenants {
  readonly type: 'ListUnfinishedTenants';
}

/** A tenant whose making was interrupted. */
export interface UnfinishedTenant {
  readonly tenantId: string;
  readonly admin: FirstAdmin;
}

/** Every query of a tenant. */
export type TenantQuery =
  | FindAdmin
  | FindRepository
  | ReadNameFloor
  | ListRepositories
  | ListTenants
  | ListUnfinishedTenants;

/** The registry of a tenant changed: what was remembered of it is to be looked up again. */
export interface RegistryChanged {
  readonly type: 'RegistryChanged';
}
