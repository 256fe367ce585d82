import { invalid } from '#runtime/errors/service-error.ts';

/** Longest id of the owner of a node, in bytes of UTF-8: it is read with every read of the node. */
export const OWNER_ID_BYTES_MAX = 1024;

/**
 * Refuses an owner whose id is too long. A node from before this bound keeps its owner.
 *
 * @param present the current owner of the node
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function requireShortOwner(
  ownerId: string | null | undefined,
  present: string | null = null,
): string | null {
  if (ownerId == null) return null;
  // A character takes at least one byte, so most ids that are too long need no byte count.
  const isShort = ownerId.length <= OWNER_ID_BYTES_MAX && Buffer.byteLength(ownerId) <= OWNER_ID_BYTES_MAX;
  if (isShort || ownerId === present) return ownerId;
  throw invalid(`The id of an owner has at most ${OWNER_ID_BYTES_MAX} bytes`, { field: 'owner_id' });
}
