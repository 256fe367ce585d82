import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Clock } from '#runtime/base/time/clock.ts';
import {
  type FileFacts,
  type FileSystem,
  isOutOfSpace,
  type OpenFile,
} from '#runtime/base/files/file-system.ts';
import { type Random, uuidV7 } from '#runtime/base/random.ts';
import {
  BLOB_HASH,
  blobCorrupted,
  blobNotFound,
  isBlobHash,
  requireBlobHash,
} from '#runtime/blobs/blob-hash.ts';
import { Incoming, requireRange } from '#runtime/blobs/incoming.ts';
import type { BlobInfo, BlobRange, Blobs, PutOptions } from '#runtime/blobs/ports.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Bytes of one piece. */
const PIECE_BYTES = 262_144;

/** Folder of unfinished uploads, beside the folders of stored blobs; no hash begins like this. */
const INCOMING = 'incoming';

/** Number of hex digits of a hash in a folder name: 256 folders. */
const PREFIX_DIGITS = 2;

/** Dependencies of the blob store. */
export interface FileBlobsEnvironment {
  /** Folder used for nothing else; created when missing. */
  readonly folder: string;
  readonly files: FileSystem;
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * Blobs as files named by their hash, in folders named by its first digits. Bytes are written under another name,
 * flushed, renamed, and the rename is flushed, so every file named by a hash was once complete. One process owns the
 * folder.
 */
export class FileBlobs implements Blobs {
  readonly #environment: FileBlobsEnvironment;

  private constructor(environment: FileBlobsEnvironment) {
    this.#environment = environment;
  }

  /** Opens the folder and removes unfinished uploads of a crash. */
  static async open(environment: FileBlobsEnvironment): Promise<FileBlobs> {
    await environment.files.makeDirectory(join(environment.folder, INCOMING));
    const blobs = new FileBlobs(environment);
    await blobs.sweep(0);
    return blobs;
  }

  /** Read-only access to a folder: nothing is created, removed or changed, and the folder may be missing. */
  static reading(environment: FileBlobsEnvironment): Pick<FileBlobs, 'get' | 'list' | 'pathOf'> {
    return new FileBlobs(environment);
  }

  async put(
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: PutOptions,
  ): Promise<BlobInfo> {
    const { clock, files, folder, random } = this.#environment;
    if (options.hash !== undefined) requireBlobHash(options.hash);
    const unfinished = join(folder, INCOMING, uuidV7(clock.wallMs(), random));
    try {
      const incoming = new Incoming(content, options);
      await this.#write(unfinished, incoming);
      const hash = incoming.finish();
      const home = this.#folderOf(hash);
      await files.makeDirectory(home);
      await files.rename(unfinished, join(home, hash));
      await files.syncDirectory(home);
      return { hash, size: incoming.size, storedAtMs: Math.floor(clock.wallMs()) };
    } catch (error) {
      // The file may not exist, and the first error is the one to report.
      await files.unlink(unfinished).catch(() => {});
      throw spaceError(error);
    }
  }

  async info(hash: string): Promise<BlobInfo | undefined> {
    const facts = await this.#stat(this.pathOf(requireBlobHash(hash)));
    return facts === undefined ? undefined : infoOf(hash, facts);
  }

  async get(hash: string, range?: BlobRange): Promise<AsyncIterable<Uint8Array>> {
    const info = await this.info(hash);
    if (info === undefined) throw blobNotFound(hash);
    const { start, end } = range ?? { start: 0, end: info.size };
    requireRange({ start, end }, info.size);
    const isWhole = start === 0 && end === info.size;
    return isWhole ? this.#whole(hash) : this.#part(hash, start, end);
  }

