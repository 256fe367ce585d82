/**
 * The parts of a statement in which no token begins: strings, quoted names, text between dollar signs, and comments.
 * Every function gets the offset of the first character of such a part and gives the offset behind its last one, or
 * `UNTERMINATED`. All of them take linear time and no stack, whatever the text is.
 */

/** The part does not end before the text does. */
export const UNTERMINATED = -1;

/** Behind `'…'` or `"…"`; a doubled quotation mark stands for one. */
export function endOfQuoted(text: string, start: number): number {
  const mark = text.charCodeAt(start);
  for (let at = start + 1; at < text.length; at += 1) {
    if (text.charCodeAt(at) !== mark) continue;
    if (text.charCodeAt(at + 1) !== mark) return at + 1;
    at += 1;
  }
  return UNTERMINATED;
}

const dollarTag = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]{0,62})?\$/y;

/** The opening `$$` or `$tag$` at an offset. A tag has at most 63 characters, so that looking for one is bounded. */
export function dollarTagAt(text: string, start: number): string | undefined {
  dollarTag.lastIndex = start;
  return dollarTag.exec(text)?.[0];
}

/** Behind `$tag$…$tag$`. */
export function endOfDollarText(text: string, start: number, tag: string): number {
  const at = text.indexOf(tag, start + tag.length);
  return at < 0 ? UNTERMINATED : at + tag.length;
}

/** Behind `-- …`, before the line break. */
export function endOfLineComment(text: string, start: number): number {
  const at = text.indexOf('\n', start);
  return at < 0 ? text.length : at;
}

const SLASH = 47;
const STAR = 42;

/** Behind a block comment; such comments nest. */
export function endOfBlockComment(text: string, start: number): number {
  let depth = 0;
  for (let at = start; at < text.length - 1; at += 1) {
    const unit = text.charCodeAt(at);
    const next = text.charCodeAt(at + 1);
    if (unit === SLASH && next === STAR) depth += 1;
    else if (unit === STAR && next === SLASH) depth -= 1;
    else continue;
    if (depth === 0) return at + 2;
    at += 1;
  }
  return UNTERMINATED;
}
