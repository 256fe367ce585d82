import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { FileSystem } from '#runtime/base/file-system.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { SHARD_FORMAT } from '#runtime/shard/lmdb-tables.ts';
import { ShardFile } from '#runtime/shard/shard-file.ts';
import { hashFile } from './file-hash.ts';
import { type BackupActor, type BackupManifest, damaged, decodeManifest, MANIFEST_FILE } from './manifest.ts';

/** A finished backup. Nothing in it is changed. */
export class BackupReader {
  /** Of its folder. */
  readonly name: string;
  readonly manifest: BackupManifest;
  readonly #folder: string;
  readonly #files: FileSystem;

  private constructor(folder: string, manifest: BackupManifest, files: FileSystem) {
    this.name = basename(folder);
    this.manifest = manifest;
    this.#folder = folder;
    this.#files = files;
  }

  /**
   * Reads the manifest.
   *
   * @param folder of the backup
   * @throws {ServiceError} `BACKUP_NOT_FOUND`, `BACKUP_DAMAGED`
   */
  static async open(folder: string, files: FileSystem): Promise<BackupReader> {
    const path = join(folder, MANIFEST_FILE);
    if (!existsSync(path)) {
      const what = existsSync(folder) ? `${folder} is not a backup: it has no ${MANIFEST_FILE}` : undefined;
      throw new ServiceError('BACKUP_NOT_FOUND', what ?? `There is no backup ${folder}`);
    }
    const manifest = decodeManifest(await readFile(path, 'utf8'), basename(folder));
    if (manifest.shardFormat > SHARD_FORMAT) {
      const formats = `its shards have format ${manifest.shardFormat}, this build reads up to ${SHARD_FORMAT}`;
      throw damaged(basename(folder), `${formats}; use a newer build`);
    }
    return new BackupReader(folder, manifest, files);
  }

  /** Bytes of some actors' files. */
  static bytesOf(actors: readonly BackupActor[]): number {
    return actors.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  /** The actors whose ids begin with an owner. */
  actorsUnder(owner: string): readonly BackupActor[] {
    return this.manifest.actors.filter(({ actor }) => actor.startsWith(`${owner}/`));
  }

  /**
   * Compares files with their checksums, all of them before anything is done with one.
   *
   * @param onBytes told of every piece; what it throws ends it
   * @throws {ServiceError} `BACKUP_DAMAGED` naming the file
   */
  async verify(actors: readonly BackupActor[], onBytes: (bytes: number) => void): Promise<void> {
    for (const { actor, bytes, file, sha256 } of actors) {
      const path = join(this.#folder, file);
      if (!existsSync(path)) throw damaged(this.name, `${file} (${actor}) is missing`);
      const found = await hashFile(this.#files, path, onBytes);
      if (found.bytes !== bytes) {
        throw damaged(this.name, `${file} (${actor}) has ${found.bytes} bytes, not ${bytes}`);
      }
      if (found.sha256 !== sha256) throw damaged(this.name, `${file} (${actor}) does not have its checksum`);
    }
  }

  /**
   * Opens the file of an actor; close it.
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
