import type { SlicedWork } from '#runtime/base/event-loop/slice-scheduler.ts';
import { textSlices } from '#runtime/base/text/sliced-text.ts';

/** Encodes a body in pieces, one at a time: encoding a text of many megabytes takes tens of milliseconds. */
export function* bytePieces(body: string | Uint8Array): Generator<Uint8Array, void> {
  if (typeof body !== 'string') {
    yield body;
    return;
  }
  for (const slice of textSlices(body)) yield Buffer.from(slice);
}

/** Encodes a text in slices. */
export async function encodedText(text: string, work: SlicedWork): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for (const piece of bytePieces(text)) {
    pieces.push(piece);
    await work.pause();
  }
  return await joinedPieces(pieces, work);
}

/** Puts pieces together in slices: in one step, 50 MB take tens of milliseconds. */
export async function joinedPieces(pieces: readonly Uint8Array[], work: SlicedWork): Promise<Uint8Array> {
  const whole = Buffer.allocUnsafeSlow(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
    await work.pause();
  }
  return whole;
}
