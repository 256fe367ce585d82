import { createHash } from 'node:crypto';
import { isRepositoryName, isTenantName } from '#runtime/content/names.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { BackupKey, BackupSignature } from './backup-key.ts';

/** Format number of a backup. Older formats stay readable; a newer one is refused. */
export const BACKUP_FORMAT = 1;

/** The file that makes a folder a backup. It is written last. */
export const MANIFEST_FILE = 'manifest.json';

/** Product name in a manifest. */
const PRODUCT = 'grove';

/** A copied actor. */
export interface BackupActor {
  /** Its id at the time of the copy. */
  readonly actor: string;
  /** Path in the backup. */
  readonly file: string;
  readonly bytes: number;
  /** Of the file, in hex. */
  readonly sha256: string;
  /** Position in the log it was copied from; meaningless in any other log. */
  readonly sequence: number;
  /** Highest revision known to the actor. */
  readonly clock: string;
}

/** A repository in a backup. */
export interface BackupRepository {
  readonly tenant: string;
  readonly name: string;
  /** Distinguishes it from other repositories with its name. */
  readonly uid: string;
}

/** The content of a backup. */
export interface BackupManifest {
  /** Version of the product that wrote it. */
  readonly version: string;
  /** Format of the shards in it. */
  readonly shardFormat: number;
  /** ISO 8601. Every write answered before this is included. */
  readonly startedAt: string;
  /** ISO 8601. No write requested after this is included. */
  readonly finishedAt: string;
  /** Whether it contains all data, or one repository. */
  readonly scope: 'everything' | 'repository';
  /** Tenants whose accounts and registry are included; none for one repository. */
  readonly tenants: readonly string[];
  readonly repositories: readonly BackupRepository[];
  readonly actors: readonly BackupActor[];
}

/**
 * Origin of a backup, by its signature: `own` was signed with the key of this server, `foreign` with another one, and
 * `unsigned` with none, as in older versions.
 */
export type BackupOrigin = 'own' | 'foreign' | 'unsigned';

/** A manifest with its origin. */
export interface FoundManifest {
  readonly manifest: BackupManifest;
  readonly origin: BackupOrigin;
}

/** The text of the manifest file. The signature covers everything else, and the checksum covers both. */
export function encodeManifest(manifest: BackupManifest, key: BackupKey): string {
  const body = { product: PRODUCT, format: BACKUP_FORMAT, ...manifest };
  const signed = { ...body, signature: key.sign(JSON.stringify(body)) };
  return `${JSON.stringify({ ...signed, sha256: checksumOf(signed) }, null, 2)}\n`;
}

/**
 * Decodes the result of {@link encodeManifest}.
 *
 * @param name of the backup, for errors
 * @param key of this server; without one every backup is foreign
 * @throws {ServiceError} `BACKUP_DAMAGED`, also when it names the key of this server and the signature does not match
 */
export function decodeManifest(text: string, name: string, key: BackupKey | undefined): FoundManifest {
  const { sha256, ...signed } = parsedObject(text, name);
  const { signature, ...body } = signed;
  if (body.product !== PRODUCT) throw damaged(name, `${MANIFEST_FILE} is not of a backup of this product`);
  if (typeof body.format !== 'number' || body.format > BACKUP_FORMAT) {
    throw damaged(
      name,
      `it has format ${JSON.stringify(body.format)}, this build reads up to ${BACKUP_FORMAT}; use a newer build`,
    );
  }
  if (sha256 !== checksumOf(signed)) throw damaged(name, `${MANIFEST_FILE} does not have its checksum`);
  const origin = originOf(signature, JSON.stringify(body), key);
  if (origin === undefined) {
    throw damaged(
      name,
      `${MANIFEST_FILE} names the key of this server, and is not what was signed with it: it was altered`,
    );
  }
  const manifest = body as unknown as BackupManifest;
  requireNames(manifest, name);
  return { manifest, origin };
}

/** @returns undefined when it claims to be signed by this server and is not */
function originOf(signature: unknown, text: string, key: BackupKey | undefined): BackupOrigin | undefined {
  if (signature === undefined) return 'unsigned';
  if (!isSignature(signature) || key === undefined || !key.knows(signature)) return 'foreign';
  return key.verifies(text, signature) ? 'own' : undefined;
}

function isSignature(found: unknown): found is BackupSignature {
  if (typeof found !== 'object' || found === null) return false;
  const { hmac, key } = found as Record<string, unknown>;
  return typeof hmac === 'string' && typeof key === 'string';
}

/**
 * Checks every name that determines a path or an id. Anybody can compute a checksum, and an operator who accepts a
 * foreign backup trusts its content but not its paths.
 */
function requireNames({ actors, repositories, tenants }: BackupManifest, backup: string): void {
  const refuse = (what: string): never => {
    throw damaged(backup, `${MANIFEST_FILE} ${what}`);
  };
  if (![actors, repositories, tenants].every(Array.isArray)) refuse('does not list what it has');
  for (const tenant of tenants) if (!isTenantName(tenant)) refuse(`names '${String(tenant)}' as a tenant`);
  for (const { name, tenant, uid } of repositories) {
    if (!isTenantName(tenant) || !isRepositoryName(name) || !uidShape.test(uid))
      refuse(`names '${String(tenant)}/${String(name)}~${String(uid)}' as a repository`);
  }
  for (const { actor, file } of actors) {
    if (!actorShape.test(actor)) refuse(`names '${String(actor)}' as an actor`);
    if (!fileShape.test(file)) refuse(`names '${String(file)}' as the file of ${actor}`);
  }
}

/** Path of the file of the `number`-th actor, from 1; {@link decodeManifest} accepts no other. */
export function shardPath(number: number): string {
  return `shards/${String(number).padStart(6, '0')}/data.mdb`;
}

const fileShape = /^shards\/\d{6,9}\/data\.mdb$/;

/** Parts of an actor's id are percent-encoded; none of them is `.` or `..`. */
const actorShape = /^(?:(?!\.{1,2}\/)[A-Za-z0-9_.~%!'()*-]+\/)+[a-z]+$/;

const uidShape = /^[A-Za-z0-9]{1,64}$/;

/** The error for an unusable backup. @param what the end of a sentence: what is wrong with it */
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
