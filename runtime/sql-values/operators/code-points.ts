/** Characters of a text, as code points; only the first `count` numbers belong to it. */
export interface CodePoints {
  readonly points: Uint32Array;
  readonly count: number;
}

/** Longest text that is put into the memory that is used again and again, in UTF-16 units. */
const SHARED_LENGTH = 1_024;

/** A new array for each short text would take longer than matching it. */
const shared = new Uint32Array(SHARED_LENGTH);

/** The characters of a text as code points. They are valid until the next call. */
export function passingCodePoints(text: string): CodePoints {
  return codePointsInto(text.length > SHARED_LENGTH ? new Uint32Array(text.length) : shared, text);
}

/** The characters of a text as code points, to be kept. */
export function codePoints(text: string): Uint32Array {
  const { count, points } = codePointsInto(new Uint32Array(text.length), text);
  return points.subarray(0, count);
}

function codePointsInto(points: Uint32Array, text: string): CodePoints {
  let count = 0;
  for (let index = 0; index < text.length; index += 1) {
    const point = text.codePointAt(index)!;
    points[count] = point;
    count += 1;
    // The second unit of a pair.
    if (point > 0xffff) index += 1;
  }
  return { points, count };
}
