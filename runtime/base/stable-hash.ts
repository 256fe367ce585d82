/**
 * A hash of a text that is the same for ever and everywhere: FNV-1a over its UTF-8 bytes, then mixed (the end of
 * MurmurHash3), because FNV alone leaves texts that differ in their last letter near each other. It tells nothing
 * about who could make two texts meet: not for anything an attacker gains by.
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
