import { isBlobHash } from '#runtime/blobs/blob-hash.ts';

/** A stored piece of a blob. */
export interface BlobChunk {
  /** Sequence of its message in the stream. */
  readonly sequence: number;
  /** CRC-32 of its bytes: verifies a partial read. */
  readonly checksum: number;
}

/** Locations of the bytes of a blob. */
export interface BlobManifest {
  readonly hash: string;
  /** In bytes. */
  readonly size: number;
  /** Identifies the upload; its chunks have a subject of their own. */
  readonly upload: string;
  /** Bytes of each chunk but the last. */
  readonly chunkBytes: number;
  readonly chunks: readonly BlobChunk[];
  /** Milliseconds since the Unix epoch. */
  readonly storedAtMs: number;
}

/** Key of the chunk list in the metadata of an object. */
const CHUNKS = 'grove-chunks';

const RADIX = 36;

/**
 * The description of an object in the format of the JetStream object store, so that its tools list and read our
 * objects. We add the location of each chunk, so that any range needs one lookup.
 */
interface ObjectInfo {
  readonly name: string;
  readonly bucket: string;
  readonly nuid: string;
  readonly size: number;
  readonly chunks: number;
  readonly mtime: string;
  readonly digest: string;
  readonly deleted?: boolean;
  readonly options: { readonly max_chunk_size: number };
  readonly metadata?: Readonly<Record<string, string>>;
}

/** Subjects of a bucket. */
export class BlobSubjects {
  readonly bucket: string;

  constructor(bucket: string) {
    this.bucket = bucket;
  }

  /** The stream behind the bucket. */
  get stream(): string {
    return `OBJ_${this.bucket}`;
  }

  /** The description of a blob. */
  manifest(hash: string): string {
    return `$O.${this.bucket}.M.${padded(Buffer.from(hash))}`;
  }

  /** The descriptions of all blobs. */
  get manifests(): string {
    return `$O.${this.bucket}.M.>`;
  }

  /** The chunks of an upload. */
  chunks(upload: string): string {
    return `$O.${this.bucket}.C.${upload}`;
  }

  /** The chunks of all uploads. */
  get allChunks(): string {
    return `$O.${this.bucket}.C.>`;
  }

  /** The upload whose chunks are under a subject. */
  uploadOf(subject: string): string {
    return subject.slice(subject.lastIndexOf('.') + 1);
  }
}

/** Encodes a manifest. */
export function encodeManifest(bucket: string, manifest: BlobManifest): Uint8Array {
  const { chunkBytes, chunks, hash, size, storedAtMs, upload } = manifest;
  let before = 0;
  const list = chunks.map(({ checksum, sequence }) => {
    const text = `${(sequence - before).toString(RADIX)}:${checksum.toString(RADIX)}`;
    before = sequence;
    return text;
  });
  const info: ObjectInfo = {
    name: hash,
    bucket,
    nuid: upload,
    size,
    chunks: chunks.length,
    mtime: new Date(storedAtMs).toISOString(),
    digest: `SHA-256=${padded(Buffer.from(hash, 'hex'))}`,
    options: { max_chunk_size: chunkBytes },
    metadata: { [CHUNKS]: list.join(' ') },
  };
  return Buffer.from(JSON.stringify(info));
}

/** Decodes {@link encodeManifest}; undefined for an object of another program, and for a removed one. */
export function decodeManifest(bytes: Uint8Array): BlobManifest | undefined {
  let info: ObjectInfo;
  try {
    info = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) as ObjectInfo;
  } catch {
    return undefined;
  }
  const list = info?.metadata?.[CHUNKS];
  if (list === undefined || info.deleted === true || !isBlobHash(info.name)) return undefined;
  let sequence = 0;
  const chunks = (list === '' ? [] : list.split(' ')).map((text): BlobChunk => {
    const [step, checksum] = text.split(':') as [string, string];
    sequence += Number.parseInt(step, RADIX);
    return { sequence, checksum: Number.parseInt(checksum, RADIX) };
  });
  const { max_chunk_size: chunkBytes } = info.options;
  const isWhole =
    chunks.every(({ checksum }) => Number.isInteger(checksum)) &&
    Number.isSafeInteger(sequence) &&
    Math.ceil(info.size / chunkBytes) === chunks.length;
  if (!isWhole) return undefined;
  const storedAtMs = Date.parse(info.mtime);
  return { hash: info.name, size: info.size, upload: info.nuid, chunkBytes, chunks, storedAtMs };
}

/**
 * Returns the upload that a description names, of any program and version; undefined when it is unknown.
 */
export function uploadNamedIn(bytes: Uint8Array): string | undefined {
  try {
    const { nuid } = JSON.parse(Buffer.from(bytes).toString()) as { readonly nuid?: unknown };
    return typeof nuid === 'string' ? nuid : undefined;
  } catch {
    return undefined;
  }
}

/** Base64 for URLs with its padding, as the object store writes it. */
function padded(bytes: Buffer): string {
  const text = bytes.toString('base64url');
  return text.padEnd(Math.ceil(text.length / 4) * 4, '=');
}
