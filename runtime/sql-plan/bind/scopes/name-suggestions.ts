/** Longest name for which a similar one is looked for, in UTF-16 units. */
const NAME_LENGTH_MAX = 64;
/** How many names are looked at. */
const CANDIDATES_MAX = 2_000;
/** How many names are suggested. */
const SUGGESTIONS_MAX = 3;

/**
 * The end of a message about a name that does not exist: the names that were perhaps meant.
 *
 * @param wrong the name that was written
 * @param names those that exist
 * @returns ` Did you mean path or name?` with a full stop before it, or nothing when no name is similar
 */
export function suggestion(wrong: string, names: Iterable<string>): string {
  if (wrong.length > NAME_LENGTH_MAX) return '';
  const worstDistance = wrong.length <= 3 ? 1 : 2;
  const lowered = wrong.toLowerCase();
  const near: { readonly name: string; readonly distance: number }[] = [];
  let looked = 0;
  for (const name of new Set(names)) {
    looked += 1;
    if (looked > CANDIDATES_MAX) break;
    if (name === wrong || Math.abs(name.length - wrong.length) > worstDistance) continue;
    const distance = editDistance(lowered, name.toLowerCase());
    if (distance <= worstDistance) near.push({ name, distance });
  }
  near.sort((a, b) => a.distance - b.distance);
  const closest = near.slice(0, SUGGESTIONS_MAX).map(({ name }) => name);
  return closest.length === 0 ? '' : `. Did you mean ${closest.join(' or ')}?`;
}

/**
 * The end of a message about a column that a workspace has not: newcomers name a property as if it were one.
 *
 * @param name as it was written
 * @param source what the statement has there: in double quotes it may be meant as a text
 */
export function propertyHint(name: string, source: string): string {
  if (name.length > NAME_LENGTH_MAX) return '';
  const before = source.startsWith('"') ? `${textHint(name)}, and a property` : '. A property is written';
  return `${before} as properties->>${quoted(name)}`;
}

/** The end of a message about a name in double quotes that may be meant as a text. */
export function textHint(name: string): string {
  return name.length > NAME_LENGTH_MAX ? '' : `. A text is written as ${quoted(name)}`;
}

/** As {@link propertyHint}, for a column that is written. */
export function setPropertyHint(name: string): string {
  const member = JSON.stringify(name).replaceAll("'", "''");
  return name.length > NAME_LENGTH_MAX ? '' : `. A property is written in properties: '{${member}: …}'`;
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** The number of characters to insert, remove, replace or swap with the next to make one text of the other. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(replaced, last[j]! + 1, row[j - 1]! + 1);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (isSwapped) least = Math.min(least, beforeLast[j - 2]! + 1);
      row.push(least);
    }
    [beforeLast, last] = [last, row];
  }
  return last[b.length]!;
}
