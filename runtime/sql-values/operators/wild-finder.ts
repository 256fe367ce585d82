const UNDERSCORE = 0x5f;
const BITS = 32;
/** Characters whose masks are found by their number. */
const ASCII = 128;

/**
 * Finds the places of a part in which `_` stands for any character, by the algorithm of Baeza-Yates and Gonnet: a bit for
 * each length of a matched beginning, so that all beginnings advance at once. The algorithms of plain texts do not work with
 * such characters.
 */
export class WildFinder {
  readonly #part: Uint32Array;
  readonly #words: number;
  /** Made when it is first needed. */
  #masks: PlaceMasks | undefined;

  /** @param part in code points */
  constructor(part: Uint32Array) {
    this.#part = part;
    this.#words = Math.ceil(part.length / BITS);
  }

  /** Characters of the part. */
  get length(): number {
    return this.#part.length;
  }

  /** Whether the part is at a place, where the text has enough characters. */
  isAt(text: Uint32Array, place: number): boolean {
    return this.#part.every((point, index) => point === UNDERSCORE || point === text[place + index]);
  }

  /** The first place at or after `from` where the part ends before `end`; -1: there is none. The part is not empty. */
  next(text: Uint32Array, from: number, end: number): number {
    this.#masks ??= new PlaceMasks(this.#part);
    const last =
      this.#words === 1
        ? findShort(text, from, end, this.#masks, this.length)
        : this.#findLong(text, from, end, this.#masks);
    return last < 0 ? -1 : last - this.length + 1;
  }

  #findLong(text: Uint32Array, from: number, end: number, masks: PlaceMasks): number {
    const state = new Int32Array(this.#words);
    const lastWord = this.#words - 1;
    const lastBit = 1 << ((this.length - 1) % BITS);
    for (let index = from; index < end; index += 1) {
      const mask = masks.of(text[index]!);
      let carry = 1;
      for (let word = 0; word <= lastWord; word += 1) {
        const bits = state[word]!;
        state[word] = ((bits << 1) | carry) & mask[word]!;
        carry = bits >>> (BITS - 1);
      }
      if ((state[lastWord]! & lastBit) !== 0) return index;
    }
    return -1;
  }
}

/** @returns the place of the last character of the part */
function findShort(text: Uint32Array, from: number, end: number, masks: PlaceMasks, length: number): number {
  const lastBit = 1 << (length - 1);
  let state = 0;
  for (let index = from; index < end; index += 1) {
    state = ((state << 1) | 1) & masks.of(text[index]!)[0]!;
    if ((state & lastBit) !== 0) return index;
  }
  return -1;
}

/** For each character: the bits of its places in a part, and of the places of `_`. */
class PlaceMasks {
  readonly #ascii: Int32Array[];
  readonly #others = new Map<number, Int32Array>();
  readonly #wild: Int32Array;

  constructor(part: Uint32Array) {
    const words = Math.ceil(part.length / BITS);
    this.#wild = new Int32Array(words);
    part.forEach((point, index) => {
      if (point === UNDERSCORE) this.#wild[index >> 5]! |= 1 << (index % BITS);
    });
    this.#ascii = new Array<Int32Array>(ASCII).fill(this.#wild);
    part.forEach((point, index) => {
      if (point === UNDERSCORE) return;
      let mask = this.of(point);
      if (mask === this.#wild) mask = this.#set(point, this.#wild.slice());
      mask[index >> 5]! |= 1 << (index % BITS);
    });
  }

  of(point: number): Int32Array {
    return point < ASCII ? this.#ascii[point]! : (this.#others.get(point) ?? this.#wild);
  }

  #set(point: number, mask: Int32Array): Int32Array {
    if (point < ASCII) this.#ascii[point] = mask;
    else this.#others.set(point, mask);
    return mask;
  }
}
