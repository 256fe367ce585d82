/** Bytes of something long. */
export interface ByteBlock {
  readonly body: Uint8Array;
  /** How many came before it. */
  readonly number: number;
  readonly isLast: boolean;
}

/**
 * Puts pieces together into blocks of `blockBytes`, of which the last may be shorter, also without bytes. Yields undefined
 * where the work may rest.
 *
 * @param pieces texts that do not end within a pair of surrogates, or bytes; each of them takes one step
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
