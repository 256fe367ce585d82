import type { Grants } from './grants.ts';
import type {
  AnonymousPrincipal,
  IdentityPrincipal,
  ImpersonatingPrincipal,
  Principal,
} from '../principal.ts';

/** Callers whose permissions are in the content of a repository. */
export type GrantedPrincipal = IdentityPrincipal | ImpersonatingPrincipal | AnonymousPrincipal;

/** Whether the permissions of a caller are in the content of the repository. */
export function isGrantedByContent(principal: Principal): principal is GrantedPrincipal {
  return principal.kind !== 'admin' && principal.kind !== 'system';
}

/**
 * What a caller may do in a repository; asked of its branch `main` by actors of its branches. Answer: {@link Granted}, or a generator that finds it
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
