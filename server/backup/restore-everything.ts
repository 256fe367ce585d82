import { identitiesTableNames } from '#actors/identities/identities-tables.ts';
import { restoredMark } from '#actors/identities/left-by-restore.ts';
import type { IsReplaceable } from '#actors/identities/messages.ts';
import { restoredIdentitiesRow } from '#actors/identities/restored-rows.ts';
import { highestNameFloor } from '#actors/tenant/name-floors.ts';
import { nameFloorRow, restoredTenantRow } from '#actors/tenant/restored-rows.ts';
import type { ListRepositories, ListTenants, RepositoryEntry, TenantEntry } from '#actors/tenant/messages.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, Router } from '#runtime/actor/ports.ts';
import { withoutOutcomes } from '#runtime/actor/copies/restored-row.ts';
import type { BackupReader } from '#runtime/backup/backup-reader.ts';
import { damaged } from '#runtime/backup/manifest.ts';
import { restoredTokenFloor } from '#runtime/base/token-floor.ts';
import { CommonTable, FIRST_OWN_TABLE } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { readNameFloor } from '#server/registry/name-floor.ts';
import { isCertainlyRefused } from '#server/registry/registration.ts';
import { importActor, sendRows } from './import-actor.ts';
import {
  asDamage,
  discardActors,
  type MadeRepository,
  makeRepository,
  type RestoreEnvironment,
} from './restore-repository.ts';
import { tableNamesOf } from './take-backup.ts';

/** Result of {@link restoreEverything}. */
export interface RestoredEverything {
  readonly tenants: number;
  readonly repositories: number;
}

/**
 * Restores a complete backup into an empty server or cluster: tenants with their accounts, and repositories with all
 * their data. The accounts of the backup replace the initial account of the empty server.
 *
 * Repositories are created first, then the other tenants with their identities, and tenant `default`, which lists all of
 * them, last and in one commit. The remains of an interrupted restore are registered nowhere, and the next start removes them.
 *
 * @throws {ServiceError} `CONFLICT` when the server is not empty; `BACKUP_DAMAGED`, also when the backup has only one
 *   repository; `REQUEST_CANCELLED`, `STORAGE_FULL` and other refusals of a commit
 */
export async function restoreEverything(environment: RestoreEnvironment): Promise<RestoredEverything> {
  const { lifecycle, reader, router, unsettled } = environment;
  const { repositories, tenants } = reader.manifest;
  requireEverything(reader);
  await lifecycle.create(actorId(SYSTEM_TENANT, 'tenant'));
  await requireEmpty(router);
  // Removed repositories of this server count: clients may still hold their locks.
  const nameFloor = await readNameFloor(router, SYSTEM_TENANT);
  const made: MadeRepository[] = [];
  const begun: string[] = [];
  let isRegistering = false;
  try {
    for (const repository of repositories) {
      made.push(await makeRepository(environment, repository, repository, nameFloor));
    }
    for (const tenant of tenants) {
      if (tenant === SYSTEM_TENANT) continue;
      const actor = actorId(tenant, 'tenant');
      // Another client created it since: it must not be removed when this fails.
      if (await lifecycle.exists(actor))
        throw new ServiceError('CONFLICT', `Tenant '${tenant}' is there already`);
      await unsettled.begin(ownerOf(tenant));
      begun.push(tenant);
      await lifecycle.create(actor);
      await restoreIdentities(environment, tenant);
      await restoreTenant(environment, tenant, made, nameFloor);
    }
    // People can register at an empty server, too.
    await requireEmpty(router);
    await restoreIdentities(environment, SYSTEM_TENANT);
    await requireEmpty(router);
    isRegistering = true;
    await restoreTenant(environment, SYSTEM_TENANT, made, nameFloor);
    for (const owner of [...made.map(({ owner }) => owner), ...tenants.map(ownerOf)])
      await unsettled.settled(owner);
    return { tenants: tenants.length, repositories: made.length };
  } catch (error) {
    // All become known in one commit, so checking one of them is sufficient. A start removes what is not known.
    const one = made[0]?.owner ?? begun.map(ownerOf)[0];
    const mayBeKnown = isRegistering && one !== undefined && !(await isCertainlyRefused(router, one, error));
    if (!mayBeKnown) await discard(environment, made, begun);
    // Where nothing else tells whether the tenant was restored, the next restore replaces its identities.
    if (!isRegistering || (one !== undefined && !mayBeKnown)) await discardIdentities(environment);
    throw asDamage(reader, error);
  }
}

/** In a cluster the actors of a tenant are in several partitions: one owner at a time. */
async function discard(
  environment: RestoreEnvironment,
  made: readonly MadeRepository[],
  tenants: readonly string[],
): Promise<void> {
  for (const { owner } of made) await discardActors(environment, owner);
  for (const tenant of tenants) {
    await discardActors(environment, identitiesOf(tenant));
    await discardActors(environment, actorId(tenant, 'tenant'));
    await environment.unsettled.settled(ownerOf(tenant)).catch(() => {});
  }
}

/** Removes the restored identities of tenant `default`, unless somebody has registered since. */
async function discardIdentities(environment: RestoreEnvironment): Promise<void> {
  const isLeft = await mayReplaceIdentities(environment.router).catch(() => false);
  if (isLeft) await discardActors(environment, identitiesOf(SYSTEM_TENANT));
}

