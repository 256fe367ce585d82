import { textSlices } from '#runtime/base/sliced-text.ts';

/** Encodes a body in pieces, one at a time: encoding a text of many megabytes takes tens of milliseconds. */
export function* bytePieces(body: string | Uint8Array): Generator<Uint8Array, void> {
  if (typeof body !== 'string') {
    yield body;
    return;
  }
  for (const slice of textSlices(body)) yield Buffer.from(slice);
}
