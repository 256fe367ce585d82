import type { Blobs } from '#runtime/blobs/ports.ts';

/** What is called while blobs are verified. */
export interface BlobCheck {
  /** Told of a blob that does not verify, and why. */
  readonly onDamage: (hash: string, what: string) => void;
  /** Called after each piece that was read; what it throws ends the check. */
  readonly rest: (bytes: number) => Promise<void> | void;
}

/**
 * Reads all blobs to their end, which compares them with their hash. Of the bytes one piece is in memory.
 *
 * @returns how many there are
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

/** Lengths of the pieces of a blob; ends where it cannot be read on, which is told. */
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
