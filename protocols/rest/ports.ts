import type { RepositoryEntry, TenantEntry } from '#actors/tenant/messages.ts';
import type { AccessFlags } from '#runtime/access/principal.ts';
import type { ActorId, Delivery } from '#runtime/actor/ports.ts';
import type { JsonObject } from '#runtime/content/json-value.ts';

/** What a repository is made from. Values are unchecked. */
export interface NewRepository {
  readonly repositoryId: string;
  readonly description: string | null;
  readonly defaultBranch: string;
  readonly defaultLanguage: string;
  readonly supportedLanguages: readonly string[];
}

/** What a tenant is made from. The password is checked and hashed already; other values are unchecked. */
export interface NewTenant {
  readonly tenantId: string;
  readonly metadata: JsonObject;
  readonly admin: {
    readonly username: string;
    readonly email: string | null;
    readonly passwordHash: string;
    readonly mustChangePassword: boolean;
    readonly accessFlags?: AccessFlags;
  };
}

/** Makes and removes what takes more than one actor. Implemented by the process that owns the actors. */
export interface Provisioning {
  /**
   * Makes a repository with its default branch and everything built in; it is there for others when the
   * promise resolves, whole, or not at all.
   *
   * @throws {ServiceError} `REPOSITORY_ALREADY_EXISTS`, `VALIDATION_FAILED`, `INVALID_BRANCH_NAME`,
   *   `UNAUTHORIZED`, `FORBIDDEN`
   */
  createRepository(tenant: string, repository: NewRepository, delivery: Delivery): Promise<RepositoryEntry>;
  /**
   * Removes a repository with everything in it.
   *
   * @throws {ServiceError} `REPOSITORY_NOT_FOUND`, `UNAUTHORIZED`, `FORBIDDEN`
   */
  removeRepository(tenant: string, repositoryId: string, delivery: Delivery): Promise<void>;
  /**
   * Makes a tenant with its first admin account.
   *
   * @throws {ServiceError} `TENANT_ALREADY_EXISTS`, `VALIDATION_FAILED`, `UNAUTHORIZED`, `FORBIDDEN`
   */
  createTenant(tenant: NewTenant, delivery: Delivery): Promise<TenantEntry>;
}

/** Brings repositories and branches up to the built-ins this build ships, when they are first used. */
export interface BuiltInUpgrades {
  /** @returns undefined when there is nothing to wait for */
  repository(repository: ActorId): Promise<void> | undefined;
  /** @returns undefined when there is nothing to wait for */
  branch(repository: ActorId, branch: ActorId): Promise<void> | undefined;
}
