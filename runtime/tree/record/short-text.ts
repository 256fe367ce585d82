import type { Buffer } from 'node:buffer';

/** Longest text that is remembered, in bytes. */
const BYTES_MAX = 24;

/** Texts that are remembered. A power of two. */
const SLOTS = 1024;

/** Texts of ASCII that were read last, each in the slot of its hash. */
const remembered: string[] = Array.from({ length: SLOTS }, () => '');

/**
 * The text of bytes in UTF-8. A short one that was read not long ago is the same object again: that takes a third of the
 * time of decoding it, and whoever groups rows by it need not hash it.
 */
export function shortText(bytes: Buffer, from: number, to: number): string {
  const length = to - from;
  if (length > BYTES_MAX) return bytes.utf8Slice(from, to);
  let hash = length;
  for (let at = from; at < to; at += 1) hash = (Math.imul(hash, 31) + (bytes[at] as number)) | 0;
  const slot = (hash ^ (hash >>> 15)) & (SLOTS - 1);
  const known = remembered[slot] as string;
  if (known.length === length && isTextAt(bytes, from, known)) return known;
  const text = bytes.utf8Slice(from, to);
  // One that has a character of several bytes could not be compared with bytes.
  if (text.length === length) remembered[slot] = text;
  return text;
}

function isTextAt(bytes: Buffer, from: number, text: string): boolean {
  for (let index = 0; index < text.length; index += 1)
    if (text.charCodeAt(index) !== bytes[from + index]) return false;
  return true;
}
