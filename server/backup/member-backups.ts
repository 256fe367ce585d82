import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, resolve } from 'node:path';
import type { FindRepository, RegisterRepository } from '#actors/tenant/messages.ts';
import type {
  BackupInfo,
  Backups,
  NamedRepository,
  NewBackup,
  NewRestore,
  OperationError,
  RestoreInfo,
} from '#protocols/rest/management/backup-ports.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { ActorCopies } from '#runtime/actor/copies/actor-copies.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import type { ActorLifecycle, Router } from '#runtime/actor/ports.ts';
import type { BackupKey } from '#runtime/backup/backup-key.ts';
import { BackupReader } from '#runtime/backup/backup-reader.ts';
import { BackupWriter, isUnfinished } from '#runtime/backup/backup-writer.ts';
import type { BackupActor, BackupRepository } from '#runtime/backup/manifest.ts';
import type { OwnerIntents } from '#runtime/actor/store/owner-intents.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { type Random, uuidV7 } from '#runtime/base/random.ts';
import type { ActorKind } from '#runtime/commit/behaviour.ts';
import { requireRepositoryName, requireTenantName } from '#runtime/content/names.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { errorRegistry } from '#runtime/errors/error-registry.ts';
import type { SpaceGuard } from '#runtime/space/space-gate.ts';
import type { Log } from '#runtime/telemetry/log-context.ts';
import { readNameFloor } from '#server/registry/name-floor.ts';
import { partOf } from '#server/registry/part-names.ts';
import { isCertainlyRefused } from '#server/registry/registration.ts';
import { requireEmpty, restoreEverything } from './restore-everything.ts';
import { discardActors, makeRepository, type RestoreEnvironment } from './restore-repository.ts';
import { findRepository, takeBackup } from './take-backup.ts';

/** Number of finished restores that are remembered. */
const RESTORES_KEPT = 32;

/** Number of failed backups that are remembered. */
const FAILURES_KEPT = 32;

const nameShape = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;

/** Dependencies of a member's backups. */
export interface MemberBackupsEnvironment {
  readonly router: Router;
  readonly lifecycle: Pick<ActorLifecycle, 'create' | 'destroyUnder' | 'exists'>;
  readonly unsettled: OwnerIntents;
  readonly copies: ActorCopies;
  readonly queue: RestoreEnvironment['queue'];
  readonly kinds: readonly ActorKind[];
  readonly clock: Clock;
  readonly random: Random;
  readonly files: FileSystem;
  readonly log: Log;
  /** Folder of the backups. */
  readonly folder: string;
  /** Signs backups and distinguishes own ones from foreign ones. */
  readonly key: BackupKey;
  /** See {@link RestoreEnvironment.configured}. */
  readonly configured?: RestoreEnvironment['configured'];
  /** Decides whether there is space for another backup; without it there always is. */
  readonly backupSpace?: SpaceGuard;
  /** Decides whether there is space for restored data; without it there always is. */
  readonly space?: SpaceGuard;
  /** Version of the product. */
  readonly version: string;
}

type Changing<T> = { -readonly [Name in keyof T]: T[Name] };

/**
 * Makes backups in one folder and restores them, one at a time, because each is limited by the disk and concurrency
 * would not make them faster. Only this process knows its running operation; a finished backup is a folder of
 * any origin.
 */
export class MemberBackups implements Backups {
  readonly #environment: MemberBackupsEnvironment;
  readonly #folder: string;
  /** Backups of this process that are not folders: running or failed, the oldest first. */
  readonly #backups = new Map<string, BackupInfo>();
  readonly #restores = new Map<string, RestoreInfo>();
  readonly #stopped = new AbortController();
  /** Cancels the running restore. */
  #restoring: { readonly id: string; readonly stop: AbortController } | undefined;
  #running: { readonly what: string; readonly done: Promise<void> } | undefined;

  constructor(environment: MemberBackupsEnvironment) {
    this.#environment = environment;
    this.#folder = resolve(environment.folder);
  }

