/** Upper limit of edits: a name with more is a different word, not a typing error. */
const editsMax = 3;

/**
 * The candidate nearest to a mistyped name.
 *
 * @returns `undefined` when no candidate is within three edits, or within half the length of the name
 */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  const wanted = name.toLowerCase();
  let best: string | undefined;
  let bestEdits = Math.min(editsMax, Math.floor(wanted.length / 2)) + 1;
  for (const candidate of candidates) {
    const edits = editsBetween(wanted, candidate.toLowerCase());
    if (edits < bestEdits) {
      best = candidate;
      bestEdits = edits;
    }
  }
  return best;
}

/** Number of insertions, deletions, replacements and swaps of neighbours that turn one text into the other. */
function editsBetween(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1];
      let edits = Math.min(
        (last[column] as number) + 1,
        (current[column - 1] as number) + 1,
        (last[column - 1] as number) + (same ? 0 : 1),
      );
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (swapped && row > 1 && column > 1) edits = Math.min(edits, (beforeLast[column - 2] as number) + 1);
      current.push(edits);
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] as number;
}
