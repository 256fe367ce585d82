import type { Blobs } from '#runtime/blobs/ports.ts';

/** Callbacks of a blob check. */
export interface BlobCheck {
  /** Called for a blob that does not verify, with the reason. */
  readonly onDamage: (hash: string, what: string) => void;
  /** Called after each piece that was read; its error ends the check. */
  readonly rest: (bytes: number) => Promise<void> | void;
}

/**
 * Reads all blobs completely, which compares them with their hash. One piece is in memory at a time.
 *
 * @returns the number of blobs
 */
export async function checkBlobs(blobs: Pick<Blobs, 'get' | 'list'>, check: BlobCheck): Promise<number> {
  let count = 0;
  for await (const { hash } of blobs.list()) {
    count += 1;
    const pieces = readable(blobs, hash, check);
    for await (const bytes of pieces) await check.rest(bytes);
  }
  return count;
}

/** Yields the lengths of the pieces of a blob; ends at an unreadable one, which is reported. */
async function* readable(
  blobs: Pick<Blobs, 'get'>,
  hash: string,
  { onDamage }: BlobCheck,
): AsyncGenerator<number, void> {
  try {
    for await (const piece of await blobs.get(hash)) yield piece.length;
  } catch (error) {
    onDamage(hash, (error as Error).message);
  }
}