  async start({ name: given, repository }: NewBackup): Promise<BackupInfo> {
    const { clock, copies, files, key, kinds, router, version } = this.#environment;
    const name = given === undefined ? this.#newName(repository) : this.#requireName(given);
    requireRoom(this.#environment.backupSpace);
    const backup: Changing<BackupInfo> = {
      name,
      state: 'running',
      repository,
      startedAt: this.#now(),
      finishedAt: undefined,
      version,
      bytes: 0,
      actors: 0,
      signedBy: undefined,
      current: undefined,
      error: undefined,
    };
    return await this.#begin(`backup '${name}'`, async () => {
      if (repository !== undefined) await findRepository(router, repository);
      const { signal } = this.#stopped;
      const onBytes = (bytes: number): void => {
        backup.bytes += bytes;
      };
      const folder = this.#folder;
      const writer = await BackupWriter.begin({ folder, name, copies, files, key, clock, signal, onBytes });
      this.#backups.set(name, backup);
      const onActor = (actor: string): void => {
        backup.current = actor;
        backup.actors += 1;
      };
      const run = async (): Promise<void> => {
        try {
          await takeBackup({ router, kinds, clock, version, writer, onActor }, repository);
          this.#backups.delete(name);
        } catch (error) {
          await writer.discard();
          throw error;
        }
      };
      return { info: backup, run, forget: () => this.#forgetFailures() };
    });
  }

