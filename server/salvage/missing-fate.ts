import { storedBranches } from '#actors/repository/restored-rows.ts';
import { storedRepositories, storedTenants } from '#actors/tenant/restored-rows.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { ActorStore } from '#runtime/actor/store/actor-store.ts';
import type { JournalSurvey } from '#runtime/embedded/recovery/journal-survey.ts';
import { isUnder } from '#runtime/log/lifecycle-entry.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readShard } from '#server/check/read-shard.ts';
import { partOf, UID_SEPARATOR } from '#server/registry/part-names.ts';

/** The fate of an actor that the journal creates and that has no folder. */
export type MissingFate =
  | { readonly kind: 'lost' }
  /** There is a record of its removal. */
  | { readonly kind: 'removed' }
  | {
      readonly kind: 'unknown';
      /** Whether something may need it, so that it has to be listed. */
      readonly isListed: boolean;
      /** For the operator: the reason and the remedy. */
      readonly remark: string;
    };

/** The part of a `DirectorySurvey` that tells. */
export interface SurveyedHoles {
  readonly store: ActorStore;
  readonly journal: Pick<JournalSurvey, 'holes'>;
}

/**
 * Determines what has become of an actor without a catalogue. A hole of the journal may have had the record of its
 * removal. The folder of removed actors shows that it was removed, and a registry that names what it belongs to shows
 * that it was not; otherwise it is unknown.
 *
 * @param created sequence of the record that created it
 */
export function fateOf({ journal, store }: SurveyedHoles, actor: ActorId, created: number): MissingFate {
  const hole = journal.holes.find(({ first }) => first > created);
  if (hole === undefined) return { kind: 'lost' };
  if (store.folders.removedOwners.some((owner) => isOfOne(owner) && isUnder(actor, owner)))
    return { kind: 'removed' };
  const { isNamed, registry } = registrationOf(store, actor, created);
  if (isNamed === true) return { kind: 'lost' };
  const last = journal.holes.at(-1)?.last;
  const folder = store.folders.of(actor);
  const unknown =
    `${actor} is unknown: it may have been removed by one of the records ${hole.first} to ${last}, which have left the ` +
    'journal';
  const remark =
    isNamed === false
      ? `${unknown}. ${registry} does not name it, so it is not listed. If it was not removed, bring ${folder} back, and ` +
        'run this again'
      : `${unknown}. ${store.folders.of(registry)}, which would name it, is missing, damaged or older, so it is listed ` +
        `and not served. Bring that folder back, and ${folder} if there was one, and run this again`;
  return { kind: 'unknown', isListed: isNamed === undefined, remark };
}

/**
 * Whether no other owner ever has this id: the suffixes of repositories and branches are not used again. What was left of
 * an earlier actor is put away under the id of the actor, which another one has afterwards.
 */
function isOfOne(owner: string): boolean {
  return (owner.split('/').at(-1) as string).includes(UID_SEPARATOR);
}

interface Registration {
  /** Undefined: the registry that would name it cannot be read, not all of it, or is of an earlier time. */
  readonly isNamed: boolean | undefined;
  /** The registry that names it or does not. */
  readonly registry: ActorId;
}

/** Whether the registries name the tenant, repository and branch that an actor belongs to. */
function registrationOf(store: ActorStore, actor: ActorId, created: number): Registration {
  const [tenant, ...parts] = actor.split('/') as [string, ...string[]];
  const ask = (registry: ActorId, namesIt: (reader: TableReader) => boolean): Registration => {
    let isWhole = true;
    const isNamed = readShard(store, registry, namesIt, () => {
      isWhole = false;
    });
    // The name may be in a damaged page, or in a later record of the journal.
    const mayMissIt = !isWhole || (store.headOf(registry)?.sequence ?? 0) < created;
    return { isNamed: isNamed === false && mayMissIt ? undefined : isNamed, registry };
  };
  const ofTenant = ask(
    actorId(SYSTEM_TENANT, 'tenant'),
    (reader) =>
      tenant === SYSTEM_TENANT || storedTenants(reader).some((name) => encodeURIComponent(name) === tenant),
  );
  // The last part is the kind of the actor.
  const [repository, branch] = parts.slice(0, -1);
  if (ofTenant.isNamed !== true || repository === undefined) return ofTenant;
  const ofRepository = ask(`${tenant}/tenant`, (reader) =>
    storedRepositories(reader).some(
      ({ repositoryId, uid }) => encodeURIComponent(partOf(repositoryId, uid)) === repository,
    ),
  );
  if (ofRepository.isNamed !== true || branch === undefined) return ofRepository;
  return ask(`${tenant}/${repository}/repository`, (reader) =>
    storedBranches(reader).some(({ name, uid }) => encodeURIComponent(partOf(name, uid)) === branch),
  );
}
