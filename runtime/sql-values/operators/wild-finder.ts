const UNDERSCORE = 0x5f;
const BITS = 32;

/**
 * Finds the places of a part in which `_` stands for any character, by the algorithm of Baeza-Yates and Gonnet: a bit for
 * each length of a matched beginning, so that all beginnings advance at once. The algorithms of plain texts do not work with
 * such characters.
 */
export class WildFinder {
  readonly #part: Uint32Array;
  readonly #words: number;
  /** For each character of the part: the bits of its places, and of those of `_`. Made when it is first needed. */
  #masks: Map<number, Int32Array> | undefined;
  #wildMask: Int32Array | undefined;

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
    const wildMask = this.#prepare();
    const masks = this.#masks!;
    const state = new Int32Array(this.#words);
    const lastWord = this.#words - 1;
    const lastBit = 1 << ((this.length - 1) % BITS);
    for (let index = from; index < end; index += 1) {
      const mask = masks.get(text[index]!) ?? wildMask;
      let carry = 1;
      for (let word = 0; word <= lastWord; word += 1) {
        const bits = state[word]!;
        state[word] = ((bits << 1) | carry) & mask[word]!;
        carry = bits >>> (BITS - 1);
      }
      if ((state[lastWord]! & lastBit) !== 0) return index - this.length + 1;
    }
    return -1;
  }

  #prepare(): Int32Array {
    if (this.#wildMask !== undefined) return this.#wildMask;
    const wildMask = new Int32Array(this.#words);
    const masks = new Map<number, Int32Array>();
    this.#part.forEach((point, index) => {
      if (point === UNDERSCORE) wildMask[index >> 5]! |= 1 << (index % BITS);
      else if (!masks.has(point)) masks.set(point, new Int32Array(this.#words));
    });
    this.#part.forEach((point, index) => {
      if (point !== UNDERSCORE) masks.get(point)![index >> 5]! |= 1 << (index % BITS);
    });
    for (const mask of masks.values()) {
      for (let word = 0; word < this.#words; word += 1) mask[word]! |= wildMask[word]!;
    }
    this.#masks = masks;
    this.#wildMask = wildMask;
    return wildMask;
  }
}
