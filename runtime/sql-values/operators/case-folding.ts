/** ASCII only: there a character is one unit, and stays one. */
const ascii = /^[\0-\x7f]*$/;

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
