/** An open actor that may be closed. */
export interface Closable {
  /** Number of its last use. */
  readonly used: number;
  /** Begins to close it. */
  close(): void;
}

/** A host that shares a bound on open actors with others. */
export interface RoomSharer {
  /** Actors it has open and is not about to close. */
  staying(): number;
  /** Of those that may be closed, the one that was unused for longest. */
  oldestIdle(): Closable | undefined;
}

/**
 * The room for open actors of a process. The hosts of a member share it, one for each partition the member owns: what an
 * open actor takes, open files and memory maps, is bounded for the process and not for a partition.
 */
export class OpenRoom {
  readonly #max: number;
  readonly #sharers = new Set<RoomSharer>();
  #uses = 0;

  /** @param max actors open at once; above it the longest idle one is closed */
  constructor(max: number) {
    this.#max = max;
  }

  /** Uses of all actors so far: their order says who was unused for longest, without asking for the time. */
  get uses(): number {
    return this.#uses;
  }

  /** An actor is used. @returns the number of the use */
  use(): number {
    this.#uses += 1;
    return this.#uses;
  }

  join(sharer: RoomSharer): void {
    this.#sharers.add(sharer);
  }

  leave(sharer: RoomSharer): void {
    this.#sharers.delete(sharer);
  }

  /** Begins to close the actor that was unused for longest where one more would be too many. */
  make(): void {
    let staying = 1;
    for (const sharer of this.#sharers) staying += sharer.staying();
    if (staying <= this.#max) return;
    let oldest: Closable | undefined;
    for (const sharer of this.#sharers) {
      const own = sharer.oldestIdle();
      if (own !== undefined && own.used < (oldest?.used ?? Number.POSITIVE_INFINITY)) oldest = own;
    }
    oldest?.close();
  }
}
