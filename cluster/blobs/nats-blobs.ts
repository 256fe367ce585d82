import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { Random } from '#runtime/base/random.ts';
import { BLOB_HASH, blobCorrupted, blobNotFound, requireBlobHash } from '#runtime/blobs/blob-hash.ts';
import { Incoming, requireRange } from '#runtime/blobs/incoming.ts';
import type { BlobInfo, BlobRange, Blobs, PutOptions } from '#runtime/blobs/ports.ts';
import {
  type BlobChunk,
  type BlobManifest,
  BlobSubjects,
  decodeManifest,
  encodeManifest,
  uploadNamedIn,
} from './blob-manifest.ts';
import { BlobStream, type BlobStreamEnvironment, type StoredMessage } from './blob-stream.ts';

/** Bytes of one message; the servers accept 1 MiB. */
const CHUNK_BYTES = 524_288;

/** Number of concurrent lookups while all blobs are listed. */
const LIST_LOOKUPS = 16;

/** Random bytes of the name of an upload. */
const UPLOAD_BYTES = 16;

/**
 * Blobs in the object store of JetStream. Each blob is a series of messages and, written last, a description with their
 * locations. The description exists only when all bytes do, so a blob is complete or absent. Every member sees the
 * same; {@link NatsBlobs.sweep} removes the messages of interrupted uploads.
 *
 * Chunks are read by their sequence. Any replica may answer, because it has either exactly that message or none; the
 * leader is asked when a chunk is missing or damaged.
 */
export class NatsBlobs implements Blobs {
  readonly #stream: BlobStream;
  readonly #subjects: BlobSubjects;
  readonly #clock: Clock;
  readonly #random: Random;

  private constructor(stream: BlobStream, subjects: BlobSubjects, clock: Clock, random: Random) {
    this.#stream = stream;
    this.#subjects = subjects;
    this.#clock = clock;
    this.#random = random;
  }

  /** Creates or finds the bucket. @throws {ServiceError} `OVERLOADED` when the servers do not answer */
  static async open(environment: BlobStreamEnvironment): Promise<NatsBlobs> {
    const subjects = new BlobSubjects(environment.bucket);
    const stream = await BlobStream.open(environment, subjects.stream);
    return new NatsBlobs(stream, subjects, environment.clock, environment.random);
  }

