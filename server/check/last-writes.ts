import { stableHash } from '#runtime/base/stable-hash.ts';

/** Maximum number of keys in one pass; a slot has 16 bytes, and half of the slots stay free. */
const KEYS_PER_PASS_MAX = 2 ** 21;

/** A second seed, so that 53 bits distinguish keys. */
const SECOND_SEED = 0x9e3779b9;

/**
 * Finds the last write of each key in a log, in memory that does not grow with the log: the writes are counted
 * first, and the keys are divided by their hash between as many passes as needed.
 *
 * Two keys with one hash count as one, so the last write of one of them is not found. A write that is reported as the
 * last one always is.
 */
export class LastWrites {
  /** Number of passes; each reads the log twice. */
  readonly passes: number;
  readonly #hashes: Float64Array;
  readonly #ordinals: Float64Array;
  readonly #mask: number;
  #pass = 0;

  /** @param writes maximum number of writes in the log */
  constructor(writes: number, keysPerPassMax = KEYS_PER_PASS_MAX) {
    this.passes = Math.max(1, Math.ceil(writes / keysPerPassMax));
    const keys = Math.min(writes, keysPerPassMax);
    let slots = 16;
    // Keys are divided between passes by their hash, so the passes may differ slightly in size.
    while (slots < 2 * keys) slots *= 2;
    this.#hashes = new Float64Array(slots);
    this.#ordinals = new Float64Array(slots);
    this.#mask = slots - 1;
  }

  /** Starts a pass with the next share of the keys. @param pass from 0 */
  begin(pass: number): void {
    this.#pass = pass;
    this.#hashes.fill(0);
    this.#ordinals.fill(0);
  }

  /** Records a write. @param ordinal its place in the log, rising from 1 */
  note(actor: number, table: number, key: string, ordinal: number): void {
    const slot = this.#slotOf(actor, table, key);
    if (slot >= 0) this.#ordinals[slot] = ordinal;
  }

  /** Returns whether the write at a place is the last one of its key, and the key belongs to this pass. */
  isLast(actor: number, table: number, key: string, ordinal: number): boolean {
    const slot = this.#slotOf(actor, table, key);
    return slot >= 0 && this.#ordinals[slot] === ordinal;
  }

  /** @returns -1 when the key does not belong to this pass, or no slot is free */
  #slotOf(actor: number, table: number, key: string): number {
    const low = hashOf(key, actor ^ Math.imul(table + 1, SECOND_SEED));
    if (low % this.passes !== this.#pass) return -1;
    // A float holds all 53 bits, and 0 marks a free slot.
    const hash = (hashOf(key, actor ^ SECOND_SEED ^ table) & 0x1fffff) * 2 ** 32 + low + 1;
    const hashes = this.#hashes;
    for (let step = 0; step <= this.#mask; step += 1) {
      const slot = (mixed(low) + step) & this.#mask;
      if (hashes[slot] === hash) return slot;
      if (hashes[slot] !== 0) continue;
      hashes[slot] = hash;
      return slot;
    }
    return -1;
  }
}

/** Returns the number that {@link LastWrites} uses for an actor. */
export function actorNumber(actor: string): number {
  return stableHash(actor);
}

/** FNV-1a over the characters of a key, which are bytes, mixed as in {@link stableHash}. */
function hashOf(key: string, seed: number): number {
  let hash = 0x811c9dc5 ^ seed;
  for (let at = 0; at < key.length; at += 1) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  return mixed(hash);
}

function mixed(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
