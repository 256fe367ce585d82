import { buildOpenApi, type OpenApiDocument } from '#protocols/http/openapi.ts';
import { withAdmission } from '#protocols/rest/admission.ts';
import { type AdminAuthContext, adminAuthRoutes } from '#protocols/rest/admin-auth.ts';
import { backupRoutes, type BackupsContext } from '#protocols/rest/backups.ts';
import { checkRoutes, type ChecksContext } from '#protocols/rest/checks.ts';
import { type BranchesContext, branchRoutes } from '#protocols/rest/branches.ts';
import { type ClusterContext, clusterRoutes } from '#protocols/rest/cluster.ts';
import { contentRoutes } from '#protocols/rest/content-routes.ts';
import { contentSchemas } from '#protocols/rest/content-schemas.ts';
import { jobRoutes, type JobsContext } from '#protocols/rest/jobs.ts';
import { lockListRoutes } from '#protocols/rest/lock-lists.ts';
import { lockRoutes } from '#protocols/rest/locks.ts';
import { type RepositoriesContext, repositoryRoutes } from '#protocols/rest/repositories.ts';
import { withConsistency } from '#protocols/rest/read-consistency.ts';
import { refusingParameters } from '#protocols/rest/refused-parameters.ts';
import type { RestRoute } from '#protocols/rest/rest-context.ts';
import { type SystemContext, systemRoutes } from '#protocols/rest/system.ts';
import { systemUpdateRoutes } from '#protocols/rest/system-updates.ts';
import { tagRoutes } from '#protocols/rest/tags.ts';
import { type TenantsContext, tenantRoutes } from '#protocols/rest/tenants.ts';
import { workspaceRoutes } from '#protocols/rest/workspaces.ts';

/** What the routes of a member work with. */
export type RoutesContext = AdminAuthContext &
  RepositoriesContext &
  BackupsContext &
  ChecksContext &
  BranchesContext &
  ClusterContext &
  JobsContext &
  TenantsContext &
  Omit<SystemContext, 'openApi'> & { readonly version: string };

/** The route table of a member. The description of the interface is made of it when somebody first asks. */
export function memberRoutes(context: RoutesContext): readonly RestRoute[] {
  let described: OpenApiDocument | undefined;
  const openApi = (): OpenApiDocument => {
    described ??= buildOpenApi({
      title: 'Grove',
      version: context.version,
      description: 'A versioned content database: branches, typed node trees, every write a revision.',
      routes,
      schemas: contentSchemas,
    });
    return described;
  };
  const routes: readonly RestRoute[] = [
    ...systemRoutes({ ...context, status: () => context.status(), openApi }),
    ...clusterRoutes(context),
    ...adminAuthRoutes(context),
    ...withAdmission(context, [
      ...withConsistency(
        refusingParameters([
          ...tenantRoutes(context),
          ...repositoryRoutes(context),
          ...systemUpdateRoutes(context),
          ...workspaceRoutes(context),
          ...branchRoutes(context),
          ...tagRoutes(context),
          ...contentRoutes(context),
          ...lockRoutes(context),
          ...lockListRoutes(context),
          ...jobRoutes(context),
        ]),
      ),
    ]),
    ...backupRoutes(context),
    ...checkRoutes(context),
  ];
  return routes;
}