  async put(
    content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
    options: PutOptions,
  ): Promise<BlobInfo> {
    if (options.hash !== undefined) requireBlobHash(options.hash);
    const upload = Buffer.from(this.#random.bytes(UPLOAD_BYTES)).toString('hex');
    try {
      const incoming = new Incoming(content, options);
      const chunks = await this.#upload(upload, incoming);
      const hash = incoming.finish();
      const replaced = await this.#manifestOf(hash);
      const storedAtMs = Math.floor(this.#clock.wallMs());
      const manifest = { hash, size: incoming.size, upload, chunkBytes: CHUNK_BYTES, chunks, storedAtMs };
      const bytes = encodeManifest(this.#subjects.bucket, manifest);
      await this.#stream.publish(this.#subjects.manifest(hash), bytes, `${upload}-manifest`, true);
      // A reader of the old chunks finds the new ones when they are gone.
      if (replaced !== undefined) await this.#forget(replaced.upload);
      return { hash, size: manifest.size, storedAtMs };
    } catch (error) {
      await this.#forget(upload);
      throw error;
    }
  }

  async info(hash: string): Promise<BlobInfo | undefined> {
    const manifest = await this.#manifestOf(requireBlobHash(hash));
    return manifest === undefined ? undefined : infoOf(manifest);
  }

  async get(hash: string, range?: BlobRange): Promise<AsyncIterable<Uint8Array>> {
    const manifest = await this.#manifestOf(requireBlobHash(hash));
    if (manifest === undefined) throw blobNotFound(hash);
    const { start, end } = range ?? { start: 0, end: manifest.size };
    requireRange({ start, end }, manifest.size);
    const isWhole = start === 0 && end === manifest.size;
    return isWhole ? this.#whole(manifest) : this.#part(manifest, start, end);
  }

  async delete(hash: string): Promise<boolean> {
    const subject = this.#subjects.manifest(requireBlobHash(hash));
    const found = await this.#stream.last(subject);
    if (found === undefined) return false;
    // A blob that is stored again meanwhile must stay.
    await this.#stream.purge(subject, found.sequence + 1);
    const manifest = decodeManifest(found.data);
    if (manifest !== undefined) await this.#forget(manifest.upload);
    return manifest !== undefined;
  }

  async *list(): AsyncGenerator<BlobInfo, void> {
    for await (const { data } of this.#descriptions()) {
      const manifest = decodeManifest(data);
      if (manifest !== undefined) yield infoOf(manifest);
    }
  }

  async sweep(olderThanMs: number): Promise<number> {
    // First the existing chunks, then the known uploads: an upload in between is in the second list.
    const subjects = await this.#stream.subjects(this.#subjects.allChunks);
    const known = new Set<string>();
    for await (const { data } of this.#descriptions()) {
      const upload = uploadNamedIn(data);
      // An unreadable description may be from a newer build, whose bytes must not be lost.
      if (upload === undefined) return 0;
      known.add(upload);
    }
    let removed = 0;
    for (const subject of subjects) {
      const upload = this.#subjects.uploadOf(subject);
      if (known.has(upload)) continue;
      const last = await this.#stream.last(subject);
      if (last === undefined || this.#clock.wallMs() - last.timeMs < olderThanMs) continue;
      await this.#stream.purge(subject, last.sequence + 1);
      removed += 1;
    }
    return removed;
  }

  async #upload(upload: string, incoming: Incoming): Promise<readonly BlobChunk[]> {
    const subject = this.#subjects.chunks(upload);
    const chunks: BlobChunk[] = [];
    // Each chunk needs its own buffer, because a published one may still be in transit.
    let chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    let filled = 0;
    const flush = async (): Promise<void> => {
      const bytes = chunk.subarray(0, filled);
      const sequence = await this.#stream.publish(subject, bytes, `${upload}-${chunks.length}`);
      chunks.push({ sequence, checksum: crc32(bytes) });
      chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
      filled = 0;
    };
    for await (const piece of incoming.pieces()) {
      for (let start = 0; start < piece.length; ) {
        const length = Math.min(piece.length - start, CHUNK_BYTES - filled);
        chunk.set(piece.subarray(start, start + length), filled);
        filled += length;
        start += length;
        if (filled === CHUNK_BYTES) await flush();
      }
    }
    if (filled > 0) await flush();
    return chunks;
  }

  /** Yields all bytes; the last chunk only when the hash matches. */
  async *#whole(manifest: BlobManifest): AsyncGenerator<Uint8Array, void> {
    const digest = createHash(BLOB_HASH);
    let last: Uint8Array | undefined;
    for await (const chunk of this.#chunks(manifest, 0, manifest.chunks.length)) {
      if (last !== undefined) yield last;
      digest.update(chunk);
      last = chunk;
    }
    if (digest.digest('hex') !== manifest.hash) throw blobCorrupted(manifest.hash);
    if (last !== undefined) yield last;
  }

  async *#part(manifest: BlobManifest, start: number, end: number): AsyncGenerator<Uint8Array, void> {
    if (start === end) return;
    const { chunkBytes } = manifest;
    const first = Math.floor(start / chunkBytes);
    let position = first * chunkBytes;
    for await (const chunk of this.#chunks(manifest, first, Math.ceil(end / chunkBytes))) {
      yield chunk.subarray(Math.max(0, start - position), Math.min(chunk.length, end - position));
      position += chunk.length;
    }
  }

  /** Yields chunks in order, each verified; the next one is fetched while one is used. */
  async *#chunks(manifest: BlobManifest, first: number, end: number): AsyncGenerator<Uint8Array, void> {
    const fetch = (index: number): Promise<Uint8Array> => {
      const fetched = this.#chunk(manifest, index);
      // It may fail while the one before it is still being used.
      fetched.catch(() => {});
      return fetched;
    };
    let next = first < end ? fetch(first) : undefined;
    for (let index = first; next !== undefined; index++) {
      const chunk = await next;
      next = index + 1 < end ? fetch(index + 1) : undefined;
      yield chunk;
    }
  }

  async #chunk(manifest: BlobManifest, index: number): Promise<Uint8Array> {
    const found = (await this.#read(manifest, index, false)) ?? (await this.#read(manifest, index, true));
    if (found !== undefined) return found;
    // It was stored again since, or removed.
    const now = await this.#manifestOf(manifest.hash);
    if (now === undefined) throw blobNotFound(manifest.hash);
    const isOther = now.upload !== manifest.upload && now.chunkBytes === manifest.chunkBytes;
    const again = isOther ? await this.#read(now, index, true) : undefined;
    if (again === undefined) throw blobCorrupted(manifest.hash);
    return again;
  }

  /** Reads a chunk; undefined when it is missing or damaged. */
  async #read(
    { chunkBytes, chunks, size }: BlobManifest,
    index: number,
    isThorough: boolean,
  ): Promise<Uint8Array | undefined> {
    const { checksum, sequence } = chunks[index] as BlobChunk;
    const bytes = await this.#stream.message(sequence, isThorough);
    if (bytes === undefined) return undefined;
    const isRight =
      bytes.length === Math.min(chunkBytes, size - index * chunkBytes) && crc32(bytes) === checksum;
    return isRight ? bytes : undefined;
  }

  async *#descriptions(): AsyncGenerator<StoredMessage, void> {
    const subjects = await this.#stream.subjects(this.#subjects.manifests);
    for (let start = 0; start < subjects.length; start += LIST_LOOKUPS) {
      const group = subjects.slice(start, start + LIST_LOOKUPS);
      const found = await Promise.all(group.map((subject) => this.#stream.last(subject)));
      for (const message of found) if (message !== undefined) yield message;
    }
  }

  async #manifestOf(hash: string): Promise<BlobManifest | undefined> {
    const found = await this.#stream.last(this.#subjects.manifest(hash));
    return found === undefined ? undefined : decodeManifest(found.data);
  }

  /** Removes the chunks of an upload; those that cannot be removed now are swept later. */
  async #forget(upload: string): Promise<void> {
    await this.#stream.purge(this.#subjects.chunks(upload)).catch(() => {});
  }
}

function infoOf({ hash, size, storedAtMs }: BlobManifest): BlobInfo {
  return { hash, size, storedAtMs };
}
