import { type Buffer, isAscii } from 'node:buffer';

/** Approximate length of a slice of a text. */
const SLICE = 1 << 16;

/** Bytes decoded between two yields. */
const DECODED_BYTES = 1 << 20;

/** A text in slices that can be encoded separately: none ends inside a surrogate pair. */
export function* textSlices(text: string): Generator<string, void> {
  for (let from = 0; from < text.length; ) {
    let to = Math.min(from + SLICE, text.length);
    if (to < text.length && (text.charCodeAt(to) & 0xfc00) === 0xdc00) to += 1;
    yield text.slice(from, to);
    from = to;
  }
}

/**
 * Decodes UTF-8 without its byte order mark, in steps.
 *
 * @throws {TypeError} for bytes that are not UTF-8
 */
export function* decodeUtf8InSteps(bytes: Buffer): Generator<undefined, string> {
  if (isAscii(bytes)) return bytes.latin1Slice(0, bytes.length);
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let text = '';
  for (let from = 0; from < bytes.length; from += DECODED_BYTES) {
    text += decoder.decode(bytes.subarray(from, from + DECODED_BYTES), { stream: true });
    yield undefined;
  }
  return text + decoder.decode();
}