  async delete(hash: string): Promise<boolean> {
    const { files } = this.#environment;
    try {
      await files.unlink(this.pathOf(requireBlobHash(hash)));
    } catch (error) {
      if (isMissing(error)) return false;
      throw error;
    }
    await files.syncDirectory(this.#folderOf(hash));
    return true;
  }

  async *list(): AsyncGenerator<BlobInfo, void> {
    for (let number = 0; number < 16 ** PREFIX_DIGITS; number++) {
      const home = this.#folderOf(number.toString(16).padStart(PREFIX_DIGITS, '0'));
      for (const name of await this.#namesIn(home)) {
        const facts = isBlobHash(name) ? await this.#stat(join(home, name)) : undefined;
        if (facts !== undefined) yield infoOf(name, facts);
      }
    }
  }

  async sweep(olderThanMs: number): Promise<number> {
    const { clock, files, folder } = this.#environment;
    const incoming = join(folder, INCOMING);
    let removed = 0;
    for (const name of await this.#namesIn(incoming)) {
      const facts = await this.#stat(join(incoming, name));
      if (facts === undefined || clock.wallMs() - facts.modifiedMs < olderThanMs) continue;
      await files.unlink(join(incoming, name));
      removed += 1;
    }
    return removed;
  }

  async #write(path: string, incoming: Incoming): Promise<void> {
    const file = await this.#environment.files.open(path, 'create');
    try {
      let position = 0;
      for await (const piece of incoming.pieces()) {
        await file.write(piece, 0, piece.length, position);
        position += piece.length;
      }
      await file.sync();
    } finally {
      await file.close();
    }
  }

  /** All bytes; the last piece is returned only if the hash of all bytes matches the name. */
  async *#whole(hash: string): AsyncGenerator<Uint8Array, void> {
    const file = await this.#openFile(hash);
    try {
      const digest = createHash(BLOB_HASH);
      let last: Uint8Array | undefined;
      for (let position = 0; ; ) {
        const piece = await readPiece(file, position, PIECE_BYTES);
        if (piece.length === 0) break;
        if (last !== undefined) yield last;
        digest.update(piece);
        position += piece.length;
        last = piece;
      }
      if (digest.digest('hex') !== hash) throw blobCorrupted(hash);
      if (last !== undefined) yield last;
    } finally {
      await file.close();
    }
  }

  async *#part(hash: string, start: number, end: number): AsyncGenerator<Uint8Array, void> {
    const file = await this.#openFile(hash);
    try {
      for (let position = start; position < end; ) {
        const piece = await readPiece(file, position, Math.min(PIECE_BYTES, end - position));
        if (piece.length === 0) throw blobCorrupted(hash);
        position += piece.length;
        yield piece;
      }
    } finally {
      await file.close();
    }
  }

  async #openFile(hash: string): Promise<OpenFile> {
    try {
      return await this.#environment.files.open(this.pathOf(hash), 'read');
    } catch (error) {
      throw isMissing(error) ? blobNotFound(hash) : error;
    }
  }

  async #stat(path: string): Promise<FileFacts | undefined> {
    try {
      return await this.#environment.files.stat(path);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }

  async #namesIn(folder: string): Promise<readonly string[]> {
    try {
      return await this.#environment.files.readdir(folder);
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  #folderOf(hash: string): string {
    return join(this.#environment.folder, hash.slice(0, PREFIX_DIGITS));
  }

  /** The path of a blob's file. */
  pathOf(hash: string): string {
    return join(this.#folderOf(hash), hash);
  }
}

function infoOf(hash: string, { modifiedMs, size }: FileFacts): BlobInfo {
  return { hash, size, storedAtMs: Math.floor(modifiedMs) };
}

async function readPiece(file: OpenFile, position: number, length: number): Promise<Uint8Array> {
  const buffer = Buffer.allocUnsafeSlow(length);
  return buffer.subarray(0, await file.read(buffer, 0, length, position));
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

function spaceError(error: unknown): unknown {
  return isOutOfSpace(error) ? new ServiceError('STORAGE_FULL', undefined, { cause: error }) : error;
}
