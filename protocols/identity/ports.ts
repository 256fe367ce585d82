import type { Identity } from '#actors/identities/messages.ts';
import type { IdentityPrincipal } from '#runtime/access/principal.ts';
import type { ActorId } from '#runtime/actor/ports.ts';

/** Creates the identities of a tenant. Implemented by the process that owns the actors. */
export interface IdentitiesProvisioning {
  /**
   * Creates the actor on first use. Idempotent.
   *
   * @returns its id
   * @throws {ServiceError} `TENANT_NOT_FOUND`
   */
  createIdentities(tenant: string): Promise<ActorId>;
}

/** What a person is in a repository. @see docs/interface/identities.md#the-node-of-a-person */
export interface RepositoryUser {
  readonly id: string;
  /** Path of the node, in workspace {@link USERS_WORKSPACE}. */
  readonly path: string;
  readonly email: string | null;
  readonly displayName: string | null;
  readonly status: string | null;
  /** As they are stored; see {@link RepositoryUsers.rolesOf}. */
  readonly roles: readonly string[];
  readonly groups: readonly string[];
}

/** Workspace of the nodes of users. */
export const USERS_WORKSPACE = 'svc:access_control';

/** Type of the nodes of users. */
export const USER_TYPE = 'svc:User';

/** The nodes of people in repositories. Implemented by the process that owns the actors. */
export interface RepositoryUsers {
  /**
   * The node of an identity. Nothing is made.
   *
   * @returns undefined without one or with several, and in a repository that does not exist
   */
  find(tenant: string, repository: string, identityId: string): Promise<RepositoryUser | undefined>;
  /**
   * The node of an identity, which is made when there is none, as far as the repository lets people in by themselves.
   *
   * @returns undefined without one, and in a repository that does not exist
   */
  findOrMake(tenant: string, repository: string, identity: Identity): Promise<RepositoryUser | undefined>;
  /** Ids of the roles that count for a person: also those of groups, and inherited ones. None without an active node. */
  rolesOf(principal: IdentityPrincipal, repository: string): Promise<readonly string[]>;
  /** Whether people may register in a repository; false for one that does not exist. */
  mayRegister(tenant: string, repository: string): Promise<boolean>;
}
