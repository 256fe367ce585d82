/**
 * Nodes whose content decides what callers may do, by workspace: who writes them freely has every permission. So they are
 * written only under permissions that name their type.
 *
 * @see docs/interface/permissions.md#nodes-that-decide
 */
const types: Readonly<Record<string, ReadonlySet<string>>> = {
  'svc:access_control': new Set(['svc:User', 'svc:Role', 'svc:Group', 'svc:SecurityConfig']),
  'svc:system': new Set(['svc:RepoAuthConfig']),
};

/** The branch whose roles, groups, users and settings count on all branches of a repository. */
export const DECIDING_BRANCH = 'main';

/** Properties of a user that decide what the user may do, and who the user is. */
export const decidingProperties: readonly string[] = Object.freeze([
  'user_id',
  'email',
  'status',
  'groups',
  'roles',
  'can_login',
]);

const none: ReadonlySet<string> = new Set();

/** Types of the nodes of a workspace that decide. */
export function decidingTypes(workspace: string): ReadonlySet<string> {
  return Object.hasOwn(types, workspace) ? (types[workspace] as ReadonlySet<string>) : none;
}
