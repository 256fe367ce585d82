/** A block of a long byte sequence. */
export interface ByteBlock {
  readonly body: Uint8Array;
  /** Number of blocks before it. */
  readonly number: number;
  readonly isLast: boolean;
}

/**
 * Joins pieces into blocks of `blockBytes`; the last one may be shorter, or empty. Yields undefined where the work may
 * pause.
 *
 * @param pieces texts that do not end within a surrogate pair, or bytes; each of them takes one step
 */
export function* blocksOf(
  pieces: Iterable<string | Uint8Array>,
  blockBytes: number,
): Generator<ByteBlock | undefined, void> {
  let parts: Uint8Array[] = [];
  let bytes = 0;
  let number = 0;
  for (const piece of pieces) {
    let rest: Uint8Array = typeof piece === 'string' ? Buffer.from(piece) : piece;
    while (bytes + rest.length > blockBytes) {
      parts.push(rest.subarray(0, blockBytes - bytes));
      rest = rest.subarray(blockBytes - bytes);
      yield { body: joined(parts), number, isLast: false };
      number += 1;
      parts = [];
      bytes = 0;
    }
    parts.push(rest);
    bytes += rest.length;
    yield undefined;
  }
  yield { body: joined(parts), number, isLast: true };
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
}
