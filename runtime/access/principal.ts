/** Permissions of an admin account. @see docs/interface/accounts.md#administrator-accounts */
export interface AccessFlags {
  readonly console_login: boolean;
  readonly cli_access: boolean;
  readonly api_access: boolean;
  readonly pgwire_access: boolean;
  readonly can_impersonate: boolean;
}

/** The names of all access flags. */
export const accessFlagNames: readonly (keyof AccessFlags)[] = [
  'console_login',
  'cli_access',
  'api_access',
  'pgwire_access',
  'can_impersonate',
];

/** The engine itself: built-in content, background work. */
export interface SystemPrincipal {
  readonly kind: 'system';
  readonly tenant: string;
}

/** A person with an admin account of a tenant, logged in or represented by an API key of the account. */
export interface AdminPrincipal {
  readonly kind: 'admin';
  readonly tenant: string;
  readonly userId: string;
  readonly username: string;
  readonly accessFlags: AccessFlags;
  /** The key of the request; absent for a login. */
  readonly apiKeyId?: string;
}

/** A person with an identity of a tenant. Roles of the user node in the repository decide what the person may do. */
export interface IdentityPrincipal {
  readonly kind: 'identity';
  readonly tenant: string;
  readonly identityId: string;
  readonly sessionId: string;
  readonly email: string;
}

/** An administrator who acts with the permissions of a user. */
export interface ImpersonatingPrincipal {
  readonly kind: 'impersonating';
  readonly tenant: string;
  /** The administrator. */
  readonly userId: string;
  readonly username: string;
  /** Id or path of a user node, or the address of its user. */
  readonly user: string;
}

/** An anonymous caller: a request without a valid token. */
export interface AnonymousPrincipal {
  readonly kind: 'anonymous';
  readonly tenant: string;
  /** Whether tenant or server permit anonymous access; a repository may have a setting of its own. Default: false. */
  readonly isEnabled?: boolean;
}

/** The caller. Every read and write carries one. @see docs/interface/accounts.md */
export type Principal =
  | SystemPrincipal
  | AdminPrincipal
  | IdentityPrincipal
  | ImpersonatingPrincipal
  | AnonymousPrincipal;

/** The name written to `created_by`, `updated_by`, `published_by` and the actor of a revision. */
export function actorName(principal: Principal): string {
  switch (principal.kind) {
    case 'system':
      return 'system';
    case 'admin':
      return principal.username;
    case 'identity':
      return principal.identityId;
    case 'impersonating':
      return `${principal.username}:impersonating:${principal.user}`;
    case 'anonymous':
      return 'anonymous';
  }
}

/** A key that is unique to the caller within a tenant. */
export function principalKey(principal: Principal): string {
  switch (principal.kind) {
    case 'admin':
      return `admin:${principal.userId}`;
    case 'identity':
      return `identity:${principal.identityId}`;
    case 'impersonating':
      return `admin:${principal.userId}:${principal.user}`;
    default:
      return principal.kind;
  }
}
