/** Units of a text below which V8 copies a part of it. Longer parts point into the whole text and keep all of it in memory. */
const COPIED_MAX = 12;

/**
 * A part of a text with memory of its own. Every part that may become a value goes through here: memory is counted by the
 * lengths of values, so a row with twenty characters of a text of 16 MiB would otherwise be counted as a small one.
 *
 * @param whole the text that the part was taken from
 */
export function ownText(part: string, whole: string): string {
  if (part.length <= COPIED_MAX || part.length === whole.length) return part;
  // V8 makes one text of both before it takes a part of them; that text is as long as the part.
  return ` ${part}`.slice(1);
}
