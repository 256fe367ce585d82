import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { FileSystem } from '#runtime/base/files/file-system.ts';
import { readWholeFile } from '#runtime/base/files/read-whole-file.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { SHARD_FORMAT } from '#runtime/shard/lmdb-tables.ts';
import { ShardFile } from '#runtime/shard/shard-file.ts';
import type { BackupKey } from './backup-key.ts';
import { hashFile } from './file-hash.ts';
import {
  type BackupActor,
  type BackupManifest,
  type BackupOrigin,
  damaged,
  decodeManifest,
  type FoundManifest,
  MANIFEST_FILE,
} from './manifest.ts';

/** A finished backup, read only. */
export class BackupReader {
  /** Name of its folder. */
  readonly name: string;
  readonly manifest: BackupManifest;
  /** Whether this server signed it. */
  readonly origin: BackupOrigin;
  readonly #folder: string;
  readonly #files: FileSystem;

  private constructor(folder: string, { manifest, origin }: FoundManifest, files: FileSystem) {
    this.name = basename(folder);
    this.manifest = manifest;
    this.origin = origin;
    this.#folder = folder;
    this.#files = files;
  }

  /**
   * Opens a backup and reads its manifest.
   *
   * @param folder of the backup
   * @param key of this server; without one every backup is foreign
   * @throws {ServiceError} `BACKUP_NOT_FOUND`, `BACKUP_DAMAGED`
   */
  static async open(folder: string, files: FileSystem, key: BackupKey | undefined): Promise<BackupReader> {
    const path = join(folder, MANIFEST_FILE);
    if (!existsSync(path)) {
      const what = existsSync(folder) ? `${folder} is not a backup: it has no ${MANIFEST_FILE}` : undefined;
      throw new ServiceError('BACKUP_NOT_FOUND', what ?? `There is no backup ${folder}`);
    }
    const found = decodeManifest(await readManifest(files, path), basename(folder), key);
    const { manifest } = found;
    if (manifest.shardFormat > SHARD_FORMAT) {
      const formats = `its shards have format ${manifest.shardFormat}, this build reads up to ${SHARD_FORMAT}`;
      throw damaged(basename(folder), `${formats}; use a newer build`);
    }
    return new BackupReader(folder, found, files);
  }

  /**
   * Refuses a backup that this server has not signed, unless it was accepted by name. Otherwise anyone
   * with write access to the folder of the backups could bring any content and any account into the server.
   *
   * @param isAccepted whether the caller asked for a foreign one
   * @throws {ServiceError} `BACKUP_FOREIGN`
   */
  requireTrusted(isAccepted: boolean): void {
    if (this.origin === 'own' || isAccepted) return;
    const what = this.origin === 'unsigned' ? 'is not signed' : 'is not signed with the key of this server';
    throw new ServiceError(
      'BACKUP_FOREIGN',
      `Backup '${this.name}' ${what}, so it may hold anything. Use the SVC_MASTER_KEY (or the folder secrets) of the server that made it; or, if you know where it comes from, accept it: --accept-foreign at the terminal, "accept_foreign": true over HTTP`,
    );
  }

  /** Size of the files of some actors, in bytes. */
  static bytesOf(actors: readonly BackupActor[]): number {
    return actors.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** The actors whose ids begin with `owner`. */
  actorsUnder(owner: string): readonly BackupActor[] {
    return this.manifest.actors.filter(({ actor }) => actor.startsWith(`${owner}/`));
  }

  /**
   * Verifies the checksums of files. Call it for all of them before any is used.
   *
   * @param onBytes called for every piece; an error it throws ends the verification
   * @throws {ServiceError} `BACKUP_DAMAGED` naming the file
   */
  async verify(actors: readonly BackupActor[], onBytes: (bytes: number) => void): Promise<void> {
    for (const { actor, bytes, file, sha256 } of actors) {
      const path = join(this.#folder, file);
      const there = statSync(path, { throwIfNoEntry: false });
      if (there === undefined) throw damaged(this.name, `${file} (${actor}) is missing`);
      if (!there.isFile()) throw damaged(this.name, `${file} (${actor}) is no file`);
      const found = await hashFile(this.#files, path, onBytes);
      if (found.bytes !== bytes) {
        throw damaged(this.name, `${file} (${actor}) has ${found.bytes} bytes, not ${bytes}`);
      }
      if (found.sha256 !== sha256) throw damaged(this.name, `${file} (${actor}) does not have its checksum`);
    }
  }

  /**
   * Opens the file of an actor; the caller closes it.
   *
   * @param tableNames of its kind, in the order of their numbers
   * @throws {ServiceError} `BACKUP_DAMAGED`
   */
  shard({ actor, file }: BackupActor, tableNames: readonly string[]): ShardFile {
    try {
      return new ShardFile(join(this.#folder, file), tableNames);
    } catch (cause) {
      throw damaged(this.name, `${file} (${actor}): ${(cause as Error).message}`, cause);
    }
  }
}

/** @throws {ServiceError} `BACKUP_DAMAGED` when it cannot be read */
async function readManifest(files: FileSystem, path: string): Promise<string> {
  try {
    return (await readWholeFile(files, path)).toString('utf8');
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw damaged(basename(dirname(path)), `its ${MANIFEST_FILE} cannot be read (${why})`, cause);
  }
}
