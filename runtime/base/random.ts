import { randomBytes } from 'node:crypto';

/** The randomness of the engine; a simulation passes a seeded one. */
export interface Random {
  /** `length` random bytes. */
  bytes(length: number): Uint8Array;
}

/** Cryptographically strong randomness of the operating system, drawn in blocks to save system calls. */
export const systemRandom: Random = (() => {
  let block = randomBytes(4096);
  let used = 0;
  return {
    bytes(length: number): Uint8Array {
      if (length > 1024) return randomBytes(length);
      if (used + length > block.length) {
        block = randomBytes(4096);
        used = 0;
      }
      used += length;
      return block.subarray(used - length, used);
    },
  };
})();

const hexOf: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/**
 * A UUID of version 7: 48 bits of milliseconds, then randomness, so that ids created one after another sort near each
 * other and inserts touch neighbouring pages.
 *
 * @param nowMs milliseconds since the Unix epoch
 * @see RFC 9562 section 5.7
 */
export function uuidV7(nowMs: number, random: Random): string {
  const tail = random.bytes(10);
  const time = Math.floor(nowMs).toString(16).padStart(12, '0');
  const h = (index: number): string => hexOf[tail[index] as number] as string;
  const version = hexOf[0x70 | ((tail[0] as number) & 0x0f)] as string;
  const variant = hexOf[0x80 | ((tail[2] as number) & 0x3f)] as string;
  return `${time.slice(0, 8)}-${time.slice(8, 12)}-${version}${h(1)}-${variant}${h(3)}-${h(4)}${h(5)}${h(6)}${h(7)}${h(8)}${h(9)}`;
}
