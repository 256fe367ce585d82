import { restoredBranchRow } from '#actors/branch/restored-rows.ts';
import { restoredJob, unfinishedJobs } from '#actors/jobs/restored-jobs.ts';
import { readToken } from '#actors/locks/locks-tables.ts';
import { restoredLocksRow } from '#actors/locks/restored-rows.ts';
import { highestToken, restoredRepositoryRow, tokenFloorRow } from '#actors/repository/restored-rows.ts';
import type { AuthConfiguration } from '#runtime/access/identity/auth-configuration.ts';
import { actorId, actorKindOf } from '#runtime/actor/actor-id.ts';
import type { ActorId, ActorLifecycle } from '#runtime/actor/ports.ts';
import type { OwnerIntents } from '#runtime/actor/store/owner-intents.ts';
import { movedActors, type RestoreRow } from '#runtime/actor/copies/restored-row.ts';
import type { BackupReader } from '#runtime/backup/backup-reader.ts';
import { type BackupActor, type BackupRepository, damaged } from '#runtime/backup/manifest.ts';
import { restoredTokenFloor } from '#runtime/base/token-floor.ts';
import type { ActorKind } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { NewJob } from '#runtime/jobs/job.ts';
import { mayEnqueue, outboxJobs } from '#runtime/jobs/outbox.ts';
import type { Queue } from '#runtime/jobs/ports.ts';
import type { ShardFile } from '#runtime/shard/shard-file.ts';
import { newUid, partOf } from '#server/registry/part-names.ts';
import { type ImportEnvironment, importActor } from './import-actor.ts';
import { type RepositoryName, tableNamesOf } from './take-backup.ts';

/** Dependencies of a restore. */
export interface RestoreEnvironment extends ImportEnvironment {
  readonly lifecycle: Pick<ActorLifecycle, 'create' | 'destroyUnder' | 'exists'>;
  /** Notes of data that is created and not registered yet. */
  readonly unsettled: OwnerIntents;
  readonly queue: Pick<Queue, 'prepare' | 'prepareSource' | 'enqueue'>;
  readonly kinds: readonly ActorKind[];
  /**
   * Encrypts the secrets in the configuration of a tenant with the key of this server, where the backup has them under the
   * previous one; absent: they stay as they are.
   */
  readonly configured?: ((tenant: string, configuration: AuthConfiguration) => AuthConfiguration) | undefined;
  readonly reader: BackupReader;
  /** Called with the next actor that is restored, for progress display. */
  readonly onActor: (actor: ActorId) => void;
  /** Called with the bytes of a file whose rows are stored. */
  readonly onFile: (bytes: number) => void;
}

/** A restored repository that is not registered yet. */
export interface MadeRepository extends RepositoryName {
  readonly uid: string;
  /** Prefix of the ids of its actors. */
  readonly owner: string;
  /** All its fence tokens are above this. */
  readonly tokenFloor: number;
}

/**
 * Creates the actors of a repository of a backup, under new ids, so that they do not conflict with earlier files or log
 * records. The repository becomes visible when the caller registers it.
 *
 * After a failure nothing remains. It is noted as unsettled; the caller must settle it after the registration.
 *
 * @param target its new name
 * @param nameFloor lower bound of its fence tokens, because other repositories had the name
 * @throws {ServiceError} `BACKUP_DAMAGED`, `REQUEST_CANCELLED`, `STORAGE_FULL` and other refusals of a commit
 */
export async function makeRepository(
  environment: RestoreEnvironment,
  source: BackupRepository,
  target: RepositoryName,
  nameFloor: number,
): Promise<MadeRepository> {
  const uid = newUid(environment.random);
  const owner = actorId(target.tenant, partOf(target.name, uid));
  await environment.unsettled.begin(owner);
  try {
    const tokenFloor = await new RepositoryMaker(environment, source, target, owner).make(nameFloor);
    return { ...target, uid, owner, tokenFloor };
  } catch (error) {
    await discardActors(environment, owner);
    throw asDamage(environment.reader, error);
  }
}

/**
 * Removes the actors of an owner. Those that cannot be removed now are removed by a start; the original error counts.
 */
export async function discardActors(
  { lifecycle, unsettled }: Pick<RestoreEnvironment, 'lifecycle' | 'unsettled'>,
  owner: string,
): Promise<void> {
  await lifecycle
    .destroyUnder(owner)
    .then(() => unsettled.settled(owner))
    .catch(() => {});
}

