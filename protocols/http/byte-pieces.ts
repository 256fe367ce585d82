import { textSlices } from '#runtime/base/sliced-text.ts';

/**
 * The bytes of a body in pieces that can be made one after the other: a text of many megabytes takes tens of milliseconds
 * to encode.
 */
export function* bytePieces(body: string | Uint8Array): Generator<Uint8Array, void> {
  if (typeof body !== 'string') {
    yield body;
    return;
  }
  for (const slice of textSlices(body)) yield Buffer.from(slice);
}
