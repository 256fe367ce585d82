/** The letters whose lower case has more characters, or depends on the neighbours: all others keep both. */
const exceptional = /[\u0130\u03a3]/;
const DOTTED_CAPITAL_I = 0x130;
const CAPITAL_SIGMA = 0x3a3;

/**
 * A text in lower case, character by character: the number of characters is kept, and the form of a letter does not depend
 * on its neighbours.
 */
export function foldCase(text: string): string {
  return (exceptional.test(text) ? withoutExceptions(text) : text).toLowerCase();
}

/** In an array of units, because a replacement in the text takes 300 ns for each letter. */
function withoutExceptions(text: string): string {
  const units = new Uint16Array(text.length);
  const bytes = Buffer.from(units.buffer);
  bytes.write(text, 'utf16le');
  for (let index = 0; index < units.length; index++) {
    const unit = units[index];
    if (unit === DOTTED_CAPITAL_I) units[index] = 0x69;
    else if (unit === CAPITAL_SIGMA) units[index] = 0x3c3;
  }
  return bytes.toString('utf16le');
}
