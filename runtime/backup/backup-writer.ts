import { existsSync } from 'node:fs';
import { rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ActorCopies } from '#runtime/actor/copies/actor-copies.ts';
import type { ActorId } from '#runtime/actor/ports.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import { type FileSystem, isOutOfSpace } from '#runtime/base/files/file-system.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { BackupKey } from './backup-key.ts';
import { hashFile } from './file-hash.ts';
import {
  type BackupActor,
  type BackupManifest,
  encodeManifest,
  MANIFEST_FILE,
  shardPath,
} from './manifest.ts';

/** Age from which an unfinished backup counts as abandoned, in milliseconds. */
const ABANDONED_MS = 86_400_000;

const SUFFIX = '.partial';

/** Only the owner of the process may read content. */
const FILE_MODE = 0o600;

/** Dependencies of a backup writer. */
export interface BackupWriterEnvironment {
  /** Folder of the backups; created when it does not exist. */
  readonly folder: string;
  /** Name of the backup; one segment of a path. */
  readonly name: string;
  readonly copies: ActorCopies;
  /** Signs the manifest. */
  readonly key: BackupKey;
  readonly files: FileSystem;
  readonly clock: Clock;
  /** Cancels the backup between two pieces of a file. */
  readonly signal: AbortSignal;
  /** Called for every piece that is durable and included in its checksum. */
  readonly onBytes: (bytes: number) => void;
}

/**
 * A backup in progress. Its folder name begins with a dot until all of its content is durable, so that leftovers of an
 * interruption are recognizable; the next backup removes them.
 */
export class BackupWriter {
  readonly #environment: BackupWriterEnvironment;
  readonly #unfinished: string;
  #files = 0;

  private constructor(environment: BackupWriterEnvironment) {
    this.#environment = environment;
    this.#unfinished = join(environment.folder, unfinishedName(environment.name));
  }

  /** @throws {ServiceError} `ALREADY_EXISTS`, `STORAGE_FULL` */
  static async begin(environment: BackupWriterEnvironment): Promise<BackupWriter> {
    const { files, folder, name } = environment;
    const writer = new BackupWriter(environment);
    try {
      await files.makeDirectory(folder);
      writer.#requireFree();
      await removeAbandoned(environment);
      await rm(writer.#unfinished, { recursive: true, force: true });
      await files.makeDirectory(join(writer.#unfinished, dirname(dirname(shardPath(1)))));
      return writer;
    } catch (cause) {
      throw storageError(cause, `backup '${name}' cannot be made in ${folder}`);
    }
  }

  /**
   * Adds the present state of an actor. @throws {ServiceError} the errors of {@link ActorCopies.copy};
   * `REQUEST_CANCELLED`
   */
  async add(actor: ActorId): Promise<BackupActor> {
    const { copies, files, name, onBytes, signal } = this.#environment;
    requireWanted(signal);
    const file = shardPath(++this.#files);
    const path = this.pathOf({ file });
    try {
      const { sequence, clock } = await copies.copy(actor, dirname(path));
      const { bytes, sha256 } = await hashFile(files, path, (read) => {
        requireWanted(signal);
        onBytes(read);
      });
      await files.syncDirectory(dirname(path));
      crashPoint('mid-backup');
      return { actor, file, bytes, sha256, sequence, clock: formatRevision(clock) };
    } catch (cause) {
      throw storageError(cause, `backup '${name}' cannot be written`);
    }
  }

  /** Path of an actor's file while the backup is in progress. */
  pathOf({ file }: Pick<BackupActor, 'file'>): string {
    return join(this.#unfinished, file);
  }

  /** Removes an actor again, because an actor copied with it has changed. */
  async drop({ file }: Pick<BackupActor, 'file'>): Promise<void> {
    await rm(dirname(this.pathOf({ file })), { recursive: true, force: true });
  }

  /** Completes the backup; it is durable when this resolves. @throws {ServiceError} `ALREADY_EXISTS`, `STORAGE_FULL` */
  async finish(manifest: BackupManifest): Promise<void> {
    const { files, folder, key, name } = this.#environment;
    try {
      const path = join(this.#unfinished, MANIFEST_FILE);
      await writeFile(path, encodeManifest(manifest, key), { mode: FILE_MODE, flush: true });
      await files.syncDirectory(join(this.#unfinished, dirname(dirname(shardPath(1)))));
      await files.syncDirectory(this.#unfinished);
      crashPoint('before-backup-rename');
      this.#requireFree();
      await files.rename(this.#unfinished, join(folder, name));
      await files.syncDirectory(folder);
    } catch (cause) {
      throw storageError(cause, `backup '${name}' cannot be written`);
    }
  }

  /** Removes the unfinished backup. */
  async discard(): Promise<void> {
    await rm(this.#unfinished, { recursive: true, force: true });
  }

  #requireFree(): void {
    const { folder, name } = this.#environment;
    if (!existsSync(join(folder, name))) return;
    throw new ServiceError('ALREADY_EXISTS', `There is a backup '${name}' already`);
  }
}

/** Whether a name in the folder of the backups belongs to an unfinished one. */
export function isUnfinished(name: string): boolean {
  return name.startsWith('.') && name.endsWith(SUFFIX);
}

function unfinishedName(name: string): string {
  return `.${name}${SUFFIX}`;
}

/** Removes abandoned backups. A younger one may belong to another process that shares the folder. */
async function removeAbandoned({ clock, files, folder }: BackupWriterEnvironment): Promise<void> {
  for (const name of await files.readdir(folder)) {
    if (!isUnfinished(name)) continue;
    const path = join(folder, name);
    const { modifiedMs } = await files.stat(join(path, 'shards')).catch(() => files.stat(path));
    if (clock.wallMs() - modifiedMs > ABANDONED_MS) await rm(path, { recursive: true, force: true });
  }
}

function requireWanted(signal: AbortSignal): void {
  if (signal.aborted) throw new ServiceError('REQUEST_CANCELLED', 'The backup was given up');
}

function storageError(cause: unknown, what: string): unknown {
  const { code, message } = cause as NodeJS.ErrnoException;
  if (cause instanceof ServiceError || code === undefined) return cause;
  const isFull = isOutOfSpace(cause);
  const text = isFull ? `the disk is full: ${what}` : `${what}: ${message}`;
  return new ServiceError(isFull ? 'STORAGE_FULL' : 'CONFLICT', text, { cause });
}
