/** Longest name that is compared, in characters; known names are shorter. */
const COMPARED_LENGTH_MAX = 64;

/**
 * The known name nearest to a mistyped one: one that differs in case, `_` and `-` only; else the one with the fewest
 * letters changed, missing, added or swapped, up to a third of the shorter name; else the only one that has the same
 * words and more, or some of them.
 *
 * @param name the unknown name; a long one is not compared
 * @param names the known names
 * @returns undefined when none is near
 */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  if (name.length > COMPARED_LENGTH_MAX) return undefined;
  const folded = fold(name);
  if (folded === '') return undefined;
  let nearest: string | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (const candidate of names) {
    if (candidate.length > COMPARED_LENGTH_MAX) continue;
    const other = fold(candidate);
    if (other === folded) return candidate;
    const distance = editDistance(folded, other);
    if (distance >= least || distance > Math.floor(Math.min(folded.length, other.length) / 3)) continue;
    nearest = candidate;
    least = distance;
  }
  return nearest ?? onlyOne(names, (candidate) => sharesWords(name, candidate));
}

function fold(name: string): string {
  return name.replace(/[_-]/g, '').toLowerCase();
}

function onlyOne(names: readonly string[], fits: (name: string) => boolean): string | undefined {
  const [first, second] = names.filter(fits);
  return second === undefined ? first : undefined;
}

/** Whether all words of one name are among those of the other. */
function sharesWords(name: string, other: string): boolean {
  const some = wordsOf(name);
  const others = wordsOf(other);
  const [few, many] = some.length < others.length ? [some, others] : [others, some];
  return few.length > 0 && few.every((word) => many.includes(word));
}

function wordsOf(name: string): readonly string[] {
  const separated = name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
  return separated.split(/[_-]/).filter((word) => word !== '');
}

/** Number of letters changed, missing, added, or swapped with the next one; each letter is counted once. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const present = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      let least = Math.min(last[column]! + 1, present[column - 1]! + 1, last[column - 1]! + (isSame ? 0 : 1));
      const isSwap = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (isSwap) least = Math.min(least, beforeLast[column - 2]! + 1);
      present.push(least);
    }
    beforeLast = last;
    last = present;
  }
  return last[b.length]!;
}
