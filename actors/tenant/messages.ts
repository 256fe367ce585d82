import type { AccessFlags } from '#runtime/access/principal.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { ActorEvent } from '#runtime/commit/behaviour.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';

/**
 * Commands and queries of a tenant actor: admin accounts and the registry of repositories. The actor of tenant
 * `default` also has the registry of tenants.
 *
 * @see docs/interface/accounts.md
 */

/** The first admin account of a tenant. */
export interface FirstAdmin {
  readonly username: string;
  readonly email: string | null;
  readonly passwordHash: string;
  readonly mustChangePassword: boolean;
  /** Default: all except `pgwire_access` and `can_impersonate`. */
  readonly accessFlags?: AccessFlags;
}

/**
 * Creates the tenant with its first admin account; changes nothing when the tenant exists. Sent by the engine. Result:
 * {@link TenantMade}.
 */
export interface BootstrapTenant {
  readonly type: 'BootstrapTenant';
  readonly tenantId: string;
  readonly admin: FirstAdmin;
}

/** Whether this command created the tenant. */
export interface TenantMade {
  readonly created: boolean;
}

/**
 * Stores a new password hash for an admin. Sent on behalf of the admin, or by the engine on behalf of an operator who
 * can read the files of the server. Result: undefined.
 *
 * @throws {ServiceError} `USER_NOT_FOUND`; `CONFLICT` when the password was changed meanwhile
 */
export interface ChangeAdminPassword {
  readonly type: 'ChangeAdminPassword';
  readonly userId: string;
  /** The hash the old password was compared with. */
  readonly oldPasswordHash: string;
  readonly passwordHash: string;
  /** Default: false. Only the engine may set it. */
  readonly mustChangePassword?: boolean;
}

/** Records a successful login. Sent by the engine. Result: undefined. @throws {ServiceError} `USER_NOT_FOUND` */
export interface RecordAdminLogin {
  readonly type: 'RecordAdminLogin';
  readonly userId: string;
}

/**
 * Registers a repository whose actors are ready. Result: its {@link RepositoryEntry}.
 *
 * @throws {ServiceError} `REPOSITORY_ALREADY_EXISTS`; `CONFLICT` when a repository with the name was removed after
 *   {@link ReadNameFloor} was answered
 */
export interface RegisterRepository {
  readonly type: 'RegisterRepository';
  readonly repositoryId: string;
  readonly uid: string;
  /** Every fence token of its actors is above this number. Default: 0, for the first repository with its name. */
  readonly tokenFloor?: number;
  /** When its actor was initialized, so that the registry and the repository say the same. Default: now. */
  readonly createdAt?: string;
}

/**
 * Removes a repository from the registry. Result: its {@link RepositoryEntry}.
 *
 * @throws {ServiceError} `REPOSITORY_NOT_FOUND`
 */
export interface UnregisterRepository {
  readonly type: 'UnregisterRepository';
  readonly repositoryId: string;
}

/**
 * Registers a tenant (tenant `default` only). The row has all data needed to create the tenant. After a crash before
 * {@link CompleteTenant} the next start finishes the creation. Result: its {@link TenantEntry}.
 *
 * @throws {ServiceError} `TENANT_ALREADY_EXISTS`
 */
export interface RegisterTenant {
  readonly type: 'RegisterTenant';
  readonly tenantId: string;
  readonly metadata: JsonObject;
  readonly admin: FirstAdmin;
}

/** Records that a registered tenant has been created. Sent by the engine. Result: undefined. */
export interface CompleteTenant {
  readonly type: 'CompleteTenant';
  readonly tenantId: string;
}

/**
 * Records that branches of the tenant are about to be removed, so that consumers of their feeds are told whatever
 * crashes. Sent by the engine. Result: undefined.
 *
 * @see docs/decisions/0058-change-feed.md
 */
export interface NoteEnding {
  readonly type: 'NoteEnding';
  /** Ids of their actors. */
  readonly branches: readonly ActorId[];
}

/** Removes the record of {@link NoteEnding}: consumers were told. Sent by the engine. Result: undefined. */
export interface ForgetEnding {
  readonly type: 'ForgetEnding';
  readonly branches: readonly ActorId[];
}

/** Lists recorded branches, in order, for the engine. Answer: array of ids, at most {@link ENDING_PAGE}. */
export interface ListEnding {
  readonly type: 'ListEnding';
  /** Where the page before ended; absent for the first. */
  readonly after?: ActorId;
}

/** Branches in one answer to {@link ListEnding}. */
export const ENDING_PAGE = 1_000;

/** Consumers of the feeds of branches have to be told that these were removed, once they are. */
export interface BranchesEnding extends ActorEvent {
  readonly type: 'BranchesEnding';
  readonly branches: readonly ActorId[];
}

/** Whether an event of an actor is {@link BranchesEnding}. */
export function isBranchesEnding(event: ActorEvent): event is BranchesEnding {
  return event.type === 'BranchesEnding';
}

/** The commands of a tenant. */
export type TenantCommand =
  | NoteEnding
  | ForgetEnding
  | BootstrapTenant
  | ChangeAdminPassword
  | RecordAdminLogin
  | RegisterRepository
  | UnregisterRepository
  | RegisterTenant
  | CompleteTenant;

/** An admin account as stored. It has the password hash and is never sent to clients in this form. */
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
  /** Milliseconds; tokens issued earlier are refused. */
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
  /** Every fence token of the repository is above this number; absent means 0. */
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

/** The fence token floor of a new repository, for the engine only. Answer: number; 0 for a name that was never used. */
export interface ReadNameFloor {
  readonly type: 'ReadNameFloor';
  /** Absent: the answer is the highest floor of all names. */
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

/**
 * Registered tenants whose creation is not finished, for the engine only. Answer: array of {@link UnfinishedTenant}.
 */
export interface ListUnfinishedTenants {
  readonly type: 'ListUnfinishedTenants';
}

/** A tenant whose creation was interrupted. */
export interface UnfinishedTenant {
  readonly tenantId: string;
  readonly admin: FirstAdmin;
}

/** The queries of a tenant. */
export type TenantQuery =
  | ListEnding
  | FindAdmin
  | FindRepository
  | ReadNameFloor
  | ListRepositories
  | ListTenants
  | ListUnfinishedTenants;

/** The registry of a tenant changed: cached copies have to be read again. */
export interface RegistryChanged {
  readonly type: 'RegistryChanged';
}
