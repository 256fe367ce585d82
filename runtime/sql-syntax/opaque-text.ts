/**
 * The parts of a statement in which no token begins: strings, quoted names, text between dollar signs, and comments.
 * Every function gets the offset of the first character of such a part and gives the offset behind its last one, or
 * `UNTERMINATED`. All of them take linear time and no stack, whatever the text is.
 */

/** The part does not end before the text does. */
export const UNTERMINATED = -1;

/** Behind `'…'` or `"…"`; a doubled quotation mark stands for one. */
export function endOfQuoted(text: string, start: number): number {
  const mark = text.charAt(start);
  let at = text.indexOf(mark, start + 1);
  while (at >= 0 && text.charAt(at + 1) === mark) at = text.indexOf(mark, at + 2);
  return at < 0 ? UNTERMINATED : at + 1;
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

const blockCommentMark = /\/\*|\*\//g;

/** Behind a block comment; such comments nest. */
export function endOfBlockComment(text: string, start: number): number {
  blockCommentMark.lastIndex = start;
  let depth = 0;
  for (let found = blockCommentMark.exec(text); found !== null; found = blockCommentMark.exec(text)) {
    depth += found[0] === '/*' ? 1 : -1;
    if (depth === 0) return found.index + 2;
  }
  return UNTERMINATED;
}
