import { stableHash } from '#runtime/base/stable-hash.ts';

/** Values that are told apart, about; a quarter of it is the memory in bytes. A power of two. */
const PLACES = 1 << 26;

/** Places in one byte, two bits each. */
const PLACES_PER_BYTE = 4;

/**
 * Which of many values come more than once, in a memory that does not grow with them. Says so of a few that come once as
 * well: two values may have one hash.
 */
export class RepeatedValues {
  readonly #counts = new Uint8Array(PLACES / PLACES_PER_BYTE);

  note(value: string): void {
    const { index, shift } = placeOf(value);
    const bits = this.#counts[index] as number;
    const count = (bits >> shift) & 3;
    if (count < 2) this.#counts[index] = bits + (1 << shift);
  }

  /** Whether a value may have been noted twice; true if it was. */
  mayRepeat(value: string): boolean {
    const { index, shift } = placeOf(value);
    return (((this.#counts[index] as number) >> shift) & 3) === 2;
  }
}

function placeOf(value: string): { readonly index: number; readonly shift: number } {
  const place = stableHash(value) % PLACES;
  return { index: Math.floor(place / PLACES_PER_BYTE), shift: 2 * (place % PLACES_PER_BYTE) };
}
