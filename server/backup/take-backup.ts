import { storedBranches } from '#actors/repository/restored-rows.ts';
import type { FindRepository, RepositoryEntry } from '#actors/tenant/messages.ts';
import { storedRepositories, storedTenants } from '#actors/tenant/restored-rows.ts';
import { SYSTEM_TENANT } from '#runtime/access/system-tenant.ts';
import { actorId, actorKindOf } from '#runtime/actor/actor-id.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorId, Router } from '#runtime/actor/ports.ts';
import type { BackupWriter } from '#runtime/backup/backup-writer.ts';
import type { BackupActor, BackupManifest, BackupRepository } from '#runtime/backup/manifest.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { type ActorKind, commonTableNames } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { SHARD_FORMAT } from '#runtime/shard/lmdb-tables.ts';
import { ShardFile } from '#runtime/shard/shard-file.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { partOf } from '#server/registry/part-names.ts';

/** A repository by its name. */
export interface RepositoryName {
  readonly tenant: string;
  readonly name: string;
}

/** Dependencies of a backup. */
export interface TakeBackupEnvironment {
  readonly router: Router;
  readonly kinds: readonly ActorKind[];
  readonly clock: Clock;
  /** Version of the product. */
  readonly version: string;
  readonly writer: BackupWriter;
  /** Called with the next actor that is copied, for progress display. */
  readonly onActor: (actor: ActorId) => void;
}

/**
 * Maximum number of copies of a repository when branches are deleted during the copy. Each takes the full copying
 * time; a client that deletes branches all the time must pause.
 */
const ATTEMPTS_MAX = 8;

/**
 * Copies one repository, or everything, while it is written to: one actor after another, so that at any time the
 * writers of at most one branch are affected.
 *
 * Each actor is copied as of one moment after the call. An actor that names others is copied before them, and deletions
 * in between are detected, so the backup contains everything it names: a branch in the list, the revision of a tag.
 *
 * @param repository default: everything
 * @throws {ServiceError} `REPOSITORY_NOT_FOUND`; `CONFLICT` when branches are deleted faster than they are copied;
 *   errors of {@link BackupWriter.add}
 * @see docs/decisions/0020-backups-are-copies-restores-are-commits.md
 */
export async function takeBackup(
  environment: TakeBackupEnvironment,
  repository: RepositoryName | undefined,
): Promise<BackupManifest> {
  const { clock, version, writer } = environment;
  const startedAt = timeText(clock);
  const parts = new BackupParts(environment);
  if (repository === undefined) await parts.addEverything();
  else await parts.addRepository(await findRepository(environment.router, repository));
  const manifest: BackupManifest = {
    version,
    shardFormat: SHARD_FORMAT,
    startedAt,
    finishedAt: timeText(clock),
    scope: repository === undefined ? 'everything' : 'repository',
    tenants: parts.tenants,
    repositories: parts.repositories,
    actors: parts.actors,
  };
  await writer.finish(manifest);
  return manifest;
}

/** Collects the parts of a backup. */
class BackupParts {
  readonly tenants: string[] = [];
  readonly repositories: BackupRepository[] = [];
  readonly actors: BackupActor[] = [];
  readonly #environment: TakeBackupEnvironment;

  constructor(environment: TakeBackupEnvironment) {
    this.#environment = environment;
  }

  async addEverything(): Promise<void> {
    const system = await this.#addTenant(SYSTEM_TENANT);
    if (system === undefined) throw new ServiceError('CONFLICT', 'There is nothing to back up yet');
    const tenants = this.#read(system, storedTenants);
    await this.#addRepositoriesOf(SYSTEM_TENANT, system);
    for (const tenant of tenants) {
      if (tenant === SYSTEM_TENANT) continue;
      const added = await this.#addTenant(tenant);
      // Registered and not created yet: its creation was not answered.
      if (added !== undefined) await this.#addRepositoriesOf(tenant, added);
    }
  }

