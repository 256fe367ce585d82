/**
 * A hash of a text that never changes, on any machine: FNV-1a over its UTF-8 bytes, then mixed (the finalizer of
 * MurmurHash3), because FNV alone gives near values to texts that differ in their last letter. It is not collision
 * resistant, so it must not be used where an attacker gains by a collision.
 *
 * @returns 32 bits, as a number from 0 to 4,294,967,295
 */
export function stableHash(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
