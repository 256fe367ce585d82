import { join } from 'node:path';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { decodeJsonRow, encodeJsonRow } from './json-row.ts';

/**
 * Identifies the shard that a file belongs to. It is written when the file is created and never changes, so that a file
 * put in the place of another one is detected. The catalogue of the data directory has the expected identity.
 *
 * @see docs/decisions/0030-nothing-is-removed-by-inference.md
 */
export interface ShardIdentity {
  /** Random id of the data directory. */
  readonly directory: string;
  readonly actor: string;
  /**
   * Sequence of the log record that created the actor; 0 for an actor older than identities, whose file may have none.
   */
  readonly created: number;
}

/**
 * Compares the identity of a file with the expected one.
 *
 * @param path of the file, for the error text
 * @param stored identity in the file
 * @param isNew whether the file is being created
 * @returns the identity to be stored; undefined when it is stored already
 * @throws {ServiceError} `DATA_CORRUPTED` when the file belongs to something else
 */
export function requireIdentity(
  path: string,
  identity: ShardIdentity,
  stored: Uint8Array | undefined,
  isNew: boolean,
): Uint8Array | undefined {
  const { actor, created, directory } = identity;
  if (stored === undefined && (isNew || created === 0)) return encodeIdentity(identity);
  if (stored === undefined) throw foreign(path, actor, 'does not say whose it is');
  const [storedDirectory, storedActor, storedCreated] = decodeJsonRow(stored) as [string, string, number];
  if (storedActor !== actor) throw foreign(path, actor, `is the file of ${storedActor}`);
  if (storedDirectory !== directory) throw foreign(path, actor, 'is of another data directory');
  if (storedCreated !== created) throw foreign(path, actor, 'is of an earlier one of that name');
  return undefined;
}

/** The stored form of an identity. */
export function encodeIdentity({ actor, created, directory }: ShardIdentity): Uint8Array {
  return encodeJsonRow([directory, actor, created]);
}

/** Path of the file of a shard. */
export function shardPath(folder: string): string {
  return join(folder, 'data.mdb');
}

function foreign(path: string, actor: string, what: string): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    `${path} should be the file of ${actor} and ${what}; bring the right file back, or restore a backup`,
  );
}
