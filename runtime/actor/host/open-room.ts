/** An open actor that may be closed. */
export interface Closable {
  /** Number of its last use. */
  readonly used: number;
  /** Starts closing it. */
  close(): void;
}

/** A host that shares a limit of open actors with other hosts. */
export interface RoomSharer {
  /** Number of open actors that are not being closed. */
  staying(): number;
  /** The least recently used actor that may be closed. */
  oldestIdle(): Closable | undefined;
}

/**
 * The limit of open actors of a process. The hosts of a member share it, one for each partition the member owns,
 * because open files and memory maps are limited per process, not per partition.
 */
export class OpenRoom {
  readonly #max: number;
  readonly #sharers = new Set<RoomSharer>();
  #uses = 0;

  /** @param max open actors; above it the least recently used one is closed */
  constructor(max: number) {
    this.#max = max;
  }

  /** Number of uses of all actors so far: orders actors by last use without reading a clock. */
  get uses(): number {
    return this.#uses;
  }

  /** Records the use of an actor. @returns the number of the use */
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

  /** Starts closing the least recently used actor if one more would exceed the limit. */
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