/** Converts the error for data that does not verify although its file does: it was damaged when it was copied. */
export function asDamage(reader: BackupReader, error: unknown): unknown {
  if (!(error instanceof ServiceError) || error.code !== 'DATA_CORRUPTED') return error;
  return damaged(reader.name, error.message, error);
}

class RepositoryMaker {
  readonly #environment: RestoreEnvironment;
  readonly #from: string;
  readonly #target: RepositoryName;
  readonly #owner: string;
  readonly #moved: (actor: ActorId) => ActorId;
  readonly #jobs: NewJob[] = [];
  #highestToken = 0;

  constructor(
    environment: RestoreEnvironment,
    source: BackupRepository,
    target: RepositoryName,
    owner: string,
  ) {
    this.#environment = environment;
    this.#from = actorId(source.tenant, partOf(source.name, source.uid));
    this.#target = target;
    this.#owner = owner;
    this.#moved = movedActors(this.#from, owner);
  }

  /** @returns the floor of the fence tokens */
  async make(nameFloor: number): Promise<number> {
    const { reader } = this.#environment;
    const copies = reader.actorsUnder(this.#from);
    const record = copies.find(({ actor }) => actor === `${this.#from}/repository`);
    if (record === undefined) throw damaged(reader.name, `it has nothing of ${this.#from}/repository`);
    for (const copy of copies) {
      const kind = actorKindOf(copy.actor);
      if (kind === 'branch') await this.#importBranch(copy);
      else if (kind === 'locks') await this.#importLocks(copy);
      else if (kind === 'jobs') await this.#with(copy, (shard) => this.#noteJobs(unfinishedJobs(shard)));
      else if (copy !== record) throw damaged(reader.name, `${copy.actor} is of an unknown kind`);
    }
    // Last, because it needs all tokens, and jobs read it.
    const floor = await this.#importRecord(record, nameFloor);
    await this.#enqueueJobs();
    return floor;
  }

  async #importBranch(copy: BackupActor): Promise<void> {
    await this.#with(copy, async (shard) => {
      this.#noteJobs(outboxJobs(shard));
      // So that a start finds what its commits enqueue, and its consumers, as it did before.
      const { queue } = this.#environment;
      if (mayEnqueue(shard)) await queue.prepareSource(this.#owner, this.#moved(copy.actor));
    });
    await this.#import(copy, restoredBranchRow(this.#moved));
  }

  async #importLocks(copy: BackupActor): Promise<void> {
    await this.#with(copy, (shard) => this.#noteToken(readToken(shard)));
    await this.#import(copy, restoredLocksRow);
  }

  async #importRecord(copy: BackupActor, nameFloor: number): Promise<number> {
    const { clock } = this.#environment;
    await this.#with(copy, (shard) => {
      this.#noteToken(highestToken(shard));
      this.#noteJobs(outboxJobs(shard));
    });
    const floor = Math.max(nameFloor, restoredTokenFloor(this.#highestToken, clock.wallMs()));
    await this.#import(copy, restoredRepositoryRow(this.#target.name), [tokenFloorRow(floor)]);
    return floor;
  }

  async #import(
    copy: BackupActor,
    restore: RestoreRow,
    more: Parameters<typeof importActor>[1]['more'] = [],
  ): Promise<void> {
    const { kinds, lifecycle, onActor, onFile } = this.#environment;
    const target = this.#moved(copy.actor);
    const tables = kinds.find(({ kind }) => kind === actorKindOf(target))?.tables.length ?? 0;
    onActor(target);
    await lifecycle.create(target);
    await this.#with(copy, (shard) =>
      importActor(this.#environment, { target, shard, tables, restore, more }),
    );
    onFile(copy.bytes);
  }

  async #with<T>(copy: BackupActor, use: (shard: ShardFile) => T | Promise<T>): Promise<T> {
    const { kinds, reader } = this.#environment;
    const shard = reader.shard(copy, tableNamesOf(kinds, copy.actor));
    try {
      return await use(shard);
    } finally {
      shard.close();
    }
  }

  /** Enqueues pending jobs in the restored repository's own queue, of whatever kind. */
  async #enqueueJobs(): Promise<void> {
    if (this.#jobs.length === 0) return;
    const { queue } = this.#environment;
    const part = decodeURIComponent(this.#owner.split('/')[1] as string);
    await queue.prepare(this.#owner);
    for (const job of this.#jobs) await queue.enqueue(this.#owner, restoredJob(job, part, this.#moved));
  }

  #noteToken(token: number): void {
    this.#highestToken = Math.max(this.#highestToken, token);
  }

  #noteJobs(jobs: readonly NewJob[]): void {
    this.#jobs.push(...jobs);
  }
}
