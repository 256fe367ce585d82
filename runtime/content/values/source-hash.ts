import { createHash } from 'node:crypto';
import { canonicalPieces, type JsonValue } from './json-value.ts';

/** Called with the number of characters to be hashed; throws when there are too many. */
export type CountHashed = (characters: number) => void;

/** SHA-256 (hex) of a value, in steps; equal values have equal hashes, whatever the order of their keys. */
export function* sourceHash(value: JsonValue, count: CountHashed): Generator<undefined, string> {
  const hash = createHash('sha256');
  for (const piece of canonicalPieces(value)) {
    count(piece.length);
    hash.update(piece);
    yield;
  }
  return hash.digest('hex');
}
