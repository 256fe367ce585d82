/** Permissions of an admin account. @see docs/interface/accounts.md#administrator-accounts */
export interface AccessFlags {
  readonly console_login: boolean;
  readonly cli_access: boolean;
  readonly api_access: boolean;
  readonly pgwire_access: boolean;
  readonly can_impersonate: boolean;
}

/** The engine itself: built-in content, background work. */
export interface SystemPrincipal {
  readonly kind: 'system';
  readonly tenant: string;
}

/** A person with an admin account of a tenant. */
export interface AdminPrincipal {
  readonly kind: 'admin';
  readonly tenant: string;
  readonly userId: string;
  readonly username: string;
  readonly accessFlags: AccessFlags;
}

/** An anonymous caller: a request without a valid token. */
export interface AnonymousPrincipal {
  readonly kind: 'anonymous';
  readonly tenant: string;
}

/** The caller. Every read and write carries one. @see docs/interface/accounts.md */
export type Principal = SystemPrincipal | AdminPrincipal | AnonymousPrincipal;

/** The name written to `created_by`, `updated_by`, `published_by` and the actor of a revision. */
export function actorName(principal: Principal): string {
  switch (principal.kind) {
    case 'system':
      return 'system';
    case 'admin':
      return principal.username;
    case 'anonymous':
      return 'anonymous';
  }
}

/** A key that is unique to the caller. */
export function principalKey(principal: Principal): string {
  return principal.kind === 'admin' ? `admin:${principal.userId}` : principal.kind;
}
