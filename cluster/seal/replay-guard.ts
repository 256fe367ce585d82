/** How far behind the newest message another one may be and still be judged, in messages: servers keep their order. */
export const REORDERED_MAX = 1_024;

/** Rows of messages that are remembered: some for each life of each member. */
const ROWS_MAX = 65_536;

const BITS = 32;

/** Which of the newest messages of a row have come. */
interface Row {
  newest: number;
  readonly seen: Uint32Array;
}

/**
 * Takes every message of a row once. Messages of a row are numbered upwards from 1 by who sends them; numbers may be
 * missing, and a few may overtake each other when a connection moves to another server.
 *
 * The number has to be known to be genuine: else whoever makes up a high one silences the sender.
 */
export class ReplayGuard {
  readonly #rows = new Map<string, Row>();

  /** @returns whether it is taken: it has not come before, and is not too old for that to be known */
  take(name: string, number: number): boolean {
    let row = this.#rows.get(name);
    if (row === undefined) {
      if (this.#rows.size >= ROWS_MAX) this.#forgetOldest();
      row = { newest: 0, seen: new Uint32Array(REORDERED_MAX / BITS) };
    } else this.#rows.delete(name);
    // Behind the others: the one that was silent for longest is forgotten first.
    this.#rows.set(name, row);
    const { newest, seen } = row;
    if (number > newest) {
      // What lies between has not come yet.
      if (number - newest >= REORDERED_MAX) seen.fill(0);
      else for (let each = newest + 1; each < number; each++) unmark(seen, each);
      row.newest = number;
      mark(seen, number);
      return true;
    }
    if (newest - number >= REORDERED_MAX || isMarked(seen, number)) return false;
    mark(seen, number);
    return true;
  }

  #forgetOldest(): void {
    for (const oldest of this.#rows.keys()) {
      this.#rows.delete(oldest);
      return;
    }
  }
}

function mark(seen: Uint32Array, number: number): void {
  const at = number % REORDERED_MAX;
  const word = Math.floor(at / BITS);
  seen[word] = (seen[word] as number) | (1 << (at % BITS));
}

function unmark(seen: Uint32Array, number: number): void {
  const at = number % REORDERED_MAX;
  const word = Math.floor(at / BITS);
  seen[word] = (seen[word] as number) & ~(1 << (at % BITS));
}

function isMarked(seen: Uint32Array, number: number): boolean {
  const at = number % REORDERED_MAX;
  return ((seen[Math.floor(at / BITS)] as number) & (1 << (at % BITS))) !== 0;
}
