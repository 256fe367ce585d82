/** Longest part for the built-in search, whose time grows with the part in the worst case. */
const SHORT_PART = 16;

/** Finds the places of a part in texts, in time proportional to their lengths for any texts. */
export class PartFinder {
  readonly #part: string;
  /** For each length of a matched beginning: that of its longest border. Only for a long part. */
  readonly #borders: Uint32Array | undefined;

  /** @param part not empty */
  constructor(part: string) {
    this.#part = part;
    this.#borders = part.length > SHORT_PART ? bordersOf(part) : undefined;
  }

  /** Offset in units of the first place at or after `from`; -1 when there is none. */
  next(text: string, from: number = 0): number {
    return this.#borders === undefined
      ? text.indexOf(this.#part, from)
      : this.#nextLong(text, from, this.#borders);
  }

  /** The algorithm of Knuth, Morris and Pratt: the built-in search compares up to the whole part at each offset. */
  #nextLong(text: string, from: number, borders: Uint32Array): number {
    const part = this.#part;
    let matched = 0;
    for (let offset = from; offset < text.length; offset += 1) {
      const unit = text.charCodeAt(offset);
      while (matched > 0 && unit !== part.charCodeAt(matched)) matched = borders[matched - 1]!;
      if (unit === part.charCodeAt(matched)) matched += 1;
      if (matched === part.length) return offset - part.length + 1;
    }
    return -1;
  }
}

function bordersOf(part: string): Uint32Array {
  const borders = new Uint32Array(part.length);
  let border = 0;
  for (let at = 1; at < part.length; at += 1) {
    const unit = part.charCodeAt(at);
    while (border > 0 && unit !== part.charCodeAt(border)) border = borders[border - 1]!;
    if (unit === part.charCodeAt(border)) border += 1;
    borders[at] = border;
  }
  return borders;
}

/** Offset in units of the first place of a part, 0 for an empty one; -1 when there is none. */
export function findPart(text: string, part: string): number {
  if (part === '') return 0;
  return part.length > text.length ? -1 : new PartFinder(part).next(text);
}

/** The texts between the places of a delimiter, found from the left and without overlaps. @param delimiter not empty */
export function splitAt(text: string, delimiter: string): string[] {
  // Much faster, and of a short delimiter there may be many.
  if (delimiter.length <= SHORT_PART) return text.split(delimiter);
  const finder = new PartFinder(delimiter);
  const pieces: string[] = [];
  let from = 0;
  for (let at = finder.next(text); at >= 0; at = finder.next(text, from)) {
    pieces.push(text.slice(from, at));
    from = at + delimiter.length;
  }
  pieces.push(text.slice(from));
  return pieces;
}
