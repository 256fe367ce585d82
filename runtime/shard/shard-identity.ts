import { join } from 'node:path';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { decodeJsonRow, encodeJsonRow } from './json-row.ts';

/**
 * Whose shard a file is. It is written with the first bytes of the file and never changes, so that a file that was put
 * in the place of another one is noticed. The catalogue of the data directory knows what it must be.
 *
 * @see docs/decisions/0030-nothing-is-removed-by-inference.md
 */
export interface ShardIdentity {
  /** Random name of the data directory. */
  readonly directory: string;
  readonly actor: string;
  /** Sequence of the log record that made the actor; 0 for one older than identities, whose file may have none. */
  readonly created: number;
}

/**
 * Compares the identity of a file with what it must be.
 *
 * @param path of the file, for people
 * @param stored what it has
 * @param isNew whether the file is being made
 * @returns what is to be stored; undefined when that is there
 * @throws {ServiceError} `DATA_CORRUPTED` when it is the file of something else
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

/** An identity as it is stored. */
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
