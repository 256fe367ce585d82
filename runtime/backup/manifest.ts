import { createHash } from 'node:crypto';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Number of the format of a backup; older ones stay readable for ever, a newer one is refused. */
export const BACKUP_FORMAT = 1;

/** The file that makes a folder a backup. It is written last. */
export const MANIFEST_FILE = 'manifest.json';

/** What a manifest says wrote it. */
const PRODUCT = 'grove';

/** A copied actor. */
export interface BackupActor {
  /** Its id when it was copied. */
  readonly actor: string;
  /** Path in the backup. */
  readonly file: string;
  readonly bytes: number;
  /** Of the file, in hex. */
  readonly sha256: string;
  /** Position in the log it was copied from; it means nothing in any other log. */
  readonly sequence: number;
  /** Highest revision the actor had seen. */
  readonly clock: string;
}

/** A repository in a backup. */
export interface BackupRepository {
  readonly tenant: string;
  readonly name: string;
  /** Told it from others of its name. */
  readonly uid: string;
}

/** What a backup consists of. */
export interface BackupManifest {
  /** Version of the product that made it. */
  readonly version: string;
  /** Format of the shards in it. */
  readonly shardFormat: number;
  /** ISO 8601. Everything answered before this is in it. */
  readonly startedAt: string;
  /** ISO 8601. Nothing first asked for after this is in it. */
  readonly finishedAt: string;
  /** Whether it has all there was, or one repository. */
  readonly scope: 'everything' | 'repository';
  /** Tenants whose accounts and registry are in it; none for one repository. */
  readonly tenants: readonly string[];
  readonly repositories: readonly BackupRepository[];
  readonly actors: readonly BackupActor[];
}

/** The text of the manifest's file. Its checksum is of all the rest. */
export function encodeManifest(manifest: BackupManifest): string {
  const body = { product: PRODUCT, format: BACKUP_FORMAT, ...manifest };
  return `${JSON.stringify({ ...body, sha256: checksumOf(body) }, null, 2)}\n`;
}

/**
 * Turns {@link encodeManifest} back.
 *
 * @param name of the backup, for errors
 * @throws {ServiceError} `BACKUP_DAMAGED`
 */
export function decodeManifest(text: string, name: string): BackupManifest {
  const parsed = parsedObject(text, name);
  const { sha256, ...body } = parsed;
  if (body.product !== PRODUCT) throw damaged(name, `${MANIFEST_FILE} is not of a backup of this product`);
  if (typeof body.format !== 'number' || body.format > BACKUP_FORMAT) {
    throw damaged(
      name,
      `it has format ${JSON.stringify(body.format)}, this build reads up to ${BACKUP_FORMAT}; use a newer build`,
    );
  }
  if (sha256 !== checksumOf(body)) throw damaged(name, `${MANIFEST_FILE} does not have its checksum`);
  const manifest = body as unknown as BackupManifest;
  // What has its checksum was written by us; what a file is called decides what is opened, so it is looked at again.
  for (const { actor, file } of manifest.actors) {
    if (!fileShape.test(file))
      throw damaged(name, `${MANIFEST_FILE} names '${file}' as the file of ${actor}`);
  }
  return manifest;
}

/** Path of the file of the `number`-th actor, from 1; {@link decodeManifest} takes no other. */
export function shardPath(number: number): string {
  return `shards/${String(number).padStart(6, '0')}/data.mdb`;
}

const fileShape = /^shards\/\d{6,9}\/data\.mdb$/;

/** A backup that cannot be used. @param what a sentence's end: what is wrong with it */
export function damaged(name: string, what: string, cause?: unknown): ServiceError {
  const message = `Backup '${name}' cannot be used: ${what}`;
  return new ServiceError('BACKUP_DAMAGED', message, cause === undefined ? {} : { cause });
}

function parsedObject(text: string, name: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) {
      return parsed as Record<string, unknown>;
    }
  } catch (cause) {
    throw damaged(name, `${MANIFEST_FILE} is not JSON`, cause);
  }
  throw damaged(name, `${MANIFEST_FILE} is not an object`);
}

function checksumOf(body: object): string {
  return createHash('sha256').update(JSON.stringify(body)).digest('hex');
}
