import type { ListRepositories, ListTenants, RepositoryEntry, TenantEntry } from '#actors/tenant/messages.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { partOf } from './part-names.ts';

/** The repositories of a tenant, by their parts of actor ids. */
export interface TenantRepositories {
  readonly tenant: string;
  readonly parts: readonly string[];
}

/** The names of all tenants. */
export async function registeredTenants(router: Router): Promise<readonly string[]> {
  const list: ListTenants = { type: 'ListTenants' };
  const caller = engineCaller(SYSTEM_TENANT);
  const tenants = await router.query(actorId(SYSTEM_TENANT, 'tenant'), list, caller);
  return (tenants as readonly TenantEntry[]).map(({ tenant_id }) => tenant_id);
}

/** Yields every tenant with its repositories. */
export async function* registeredRepositories(router: Router): AsyncGenerator<TenantRepositories, void> {
  for (const tenant of await registeredTenants(router)) {
    const list: ListRepositories = { type: 'ListRepositories' };
    const entries = (await router.query(
      actorId(tenant, 'tenant'),
      list,
      engineCaller(tenant),
    )) as readonly RepositoryEntry[];
    yield { tenant, parts: entries.map(({ repositoryId, uid }) => partOf(repositoryId, uid)) };
  }
}