/** Returns the prefix of the ids of a tenant's actors. */
function ownerOf(tenant: string): string {
  return encodeURIComponent(tenant);
}

/** Checks that a backup is complete. @throws {ServiceError} `BACKUP_DAMAGED` naming its content */
export function requireEverything({ manifest, name: backup }: BackupReader): void {
  if (manifest.scope === 'everything') return;
  const names = manifest.repositories.map(({ name, tenant }) => `${tenant}/${name}`).join(', ');
  throw damaged(backup, `it does not have everything; name what to restore of it: ${names}`);
}

/** Checks that everything can be restored here. @throws {ServiceError} `CONFLICT` naming the existing data */
export async function requireEmpty(router: Router): Promise<void> {
  const listTenants: ListTenants = { type: 'ListTenants' };
  const listRepositories: ListRepositories = { type: 'ListRepositories' };
  const system = actorId(SYSTEM_TENANT, 'tenant');
  const caller = engineCaller(SYSTEM_TENANT);
  const tenants = (await router.query(system, listTenants, caller)) as readonly TenantEntry[];
  const repositories = (await router.query(system, listRepositories, caller)) as readonly RepositoryEntry[];
  const others = tenants.filter(({ tenant_id }) => tenant_id !== SYSTEM_TENANT);
  const hasPeople = !(await mayReplaceIdentities(router));
  if (others.length === 0 && repositories.length === 0 && !hasPeople) return;
  const found = [
    ...(hasPeople ? [`identities of tenant '${SYSTEM_TENANT}'`] : []),
    ...others.map(({ tenant_id }) => `tenant '${tenant_id}'`),
    ...repositories.map(({ repositoryId }) => `repository '${repositoryId}'`),
  ];
  throw new ServiceError(
    'CONFLICT',
    `Everything can be restored into an empty server only; this one has ${found.slice(0, 3).join(', ')}${found.length > 3 ? ', …' : ''}. Name a repository to restore that one.`,
  );
}

/** Whether the identities of the system tenant are none, or what an interrupted restore has left. */
async function mayReplaceIdentities(router: Router): Promise<boolean> {
  const query: IsReplaceable = { type: 'IsReplaceable' };
  try {
    const caller = engineCaller(SYSTEM_TENANT);
    return (await router.query(identitiesOf(SYSTEM_TENANT), query, caller)) as boolean;
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NOT_FOUND') return true;
    throw error;
  }
}

/**
 * Restores the identities of a tenant, in commits of a bounded size. They are made anew: an interrupted restore may have
 * left some, and nothing serves them before the tenant is registered, except for tenant `default`, which has none.
 */
async function restoreIdentities(environment: RestoreEnvironment, tenant: string): Promise<void> {
  const { configured, kinds, lifecycle, onActor, onFile, reader } = environment;
  const target = identitiesOf(tenant);
  const copy = reader.manifest.actors.find(({ actor }) => actor === target);
  await lifecycle.destroyUnder(target);
  if (copy === undefined) return;
  onActor(target);
  await lifecycle.create(target);
  const shard = reader.shard(copy, tableNamesOf(kinds, target));
  try {
    const { length: tables } = identitiesTableNames;
    const restore = restoredIdentitiesRow(
      configured && ((configuration) => configured(tenant, configuration)),
    );
    await importActor(environment, { target, shard, tables, restore, more: [restoredMark()] });
    onFile(copy.bytes);
  } finally {
    shard.close();
  }
}

function identitiesOf(tenant: string): ActorId {
  return actorId(tenant, 'identities');
}

/** Restores the rows of a tenant in one commit: they are few, accounts and names. */
async function restoreTenant(
  environment: RestoreEnvironment,
  tenant: string,
  made: readonly MadeRepository[],
  nameFloor: number,
): Promise<void> {
  const { clock, kinds, onActor, onFile, reader } = environment;
  const target = actorId(tenant, 'tenant');
  const copy = reader.manifest.actors.find(({ actor }) => actor === target);
  if (copy === undefined) throw damaged(reader.name, `it has nothing of ${target}`);
  onActor(target);
  const ofTenant = made.filter((one) => one.tenant === tenant);
  const repositories = new Map(ofTenant.map(({ name, tokenFloor, uid }) => [name, { tokenFloor, uid }]));
  const tenants = new Set(reader.manifest.tenants);
  const restore = withoutOutcomes(
    restoredTenantRow({
      hasTenant: (name) => tenants.has(name),
      repository: ({ repositoryId }) => repositories.get(repositoryId),
    }),
  );
  const shard = reader.shard(copy, tableNamesOf(kinds, target));
  try {
    const floor = Math.max(nameFloor, restoredTokenFloor(highestNameFloor(shard), clock.wallMs()));
    const writes: Write[] = [nameFloorRow(floor)];
    const last = FIRST_OWN_TABLE + (kinds.find(({ kind }) => kind === 'tenant')?.tables.length ?? 0);
    for (let table: number = CommonTable.meta; table < last; table += 1) {
      for (const { key, value } of shard.rows(table)) {
        const restored = restore({ table, key, value });
        if (restored !== null) writes.push({ table, key, value: restored });
      }
    }
    await sendRows(environment, target, { actor: target, writes, clock: shard.position.clock }, true);
    onFile(copy.bytes);
  } finally {
    shard.close();
  }
}
