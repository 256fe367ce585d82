/** ASCII only: there a character is one unit, and stays one. */
const ascii = /^[\0-\x7f]*$/;

/** The characters of a text, as code points. */
export function codePoints(text: string): Uint32Array {
  const points = new Uint32Array(text.length);
  let count = 0;
  for (let index = 0; index < text.length; count += 1) {
    const point = text.codePointAt(index)!;
    points[count] = point;
    index += point > 0xffff ? 2 : 1;
  }
  return points.subarray(0, count);
}

/**
 * A text in lower case, character by character: the number of characters is kept, and the form of a letter does not depend
 * on its neighbours.
 */
export function foldCase(text: string): string {
  if (ascii.test(text)) return text.toLowerCase();
  const pieces: string[] = [];
  for (const character of text) {
    const lower = character.toLowerCase();
    // Only the capital I with a dot becomes two characters: its simple form is the first.
    pieces.push(lower.length > character.length ? lower[0]! : lower);
  }
  return pieces.join('');
}
