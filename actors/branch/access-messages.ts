import type { Grants } from '#runtime/access/roles/grants.ts';
import type {
  AnonymousPrincipal,
  IdentityPrincipal,
  ImpersonatingPrincipal,
  Principal,
} from '#runtime/access/principal.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';

/** Queries of branch `main` about what callers may do in its repository. */

/** Callers whose permissions are in the content of a repository. */
export type GrantedPrincipal = IdentityPrincipal | ImpersonatingPrincipal | AnonymousPrincipal;

/** Whether the permissions of a caller are in the content of the repository. */
export function isGrantedByContent(principal: Principal): principal is GrantedPrincipal {
  return principal.kind !== 'admin' && principal.kind !== 'system';
}

/**
 * What a caller may do in the repository, for actors of its branches. Answer: {@link Granted}, or a generator that finds it
 * and yields where the work may pause. Answered within the process only.
 *
 * @throws {ServiceError} `USER_NODE_NOT_FOUND` for an administrator who names a user that is not there
 */
export interface ReadGrants {
  readonly type: 'ReadGrants';
  readonly principal: GrantedPrincipal;
}

/** Answer to {@link ReadGrants}. It is the same object until something changes that it depends on. */
export interface Granted {
  /** Undefined for anonymous callers where they have no access: for them the repository is not there. */
  readonly grants: Grants | undefined;
}

/**
 * The roles, groups and user node of the caller, an identity. Answer: {@link OwnAccess}; null without a user node that is
 * active, and for other callers.
 */
export interface ReadOwnAccess {
  readonly type: 'ReadOwnAccess';
}

/** Answer to {@link ReadOwnAccess}. */
export interface OwnAccess {
  /** Ids of the effective roles. */
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  /** Path of the user node. */
  readonly home: string;
  readonly userNode: {
    readonly id: string;
    readonly path: string;
    readonly nodeType: string;
    readonly workspace: string;
    readonly properties: JsonObject;
  };
}

/** See the queries. */
export type AccessQuery = ReadGrants | ReadOwnAccess;
