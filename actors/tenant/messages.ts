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
  /** A hash of the same password with the present parameters, where the stored one has older ones. */
  readonly rehashed?: {
    /** The hash that the password was compared with. */
    readonly judged: string;
    readonly passwordHash: string;
  };
}

/**
 * Creates an account. Sent by an administrator. Result: its {@link ShownAdmin}.
 *
 * @throws {ServiceError} `ALREADY_EXISTS` for a username that is taken; `VALIDATION_FAILED` above {@link ADMINS_MAX}
 */
export interface CreateAdmin extends FirstAdmin {
  readonly type: 'CreateAdmin';
  readonly accessFlags: AccessFlags;
}

/**
 * Changes an account. Sent by an administrator. Result: its {@link ShownAdmin}.
 *
 * @throws {ServiceError} `USER_NOT_FOUND`; `LAST_ADMINISTRATOR` when nobody could administer the tenant afterwards
 */
export interface UpdateAdmin {
  readonly type: 'UpdateAdmin';
  readonly username: string;
  readonly changes: AdminChanges;
}

/** What {@link UpdateAdmin} may change. */
export interface AdminChanges {
  readonly email?: string | null;
  /** Flags that are not given stay. */
  readonly access_flags?: Partial<AccessFlags>;
  readonly must_change_password?: boolean;
  readonly is_active?: boolean;
}

/**
 * Removes an account with its keys. Sent by an administrator. Result: undefined.
 *
 * @throws {ServiceError} `USER_NOT_FOUND`, `CANNOT_DELETE_SELF`, `LAST_ADMINISTRATOR`
 */
export interface DeleteAdmin {
  readonly type: 'DeleteAdmin';
  readonly username: string;
}

/**
 * Creates a key for the sender's account. The token is made by the sender, and only its hash is sent. Result: its
 * {@link ShownApiKey}.
 *
 * @throws {ServiceError} `INSUFFICIENT_PERMISSIONS` without `api_access`; `VALIDATION_FAILED` above
 *   {@link ACTIVE_KEYS_MAX}
 */
export interface CreateApiKey {
  readonly type: 'CreateApiKey';
  readonly name: string;
  readonly keyPrefix: string;
  readonly tokenHash: string;
}

/** Ends a key of the sender's account; one that has ended is not changed. Result: undefined. @throws {ServiceError} `NOT_FOUND` */
export interface RevokeApiKey {
  readonly type: 'RevokeApiKey';
  readonly keyId: string;
}

/** Records that a key is used, at most every {@link KEY_USE_MS}. Sent by the engine. Result: undefined. */
export interface RecordApiKeyUse {
  readonly type: 'RecordApiKeyUse';
  readonly userId: string;
  readonly keyId: string;
}

/** The time of the last use of a key is exact to this. */
export const KEY_USE_MS: number = 5 * 60 * 1000;

/** Most accounts of a tenant: they are listed whole. */
export const ADMINS_MAX = 1_000;

/** Most keys of an account that may be used. */
export const ACTIVE_KEYS_MAX = 50;

/** Ended keys of an account that stay listed; the oldest are removed. */
export const ENDED_KEYS_MAX = 50;

/**
 * Records an action of an administrator that changes another actor, for the audit trail. Sent by an administrator.
 * Result: undefined.
 */
export interface RecordAdminAction {
  readonly type: 'RecordAdminAction';
  /** What was done, as `authentication_configured`. */
  readonly action: string;
  /** What it was done to. */
  readonly subject: string;
  /** No secrets; at most {@link AUDIT_DETAIL_CHARACTERS_MAX} as JSON. */
  readonly details?: JsonObject;
  /**
   * The identity that did it, where the engine sends this for one that administers the tenant; otherwise it is ignored. Without it the
   * entry would be one of the server itself.
   */
  readonly identityId?: string;
}

/**
 * As {@link RecordAdminAction}, for actions that were carried out together: all of them are in the trail, or none. Members of
 * an older version refuse it.
 */
export interface RecordAdminActions extends Pick<RecordAdminAction, 'identityId'> {
  readonly type: 'RecordAdminActions';
  readonly actions: readonly Pick<RecordAdminAction, 'action' | 'details' | 'subject'>[];
}