  /** @throws {ServiceError} `REPOSITORY_NOT_FOUND` */
  async addRepository(repository: BackupRepository): Promise<void> {
    if (await this.#addIfThere(repository)) return;
    throw new ServiceError('REPOSITORY_NOT_FOUND', `Repository '${repository.name}' was deleted meanwhile`);
  }

  async #addTenant(tenant: string): Promise<BackupActor | undefined> {
    const added = await this.#copyIfThere(actorId(tenant, 'tenant'));
    if (added === undefined) return undefined;
    this.tenants.push(tenant);
    this.actors.push(added);
    const identities = await this.#copyIfThere(actorId(tenant, 'identities'));
    if (identities !== undefined) this.actors.push(identities);
    return added;
  }

  async #addRepositoriesOf(tenant: string, copy: BackupActor): Promise<void> {
    for (const { repositoryId, uid } of this.#read(copy, storedRepositories)) {
      // A missing one was deleted after the tenant was copied; the restore omits repositories that are not in the
      // backup.
      await this.#addIfThere({ tenant, name: repositoryId, uid });
    }
  }

  /** @returns false when the repository was deleted meanwhile */
  async #addIfThere(repository: BackupRepository): Promise<boolean> {
    for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
      const copied: BackupActor[] = [];
      const outcome = await this.#copyRepository(repository, copied);
      if (outcome === 'copied') {
        this.repositories.push(repository);
        this.actors.push(...copied);
        return true;
      }
      for (const copy of copied) await this.#environment.writer.drop(copy);
      if (outcome === 'gone') return false;
    }
    const { name } = repository;
    throw new ServiceError(
      'CONFLICT',
      `Branches of repository '${name}' were deleted each of the ${ATTEMPTS_MAX} times it was copied; try again when nobody deletes any`,
    );
  }

  /**
   * Copies the record of the repository first: branches only grow, so they have whatever it names, unless one was
   * deleted; then the record must be copied again.
   */
  async #copyRepository(
    { name, tenant, uid }: BackupRepository,
    copied: BackupActor[],
  ): Promise<'copied' | 'gone' | 'changed'> {
    const owner = actorId(tenant, partOf(name, uid));
    const record = await this.#copyIfThere(`${owner}/repository`);
    if (record === undefined) return 'gone';
    copied.push(record);
    for (const branch of this.#read(record, storedBranches)) {
      const part = encodeURIComponent(partOf(branch.name, branch.uid));
      const content = await this.#copyIfThere(`${owner}/${part}/branch`);
      if (content === undefined) return 'changed';
      copied.push(content);
      const locks = await this.#copyIfThere(`${owner}/${part}/locks`);
      if (locks !== undefined) copied.push(locks);
    }
    const jobs = await this.#copyIfThere(`${owner}/jobs`);
    if (jobs !== undefined) copied.push(jobs);
    return 'copied';
  }

  async #copyIfThere(actor: ActorId): Promise<BackupActor | undefined> {
    this.#environment.onActor(actor);
    try {
      return await this.#environment.writer.add(actor);
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') return undefined;
      throw error;
    }
  }

  #read<T>(copy: BackupActor, read: (reader: TableReader) => T): T {
    const { kinds, writer } = this.#environment;
    const shard = new ShardFile(writer.pathOf(copy), tableNamesOf(kinds, copy.actor));
    try {
      return read(shard);
    } finally {
      shard.close();
    }
  }
}

/** Returns the names of all tables of an actor, in the order of their numbers. */
export function tableNamesOf(kinds: readonly ActorKind[], actor: ActorId): readonly string[] {
  const kind = kinds.find((one) => one.kind === actorKindOf(actor));
  return [...commonTableNames, ...(kind?.tables ?? [])];
}

/**
 * Finds a repository by its name.
 *
 * @throws {ServiceError} `REPOSITORY_NOT_FOUND`, also for an unknown tenant
 */
export async function findRepository(
  router: Router,
  { name, tenant }: RepositoryName,
): Promise<BackupRepository> {
  const query: FindRepository = { type: 'FindRepository', repositoryId: name };
  let entry: RepositoryEntry | undefined;
  try {
    const found = await router.query(actorId(tenant, 'tenant'), query, engineCaller(tenant));
    entry = found as RepositoryEntry | undefined;
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND') throw error;
  }
  if (entry !== undefined) return { tenant, name, uid: entry.uid };
  throw new ServiceError('REPOSITORY_NOT_FOUND', `Repository '${tenant}/${name}' not found`);
}

function timeText(clock: Clock): string {
  return new Date(clock.wallMs()).toISOString();
}
