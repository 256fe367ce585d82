/** The beginnings of statements that only remove something. */
const removing = /^\s*(?:DELETE|UNRELATE|DROP)\b/i;

/**
 * Whether a text has only statements that remove something, judged by their first words: it is asked of every command before it
 * begins, so the text is not read. A text with `;` or a comment in other places may count as one that writes.
 */
export function freesSpace(sql: string): boolean {
  const pieces = sql.split(';').filter((piece) => piece.trim() !== '');
  return pieces.every((piece) => removing.test(piece));
}
