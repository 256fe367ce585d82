import { assert } from '#runtime/base/assert.ts';

/** A wildcard that matches exactly one character. */
export const AnyOne = { inSegment: -1, crossing: -2 } as const;

/** How a state of a matcher stays active: while characters other than `/` follow, or any characters. */
export const Loop = { none: 0, inSegment: 1, crossing: 2 } as const;
type Loop = (typeof Loop)[keyof typeof Loop];

/**
 * A pattern as a chain of states: element `i` leads from state `i` to state `i + 1`. There is one state more than elements.
 */
export interface GlobChain {
  /** The code of a character of ASCII, or one of {@link AnyOne}. */
  readonly elements: readonly number[];
  readonly loops: readonly Loop[];
  /** States that, once active, are active again behind each later `/`: any number of segments may come in between. */
  readonly resumes: ReadonlySet<number>;
  /** States in which a text may end. */
  readonly ends: ReadonlySet<number>;
}

const SLASH = 0x2f;

/** Codes of the characters that a pattern may name: ASCII. */
const CODES = 128;

/** States of a word of bits. */
const WORD = 32;

/**
 * Matches texts with a pattern. It follows all states at once, as bits (the Shift-And algorithm), so the time is that of
 * reading the text once, for each 32 characters of the pattern. No pattern makes it longer, and nothing is kept between
 * two texts.
 */
export class GlobMatcher {
  /** Words of 32 states that are followed for each character. */
  readonly words: number;
  /** For each code of a character, and behind them for all others, the words of states from which it leads on. */
  readonly #steps: Uint32Array;
  readonly #loopsInSegment: Uint32Array;
  readonly #loopsCrossing: Uint32Array;
  readonly #resumes: Uint32Array;
  readonly #ends: Uint32Array;
  /** Active and resuming states, for patterns of many states. Nothing is kept in them between two texts. */
  readonly #active: Uint32Array;
  readonly #resuming: Uint32Array;
  /** Work of the last text that was matched: characters, times the words that were followed for each. */
  work = 0;

  constructor({ elements, ends, loops, resumes }: GlobChain) {
    const states = elements.length + 1;
    assert(loops.length === states, 'each state has a loop or none');
    const words = Math.ceil(states / WORD);
    this.words = words;
    this.#steps = new Uint32Array((CODES + 1) * words);
    for (const [state, element] of elements.entries()) {
      assert(element < CODES, 'a pattern names characters of ASCII');
      if (element >= 0) setBit(this.#steps, element * words, state);
      else
        for (let code = 0; code <= CODES; code += 1)
          if (element === AnyOne.crossing || code !== SLASH) setBit(this.#steps, code * words, state);
    }
    const bits = (has: (state: number) => boolean): Uint32Array => {
      const found = new Uint32Array(words);
      for (let state = 0; state < states; state += 1) if (has(state)) setBit(found, 0, state);
      return found;
    };
    this.#loopsInSegment = bits((state) => loops[state] === Loop.inSegment);
    this.#loopsCrossing = bits((state) => loops[state] === Loop.crossing);
    this.#resumes = bits((state) => resumes.has(state));
    this.#ends = bits((state) => ends.has(state));
    this.#active = new Uint32Array(words);
    this.#resuming = new Uint32Array(words);
  }

  /** Whether the pattern matches the whole text from a place on. */
  matches(text: string, from: number): boolean {
    this.work = 0;
    return this.words === 1 ? this.#matchesInWord(text, from) : this.#matchesInWords(text, from);
  }

  /** As {@link matches}, where all states are bits of one number. */
  #matchesInWord(text: string, from: number): boolean {
    const steps = this.#steps;
    const loopsInSegment = this.#loopsInSegment[0] as number;
    const loopsCrossing = this.#loopsCrossing[0] as number;
    const resumes = this.#resumes[0] as number;
    const ends = this.#ends[0] as number;
    let active = 1;
    let resuming = active & resumes;
    for (let index = from; index < text.length; index += 1) {
      this.work = index - from + 1;
      // Whatever follows, the state stays active.
      if ((active & loopsCrossing & ends) !== 0) return true;
      const code = text.charCodeAt(index);
      const step = steps[Math.min(code, CODES)] as number;
      const stays = loopsCrossing | (code === SLASH ? 0 : loopsInSegment);
      active = ((active & step) << 1) | (active & stays) | (code === SLASH ? resuming : 0);
      resuming |= active & resumes;
      if ((active | resuming) === 0) return false;
    }
    return (active & ends) !== 0;
  }

  /** As {@link matches}, for any number of states. */
  #matchesInWords(text: string, from: number): boolean {
    const words = this.words;
    const active = this.#active.fill(0);
    const resuming = this.#resuming.fill(0);
    active[0] = 1;
    resuming[0] = 1 & (this.#resumes[0] as number);
    for (let index = from; index < text.length; index += 1) {
      this.work = (index - from + 1) * words;
      let left = 0;
      const code = text.charCodeAt(index);
      const steps = Math.min(code, CODES) * words;
      const isSlash = code === SLASH;
      let carried = 0;
      for (let word = 0; word < words; word += 1) {
        const before = active[word] as number;
        const stepped = before & (this.#steps[steps + word] as number);
        const stays =
          (this.#loopsCrossing[word] as number) | (isSlash ? 0 : (this.#loopsInSegment[word] as number));
        active[word] =
          (stepped << 1) | carried | (before & stays) | (isSlash ? (resuming[word] as number) : 0);
        resuming[word] =
          (resuming[word] as number) | ((active[word] as number) & (this.#resumes[word] as number));
        carried = stepped >>> 31;
        left |= (active[word] as number) | (resuming[word] as number);
      }
      if (left === 0) return false;
    }
    for (let word = 0; word < words; word += 1)
      if (((active[word] as number) & (this.#ends[word] as number)) !== 0) return true;
    return false;
  }
}

/** @param from the first of the words of the bits */
function setBit(words: Uint32Array, from: number, bit: number): void {
  const word = from + Math.floor(bit / WORD);
  words[word] = (words[word] as number) | (1 << (bit % WORD));
}