  async list(): Promise<readonly BackupInfo[]> {
    const names = existsSync(this.#folder) ? await readdir(this.#folder) : [];
    const found = new Map(this.#backups);
    for (const name of names) {
      if (isUnfinished(name) || !nameShape.test(name)) continue;
      const backup = await this.#stored(name).catch((error: unknown) => this.#unusable(name, error));
      if (backup !== undefined) found.set(name, backup);
    }
    return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async find(name: string): Promise<BackupInfo | undefined> {
    if (!nameShape.test(name)) return undefined;
    return this.#backups.get(name) ?? (await this.#stored(name));
  }

  async restore({ acceptForeign = false, backup, repository, target }: NewRestore): Promise<RestoreInfo> {
    const name = this.#requireName(backup);
    requireRoom(this.#environment.space);
    return await this.#begin(`restore of '${name}'`, async () => {
      const reader = await this.#open(name);
      reader.requireTrusted(acceptForeign);
      if (reader.origin !== 'own') {
        this.#environment.log.warn(`restoring a backup of another server, as requested`, {
          backup: name,
          origin: reader.origin,
        });
      }
      const source = sourceIn(reader, repository);
      const named =
        source === undefined ? undefined : (target ?? { tenant: source.tenant, name: source.name });
      if (named !== undefined) await this.#requireFree(named);
      else if (target !== undefined) throw invalid('Name the repository that is to get another name');
      else await requireEmpty(this.#environment.router);
      const actors = actorsOf(reader, source);
      const restore: Changing<RestoreInfo> = {
        id: uuidV7(this.#environment.clock.wallMs(), this.#environment.random),
        backup: name,
        state: 'running',
        repository: source === undefined ? undefined : { tenant: source.tenant, name: source.name },
        target: named,
        startedAt: this.#now(),
        finishedAt: undefined,
        bytes: 0,
        bytesTotal: 2 * BackupReader.bytesOf(actors),
        current: undefined,
        error: undefined,
      };
      this.#restores.set(restore.id, restore);
      const stop = new AbortController();
      const run = (): Promise<void> => {
        this.#restoring = { id: restore.id, stop };
        const signal = AbortSignal.any([this.#stopped.signal, stop.signal]);
        return this.#restore(reader, source, actors, restore, signal);
      };
      return { info: restore, run, forget: () => forgetOldest(this.#restores, RESTORES_KEPT) };
    });
  }

  findRestore(id: string): RestoreInfo | undefined {
    return this.#restores.get(id);
  }

  stopRestore(id: string): RestoreInfo | undefined {
    if (this.#restoring?.id === id) this.#restoring.stop.abort();
    return this.#restores.get(id);
  }

  /** Cancels the running operation and waits until nothing of it is left. No operation starts any more. */
  async close(): Promise<void> {
    this.#stopped.abort();
    await this.#running?.done;
  }

  /** @param prepare checks that are made at once; its error is the answer */
  async #begin<Info extends BackupInfo | RestoreInfo>(
    what: string,
    prepare: () => Promise<{ info: Changing<Info>; run: () => Promise<void>; forget: () => void }>,
  ): Promise<Info> {
    if (this.#stopped.signal.aborted) throw new ServiceError('SHUTTING_DOWN');
    if (this.#running !== undefined) {
      throw new ServiceError('CONFLICT', `The ${this.#running.what} is running; wait until it is over`);
    }
    const over = Promise.withResolvers<void>();
    this.#running = { what, done: over.promise };
    const end = (): void => {
      this.#running = undefined;
      over.resolve();
    };
    try {
      const { forget, info, run } = await prepare();
      forget();
      void this.#run(what, info, run).finally(end);
      return info;
    } catch (error) {
      end();
      throw error;
    }
  }

  /** Never rejects. */
  async #run(
    what: string,
    info: Changing<BackupInfo | RestoreInfo>,
    run: () => Promise<void>,
  ): Promise<void> {
    const { log } = this.#environment;
    log.info(`${what} begins`);
    try {
      await run();
      info.state = 'done';
      log.info(`${what} is done`, { bytes: info.bytes });
    } catch (error) {
      info.state = 'failed';
      info.error = told(error);
      log.error(`${what} failed`, { error });
    }
    info.current = undefined;
    info.finishedAt = this.#now();
  }

  async #restore(
    reader: BackupReader,
    source: BackupRepository | undefined,
    actors: readonly BackupActor[],
    restore: Changing<RestoreInfo>,
    signal: AbortSignal,
  ): Promise<void> {
    await reader.verify(actors, (bytes) => {
      if (signal.aborted) throw new ServiceError('REQUEST_CANCELLED', 'The restore was given up');
      restore.bytes += bytes;
    });
    const environment: RestoreEnvironment = {
      ...this.#environment,
      reader,
      signal,
      onActor: (actor) => {
        restore.current = actor;
      },
      // Progress counts files, because rows have fewer bytes than their pages.
      onFile: (bytes) => {
        restore.bytes += bytes;
      },
    };
    if (source === undefined || restore.target === undefined) await restoreEverything(environment);
    else await restoreRepository(environment, source, restore.target);
    restore.bytes = restore.bytesTotal;
  }

  /** @throws {ServiceError} `BACKUP_DAMAGED` */
  async #stored(name: string): Promise<BackupInfo | undefined> {
    try {
      const { manifest, origin } = await this.#open(name);
      const { actors, finishedAt, repositories, scope, startedAt, version } = manifest;
      const [only] = scope === 'repository' ? repositories : [];
      return {
        name,
        state: 'done',
        repository: only === undefined ? undefined : { tenant: only.tenant, name: only.name },
        startedAt,
        finishedAt,
        version,
        bytes: BackupReader.bytesOf(actors),
        actors: actors.length,
        signedBy: origin,
        current: undefined,
        error: undefined,
      };
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'BACKUP_NOT_FOUND') return undefined;
      throw error;
    }
  }

  /** @throws {ServiceError} `BACKUP_NOT_FOUND`, `BACKUP_DAMAGED` */
  #open(name: string): Promise<BackupReader> {
    const { files, key } = this.#environment;
    return BackupReader.open(join(this.#folder, name), files, key);
  }

  /** Returns the entry of an unreadable backup: it is listed, because a user may rely on it. */
  #unusable(name: string, error: unknown): BackupInfo {
    return {
      name,
      state: 'failed',
      repository: undefined,
      startedAt: '',
      finishedAt: undefined,
      version: '',
      bytes: 0,
      actors: 0,
      signedBy: undefined,
      current: undefined,
      error: told(error),
    };
  }

  /** @throws {ServiceError} `VALIDATION_FAILED` */
  #requireName(given: string): string {
    const isPath = isAbsolute(given);
    const name = isPath ? basename(given) : given;
    if (nameShape.test(name) && (!isPath || dirname(resolve(given)) === this.#folder)) return name;
    throw invalid(
      `'${given}' is no place for a backup: give a name of at most 128 letters, digits, ., _ and -, or a folder directly in ${this.#folder}`,
    );
  }

  #newName(repository: NamedRepository | undefined): string {
    const time = this.#now().replaceAll(':', '-').replace('.', '-');
    return repository === undefined ? time : `${time}-${repository.tenant}-${repository.name}`.slice(0, 128);
  }

  /** @throws {ServiceError} `REPOSITORY_ALREADY_EXISTS`, `TENANT_NOT_FOUND`, `VALIDATION_FAILED` */
  async #requireFree({ name, tenant }: NamedRepository): Promise<void> {
    const query: FindRepository = { type: 'FindRepository', repositoryId: requireRepositoryName(name) };
    const actor = actorId(requireTenantName(tenant), 'tenant');
    let known: unknown;
    try {
      known = await this.#environment.router.query(actor, query, engineCaller(tenant));
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'NOT_FOUND') throw error;
      throw new ServiceError('TENANT_NOT_FOUND', `Tenant '${tenant}' not found`);
    }
    if (known === undefined) return;
    throw new ServiceError(
      'REPOSITORY_ALREADY_EXISTS',
      `Repository '${tenant}/${name}' already exists; restore it under another name`,
    );
  }

  #forgetFailures(): void {
    forgetOldest(this.#backups, FAILURES_KEPT);
  }

  #now(): string {
    return new Date(this.#environment.clock.wallMs()).toISOString();
  }
}

/**
 * Restores a repository and registers it, which makes it visible.
 *
 * @throws {ServiceError} `REPOSITORY_ALREADY_EXISTS`, and the errors of {@link makeRepository}
 */
async function restoreRepository(
  environment: RestoreEnvironment,
  source: BackupRepository,
  target: NamedRepository,
): Promise<void> {
  const { router } = environment;
  const nameFloor = await readNameFloor(router, target.tenant, target.name);
  const { owner, tokenFloor, uid } = await makeRepository(environment, source, target, nameFloor);
  const { name: repositoryId, tenant } = target;
  const command: RegisterRepository = { type: 'RegisterRepository', repositoryId, uid, tokenFloor };
  try {
    await router.command(actorId(tenant, 'tenant'), command, { caller: engineCaller(tenant) });
    await environment.unsettled.settled(owner);
  } catch (error) {
    // Otherwise it may be registered; if it is not, a start removes it.
    if (await isCertainlyRefused(router, owner, error)) await discardActors(environment, owner);
    throw error;
  }
}

/** @throws {ServiceError} `STORAGE_FULL` */
function requireRoom(guard: SpaceGuard | undefined): void {
  const refusal = guard?.refusal('grows');
  if (refusal !== undefined) throw refusal;
}

/** @throws {ServiceError} `REPOSITORY_NOT_FOUND` */
function sourceIn(reader: BackupReader, wanted: NamedRepository | undefined): BackupRepository | undefined {
  const { repositories, scope } = reader.manifest;
  if (wanted === undefined) return scope === 'repository' ? repositories[0] : undefined;
  const found = repositories.find(({ name, tenant }) => name === wanted.name && tenant === wanted.tenant);
  if (found !== undefined) return found;
  throw new ServiceError(
    'REPOSITORY_NOT_FOUND',
    `Backup '${reader.name}' has no repository '${wanted.tenant}/${wanted.name}'`,
  );
}

function actorsOf(reader: BackupReader, source: BackupRepository | undefined): readonly BackupActor[] {
  if (source === undefined) return reader.manifest.actors;
  return reader.actorsUnder(actorId(source.tenant, partOf(source.name, source.uid)));
}

/** Returns the description of an error; of internal errors only what the registry permits. */
function told(error: unknown): OperationError {
  if (!(error instanceof ServiceError)) {
    return { code: 'INTERNAL_SERVER_ERROR', message: errorRegistry.INTERNAL_SERVER_ERROR.title };
  }
  const { code, entry, message } = error;
  return { code, message: entry.isPublic ? message : entry.title };
}

function forgetOldest(map: Map<string, { readonly state: string }>, most: number): void {
  for (const [key, { state }] of map) {
    if (map.size <= most) return;
    if (state !== 'running') map.delete(key);
  }
}
