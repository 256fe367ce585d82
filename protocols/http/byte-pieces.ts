/** Characters of a text that are encoded at once. */
const ENCODED_CHARACTERS = 64 * 1024;

/**
 * The bytes of a body in pieces that can be made one after the other: a text of many megabytes takes tens of milliseconds
 * to encode.
 */
export function* bytePieces(body: string | Uint8Array): Generator<Uint8Array, void> {
  if (typeof body !== 'string') {
    yield body;
    return;
  }
  for (let from = 0; from < body.length; ) {
    let to = Math.min(from + ENCODED_CHARACTERS, body.length);
    // Not within a pair of surrogates.
    if (to < body.length && (body.charCodeAt(to) & 0xfc00) === 0xdc00) to += 1;
    yield Buffer.from(body.slice(from, to));
    from = to;
  }
}