/** Longest details of an action in the audit trail, in characters of their JSON text. */
export const AUDIT_DETAIL_CHARACTERS_MAX = 4_096;

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
  | CreateAdmin
  | UpdateAdmin
  | DeleteAdmin
  | CreateApiKey
  | RevokeApiKey
  | RecordApiKeyUse
  | RecordAdminAction
  | RecordAdminActions
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
  /** Oldest first; absent: none. */
  readonly api_keys?: readonly ApiKeyRecord[];
}

/** An account as administrators see it. */
export type ShownAdmin = Omit<AdminAccount, 'password_hash' | 'password_changed_ms' | 'api_keys'>;

/** A key of an account, for programs, as stored. */
export interface ApiKeyRecord {
  readonly key_id: string;
  readonly name: string;
  /** The beginning of the token, so that people recognise it. */
  readonly key_prefix: string;
  /** SHA-256 of the token, in hexadecimal digits. */
  readonly token_hash: string;
  readonly created_at: string;
  readonly last_used_at: string | null;
  readonly is_active: boolean;
}

/** A key as its owner sees it. */
export type ShownApiKey = Omit<ApiKeyRecord, 'token_hash'>;

/** An action of an administrator in the audit trail. */
export interface AuditEntry {
  /** Rises with each entry of the tenant. */
  readonly sequence: number;
  readonly at: string;
  /** Who did it: the id and the name of the account; twice the id of an identity; null and `system` for the server. */
  readonly actor: { readonly user_id: string | null; readonly username: string };
  readonly action: string;
  readonly subject: string;
  readonly details: JsonObject;
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

/** Every account sorted by name, or one, for an administrator. Answer: array of {@link ShownAdmin}. */
export interface ListAdmins {
  readonly type: 'ListAdmins';
  readonly username?: string;
}

/** The key with a hash, for the engine only. Answer: {@link ApiKeyPlace} or undefined. */
export interface FindApiKey {
  readonly type: 'FindApiKey';
  readonly tokenHash: string;
}

/** Answer to {@link FindApiKey}. Whether the key may be used, the account says. */
export interface ApiKeyPlace {
  readonly userId: string;
  readonly keyId: string;
}

/**
 * Tenants whose keys have a tag, for the engine only (tenant `default` only). Answer: array of names, rarely more than
 * one.
 */
export interface FindTenantsByTag {
  readonly type: 'FindTenantsByTag';
  readonly tag: string;
}

/** The audit trail, newest first, for an administrator. Answer: array of {@link AuditEntry}. */
export interface ListAudit {
  readonly type: 'ListAudit';
  /** Only entries with a lower sequence. */
  readonly before?: number;
  /** 1 to {@link AUDIT_PAGE_MAX}. */
  readonly limit: number;
}

/** Most entries in one answer to {@link ListAudit}. */
export const AUDIT_PAGE_MAX = 1_000;

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
  | ListAdmins
  | FindApiKey
  | FindTenantsByTag
  | ListAudit
  | FindRepository
  | ReadNameFloor
  | ListRepositories
  | ListTenants
  | ListUnfinishedTenants;

/** The registry of a tenant changed: cached copies have to be read again. */
export interface RegistryChanged {
  readonly type: 'RegistryChanged';
}

/**
 * An account was changed or removed, or one of its keys: what was read of it before, to decide whether its tokens and
 * keys count, has to be read again.
 */
export interface AccountChanged extends ActorEvent {
  readonly type: 'AccountChanged';
  readonly userId: string;
}

/** Whether an event of an actor is {@link AccountChanged}. */
export function isAccountChanged(event: ActorEvent): event is AccountChanged {
  return event.type === 'AccountChanged';
}

/** An action was added to the audit trail. */
export interface ActionRecorded extends ActorEvent {
  readonly type: 'ActionRecorded';
  readonly entry: AuditEntry;
}

/** Whether an event of an actor is {@link ActionRecorded}. */
export function isActionRecorded(event: ActorEvent): event is ActionRecorded {
  return event.type === 'ActionRecorded';
}
