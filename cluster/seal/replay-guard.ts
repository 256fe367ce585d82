/** Maximum distance of a message to the newest one, in messages: servers keep their order. */
export const REORDERED_MAX = 1_024;

/** Maximum number of remembered series: some for each process of each member. */
const ROWS_MAX = 65_536;

const BITS = 32;

/** Records which of the newest messages of a series were received. */
interface Row {
  newest: number;
  readonly seen: Uint32Array;
}

/**
 * Accepts every message of a series once. The sender numbers the messages of a series upwards from 1. Numbers may be
 * missing, and a few messages may overtake each other when a connection moves to another server.
 *
 * The number must be verified first. Otherwise a forged high number would block the sender.
 */
export class ReplayGuard {
  readonly #rows = new Map<string, Row>();

  /** @returns whether it is accepted: it was not received before, and is recent enough to know this */
  take(name: string, number: number): boolean {
    let row = this.#rows.get(name);
    if (row === undefined) {
      if (this.#rows.size >= ROWS_MAX) this.#forgetOldest();
      row = { newest: 0, seen: new Uint32Array(REORDERED_MAX / BITS) };
    } else this.#rows.delete(name);
    // Moves the series to the end: the one that was silent for longest is removed first.
    this.#rows.set(name, row);
    const { newest, seen } = row;
    if (number > newest) {
      // The numbers in between have not been received.
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
