import { isBlobHash } from '#runtime/blobs/blob-hash.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { LogPosition } from '#cluster/replication/log-position.ts';

/** Format of manifests and records; raised with every change that older builds cannot read. */
const FORMAT = 1;

/** Number of records kept for each partition: the newest, and one to fall back to when that is damaged. */
export const SNAPSHOTS_KEPT = 2;

/** A stored file. */
export interface StoredFile {
  /** SHA-256 in hex: its name in the store. */
  readonly hash: string;
  /** In bytes. */
  readonly size: number;
}

/** An actor in a snapshot. */
export interface SnapshotActor extends StoredFile {
  readonly id: string;
  /** Newest record of its shard. Two shards of one actor with one sequence have the same content. */
  readonly sequence: number;
}

/** Contents of a snapshot. It is stored as a blob like its files, because it may be large. */
export interface SnapshotManifest {
  readonly partition: number;
  /** Every shard has everything up to here; some may have more. A member that uses it reads the log from here on. */
  readonly position: LogPosition;
  /** Milliseconds since the Unix epoch. */
  readonly takenAtMs: number;
  /** The member that took it. */
  readonly member: string;
  /** By id. Other actors did not exist. */
  readonly actors: readonly SnapshotActor[];
}

/** Index record of a verified snapshot. */
export interface SnapshotRecord {
  readonly partition: number;
  readonly position: LogPosition;
  readonly takenAtMs: number;
  readonly member: string;
  readonly actors: number;
  /** Size of all its files, including those shared with the previous snapshot. */
  readonly bytes: number;
  readonly manifest: StoredFile;
}

/**
 * Returns whether a member can start from a snapshot and continue with a log: the log still has the last record of the
 * snapshot, which proves that it is the same log.
 *
 * @param firstSequence the oldest record of the log
 */
export function isContinued({ position }: Pick<SnapshotRecord, 'position'>, firstSequence: number): boolean {
  return position.sequence >= firstSequence;
}

interface StoredPosition {
  readonly identity: string;
  readonly sequence: number;
  readonly epoch: number;
  readonly chain: string;
}

/** Encodes a manifest. */
export function encodeManifest(manifest: SnapshotManifest): Uint8Array {
  return Buffer.from(JSON.stringify({ format: FORMAT, ...manifest, position: storedOf(manifest.position) }));
}

/** Decodes {@link encodeManifest}. @throws {ServiceError} `DATA_CORRUPTED` for anything else */
export function decodeManifest(bytes: Uint8Array): SnapshotManifest {
  const { actors, member, partition, position, takenAtMs } = parsed(bytes, 'manifest');
  const isWhole =
    Number.isSafeInteger(partition) &&
    typeof member === 'string' &&
    Array.isArray(actors) &&
    actors.every(isActor);
  const at = positionOf(position);
  if (!isWhole || at === undefined) throw damaged('manifest');
  return { partition, member, takenAtMs: Number(takenAtMs), position: at, actors } as SnapshotManifest;
}

/** Encodes the index entry of a partition: its snapshots, newest first. */
export function encodeRecords(records: readonly SnapshotRecord[]): Uint8Array {
  const snapshots = records.map((record) => ({ ...record, position: storedOf(record.position) }));
  return Buffer.from(JSON.stringify({ format: FORMAT, snapshots }));
}

/** Decodes {@link encodeRecords}. @throws {ServiceError} `DATA_CORRUPTED` for anything else */
export function decodeRecords(bytes: Uint8Array): readonly SnapshotRecord[] {
  const { snapshots } = parsed(bytes, 'index');
  if (!Array.isArray(snapshots)) throw damaged('index');
  return snapshots.map((record: Record<string, unknown>): SnapshotRecord => {
    const position = positionOf(record.position);
    const { manifest } = record;
    if (position === undefined || !isFile(manifest)) throw damaged('index');
    return {
      partition: Number(record.partition),
      position,
      takenAtMs: Number(record.takenAtMs),
      member: String(record.member),
      actors: Number(record.actors),
      bytes: Number(record.bytes),
      manifest,
    };
  });
}

function parsed(bytes: Uint8Array, what: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString());
  } catch {
    throw damaged(what);
  }
  if (typeof value !== 'object' || value === null) throw damaged(what);
  const fields = value as Record<string, unknown>;
  if (typeof fields.format === 'number' && fields.format > FORMAT)
    throw new ServiceError('DATA_CORRUPTED', `The ${what} of snapshots is of a newer build; start that`);
  if (fields.format !== FORMAT) throw damaged(what);
  return fields;
}

function damaged(what: string): ServiceError {
  return new ServiceError('DATA_CORRUPTED', `The ${what} of snapshots cannot be read`);
}

function storedOf({ chain, epoch, identity, sequence }: LogPosition): StoredPosition {
  return { identity, sequence, epoch, chain: chain.toString('hex') };
}

function positionOf(value: unknown): LogPosition | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { chain, epoch, identity, sequence } = value as Partial<StoredPosition>;
  const isWhole =
    typeof identity === 'string' &&
    typeof chain === 'string' &&
    Number.isSafeInteger(sequence) &&
    Number.isSafeInteger(epoch);
  if (!isWhole) return undefined;
  return { identity, sequence: sequence as number, epoch: epoch as number, chain: Buffer.from(chain, 'hex') };
}

function isFile(value: unknown): value is StoredFile {
  if (typeof value !== 'object' || value === null) return false;
  const { hash, size } = value as Partial<StoredFile>;
  return typeof hash === 'string' && isBlobHash(hash) && Number.isSafeInteger(size) && (size as number) >= 0;
}

function isActor(value: unknown): value is SnapshotActor {
  if (!isFile(value)) return false;
  const { id, sequence } = value as Partial<SnapshotActor>;
  // It becomes a path.
  const isId = typeof id === 'string' && id.split('/').every((part) => part !== '' && !part.startsWith('.'));
  return isId && Number.isSafeInteger(sequence) && (sequence as number) >= 0;
}
