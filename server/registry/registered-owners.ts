import type {
  BranchAddress,
  ListBranches,
  ListRetiredBranches,
  RepositoryQuery,
} from '#actors/repository/messages.ts';
import type { FindRepository, ListTenants, RepositoryEntry, TenantEntry } from '#actors/tenant/messages.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { nameOfPart, partOf } from './part-names.ts';

/**
 * Returns whether a registry lists an owner of actors: a tenant, a repository, or a branch, including branches whose
 * content stays for a tag. An owner inside an unlisted one is not listed either.
 *
 * @throws {ServiceError} the error of a registry that should exist, including `NOT_FOUND`
 */
export async function isRegistered(router: Router, owner: string): Promise<boolean> {
  const [tenant, repository, branch] = owner.split('/').map(decodeURIComponent);
  if (tenant === undefined || !(await isTenant(router, tenant))) return false;
  if (repository === undefined) return true;
  if (!(await isRepository(router, tenant, repository))) return false;
  return branch === undefined || isBranch(router, tenant, repository, branch);
}

async function isTenant(router: Router, tenant: string): Promise<boolean> {
  const query: ListTenants = { type: 'ListTenants', tenantId: tenant };
  const caller = engineCaller(SYSTEM_TENANT);
  const found = await router.query(actorId(SYSTEM_TENANT, 'tenant'), query, caller);
  return (found as readonly TenantEntry[]).length > 0;
}

async function isRepository(router: Router, tenant: string, part: string): Promise<boolean> {
  const query: FindRepository = { type: 'FindRepository', repositoryId: nameOfPart(part) };
  const found = await router.query(actorId(tenant, 'tenant'), query, engineCaller(tenant));
  const entry = found as RepositoryEntry | undefined;
  return entry !== undefined && partOf(entry.repositoryId, entry.uid) === part;
}

async function isBranch(router: Router, tenant: string, repository: string, part: string): Promise<boolean> {
  const ask = async (query: RepositoryQuery): Promise<readonly BranchAddress[]> => {
    const actor = actorId(tenant, repository, 'repository');
    return (await router.query(actor, query, engineCaller(tenant))) as readonly BranchAddress[];
  };
  const listed = await ask({ type: 'ListBranches' } satisfies ListBranches);
  const retired = await ask({ type: 'ListRetiredBranches' } satisfies ListRetiredBranches);
  return [...listed, ...retired].some(({ name, uid }) => partOf(name, uid) === part);
}
