import { withAdmission } from '#protocols/rest/access/admission.ts';
import { type AdminAuthContext, adminAuthRoutes } from '#protocols/rest/access/admin-auth.ts';
import { type AdminUsersContext, adminUserRoutes } from '#protocols/rest/access/admin-users.ts';
import { type ApiKeysContext, apiKeyRoutes } from '#protocols/rest/access/api-keys.ts';
import { auditRoutes } from '#protocols/rest/access/audit.ts';
import { forContent, forRepositories } from '#protocols/rest/access/impersonation.ts';
import { backupRoutes, type BackupsContext } from '#protocols/rest/management/backups.ts';
import { checkRoutes, type ChecksContext } from '#protocols/rest/management/checks.ts';
import { type BranchesContext, branchRoutes } from '#protocols/rest/versioning/branches.ts';
import { type ClusterContext, clusterRoutes } from '#protocols/rest/management/cluster.ts';
import { contentRoutes } from '#protocols/rest/content-routes.ts';
import { contentSchemas } from '#protocols/rest/content-schemas.ts';
import { interfaceDescription } from '#protocols/rest/interface-description.ts';
import {
  type AuthConfigurationContext,
  authConfigurationRoutes,
} from '#protocols/rest/identity/auth-configuration.ts';
import { loginRoutes } from '#protocols/rest/identity/login-routes.ts';
import { type OidcLoginContext, oidcLoginRoutes } from '#protocols/rest/identity/oidc-login.ts';
import { ownIdentityRoutes } from '#protocols/rest/identity/own-identity.ts';
import { providerRoutes } from '#protocols/rest/identity/providers.ts';
import { sessionRoutes } from '#protocols/rest/identity/session-routes.ts';
import { type MagicLinkContext, magicLinkRoutes } from '#protocols/rest/identity/magic-link.ts';
import { jobRoutes, type JobsContext } from '#protocols/rest/jobs/jobs.ts';
import { type PasswordResetContext, passwordResetRoutes } from '#protocols/rest/access/password-reset.ts';
import { lockListRoutes } from '#protocols/rest/locks/lock-lists.ts';
import { lockRoutes, type LocksContext } from '#protocols/rest/locks/locks.ts';
import { type RepositoriesContext, repositoryRoutes } from '#protocols/rest/management/repositories.ts';
import { refusingFields, refusingMisplaced } from '#protocols/rest/unknown-fields.ts';
import { withPermission } from '#protocols/rest/access/permission.ts';
import { withConsistency } from '#protocols/rest/reads/read-consistency.ts';
import { refusingParameters } from '#protocols/rest/reads/refused-parameters.ts';
import { accessGrantRoutes } from '#protocols/rest/people/access-grants.ts';
import { accessRequestRoutes } from '#protocols/rest/people/access-requests.ts';
import type { AccessContext } from '#protocols/rest/people/access-routes.ts';
import { type IdentityUsersContext, identityUserRoutes } from '#protocols/rest/people/identity-users.ts';
import type { RestRoute } from '#protocols/rest/rest-route.ts';
import { authAnswers } from '#protocols/rest/sql/auth-answers.ts';
import { changeSettings } from '#protocols/rest/sql/change-settings.ts';
import type { AuthFunctions } from '#protocols/rest/sql/ports.ts';
import type { SqlRouteContext } from '#protocols/rest/sql/run-text.ts';
import { type StatisticsContext, statisticsRoutes } from '#protocols/rest/management/statistics.ts';
import { type SystemContext, systemRoutes } from '#protocols/rest/management/system.ts';
import { systemUpdateRoutes } from '#protocols/rest/management/system-updates.ts';
import { tagRoutes } from '#protocols/rest/versioning/tags.ts';
import { type TenantsContext, tenantRoutes } from '#protocols/rest/management/tenants.ts';
import { withIdempotency } from '#protocols/rest/write-headers.ts';
import type { DefinitionsContext } from '#protocols/rest/schema/definitions.ts';
import { workspaceRoutes } from '#protocols/rest/schema/workspaces.ts';

/** Dependencies of a member's routes. */
export type RoutesContext = AccessContext &
  AdminAuthContext &
  AuthConfigurationContext &
  AdminUsersContext &
  ApiKeysContext &
  OidcLoginContext &
  PasswordResetContext &
  RepositoriesContext &
  BackupsContext &
  ChecksContext &
  BranchesContext &
  ClusterContext &
  DefinitionsContext &
  IdentityUsersContext &
  JobsContext &
  LocksContext &
  Omit<SqlRouteContext, 'authFunctions'> &
  MagicLinkContext &
  StatisticsContext &
  TenantsContext &
  Omit<SystemContext, 'openApi'> & { readonly version: string };

/** Returns the route table of a member. The API description is derived from it at the first request. */
export function memberRoutes(context: RoutesContext): readonly RestRoute[] {
  const openApi = (): Promise<string> => interfaceDescription(context.clock, routes, context.version);
  const authFunctions: AuthFunctions = {
    answers: (request, query) => authAnswers(context, request, query),
    change: (request, change) => changeSettings(context, request, change),
  };
  const table: readonly RestRoute[] = [
    ...systemRoutes({ ...context, status: () => context.status(), openApi }),
    ...clusterRoutes(context),
    ...adminAuthRoutes(context),
    ...passwordResetRoutes(context),
    ...loginRoutes(context),
    ...ownIdentityRoutes(context),
    ...sessionRoutes(context),
    ...providerRoutes(context),
    ...oidcLoginRoutes(context),
    ...authConfigurationRoutes(context),
    ...adminUserRoutes(context),
    ...apiKeyRoutes(context),
    ...auditRoutes(context),
    ...identityUserRoutes(context),
    ...accessRequestRoutes(context),
    ...accessGrantRoutes(context),
    ...magicLinkRoutes(context),
    ...withAdmission(
      context,
      withIdempotency(
        withConsistency([
          ...tenantRoutes(context),
          ...forRepositories([
            ...repositoryRoutes(context),
            ...systemUpdateRoutes(context),
            ...workspaceRoutes(context),
            ...branchRoutes(context),
            ...tagRoutes(context),
            ...lockListRoutes(context),
            ...jobRoutes(context),
            ...statisticsRoutes(context),
          ]),
          ...forContent([...contentRoutes({ ...context, authFunctions }), ...lockRoutes(context)]),
        ]),
      ),
    ),
    ...backupRoutes(context),
    ...checkRoutes(context),
  ];
  const permitted = withPermission(table);
  const routes = refusingMisplaced(refusingFields(refusingParameters(permitted), contentSchemas));
  return routes;
}
