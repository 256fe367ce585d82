import { join } from 'node:path';
import { highestToken, storedCreation } from '#actors/repository/restored-rows.ts';
import type { FirstAdmin, RepositoryEntry } from '#actors/tenant/messages.ts';
import { hasAccounts, missingRegistryRows } from '#actors/tenant/salvaged-rows.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { actorId, actorKindOf, tenantOf } from '#runtime/actor/actor-id.ts';
import { OwnerIntentFiles } from '#runtime/actor/store/owner-intents.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { type Random, uuidV7 } from '#runtime/base/random.ts';
import { restoredTokenFloor } from '#runtime/base/token-floor.ts';
import { revisionZero } from '#runtime/content/revision.ts';
import { nameOfPart, partOf, uidOfPart } from '#server/registry/part-names.ts';
import type { NewShards } from './new-shards.ts';
import type { MissingList } from './salvage-report.ts';

/** Dependencies of a salvage of registries. */
export interface RegistrySalvage {
  readonly into: string;
  readonly clock: Clock;
  readonly random: Random;
  /** Creates an account for a tenant that lost all its accounts, and shows it to the person at the terminal. */
  readonly newAdmin: (tenant: string) => Promise<FirstAdmin>;
}

/**
 * Completes partly lost registries from the other shards: the names of actors contain tenants and
 * repositories. Complete registries are not changed: what they do
 * not list was removed.
 */
export async function salvageRegistries(
  salvage: RegistrySalvage,
  shards: NewShards,
  missing: MissingList,
): Promise<void> {
  const tenants = new Set([SYSTEM_TENANT, ...shards.actors.map(tenantOf)]);
  const intents = new OwnerIntentFiles(join(salvage.into, 'unsettled'));
  const onUnread = (file: string, cause: unknown): void =>
    missing.add({
      file,
      what: `it cannot be read (${(cause as Error).message}), so what was being made or removed may be listed`,
    });
  const unsettled = new Set(await intents.all(onUnread));
  for (const tenant of tenants) {
    const registry = actorId(tenant, 'tenant');
    if (shards.has(registry) && !missing.has(registry)) continue;
    await completeRegistry(salvage, shards, missing, { tenant, tenants, unsettled });
  }
}

async function completeRegistry(
  { clock, newAdmin, random }: RegistrySalvage,
  shards: NewShards,
  missing: MissingList,
  {
    tenant,
    tenants,
    unsettled,
  }: {
    readonly tenant: string;
    readonly tenants: ReadonlySet<string>;
    readonly unsettled: ReadonlySet<string>;
  },
): Promise<void> {
  const registry = actorId(tenant, 'tenant');
  const wallMs = Math.floor(clock.wallMs());
  if (!shards.has(registry)) await shards.make(registry, revisionZero);
  const say = (what: string): void => missing.add({ actor: registry, what });
  const repositories: RepositoryEntry[] = [];
  let highest = 0;
  for (const actor of shards.actors) {
    if (actorKindOf(actor) !== 'repository' || tenantOf(actor) !== tenant) continue;
    const owner = actor.slice(0, actor.lastIndexOf('/'));
    if (unsettled.has(owner)) {
      say(`${owner} was being made or removed, so it is not listed`);
      continue;
    }
    const reader = await shards.reading(actor);
    highest = Math.max(highest, highestToken(reader));
    const part = decodeURIComponent(owner.slice(owner.indexOf('/') + 1));
    const createdAt = storedCreation(reader) ?? new Date(wallMs).toISOString();
    const entry = { repositoryId: nameOfPart(part), uid: uidOfPart(part), createdAt };
    const same = repositories.find(({ repositoryId }) => repositoryId === entry.repositoryId);
    if (same === undefined) repositories.push(entry);
    else
      say(
        `there are two repositories ${entry.repositoryId}; ${partOf(same.repositoryId, same.uid)} is listed, ${part} is not`,
      );
  }
  const tokenFloor = restoredTokenFloor(highest, wallMs);
  const isAlone = !hasAccounts(await shards.reading(registry));
  const admin = isAlone ? { account: await newAdmin(tenant), userId: uuidV7(wallMs, random) } : undefined;
  const rows = missingRegistryRows(await shards.reading(registry), {
    repositories: repositories.map((entry) => ({ ...entry, tokenFloor })),
    tenants: tenant === SYSTEM_TENANT ? [...tenants] : [],
    tokenFloor,
    admin,
    wallMs,
  });
  for (const row of rows) await shards.put(registry, row);
  await shards.flush();
  say(
    `it was completed with ${rows.length - 1} records from what the others say of themselves${
      isAlone ? ': no account was left, so there is a new one' : ''
    }; accounts, and what was set of tenants, may be missing`,
  );
}
