import { isBlobHash } from '#runtime/blobs/blob-hash.ts';

/** A stored piece of a blob. */
export interface BlobChunk {
  /** Sequence of its message in the stream. */
  readonly sequence: number;
  /** CRC-32 of its bytes: what a part is verified by without reading the whole. */
  readonly checksum: number;
}

/** Where the bytes of a blob are. */
export interface BlobManifest {
  readonly hash: string;
  /** In bytes. */
  readonly size: number;
  /** Names the upload; its pieces are under a subject of their own. */
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
 * The description of an object as the object store of JetStream has it, so that its own tools list and read ours.
 * Beyond it we keep where each chunk is, which makes any range one look-up.
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

/** A manifest as bytes. */
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

/** Turns {@link encodeManifest} back; undefined for what somebody else stored there, and for what was removed. */
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
 * The upload a description names, whoever wrote it and in whatever version; undefined when there is no telling.
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
