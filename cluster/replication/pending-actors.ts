import type { RecordMark } from '#runtime/log/log-entry.ts';
import type { PendingRange } from '#runtime/log/ports.ts';

/** Entries of a log that are not yet in the shards of their actors. */
export class PendingActors {
  readonly #ranges = new Map<string, PendingRange>();
  /** Marks of the newest records, by actor. */
  readonly #marks = new Map<string, RecordMark>();

  /** Adds entries of actors, in records from `first` to `last`, which has the mark. */
  add(actors: Iterable<string>, first: number, last: number, mark: RecordMark): void {
    for (const actor of actors) {
      this.#ranges.set(actor, { first: this.#ranges.get(actor)?.first ?? first, last });
      this.#marks.set(actor, mark);
    }
  }

  /** The actor's shard has flushed everything up to and including a sequence. */
  released(actor: string, sequence: number): void {
    const range = this.#ranges.get(actor);
    if (range === undefined || sequence < range.first) return;
    if (sequence < range.last) {
      this.#ranges.set(actor, { first: sequence + 1, last: range.last });
      return;
    }
    this.#ranges.delete(actor);
    this.#marks.delete(actor);
  }

  /** Returns the mark of a record if it is the newest one of an actor; undefined if not, or if it is released. */
  markOf(actor: string, sequence: number): RecordMark | undefined {
    return this.#ranges.get(actor)?.last === sequence ? this.#marks.get(actor) : undefined;
  }

  /** Returns every actor with entries that are not released. */
  ranges(): ReadonlyMap<string, PendingRange> {
    return new Map(this.#ranges);
  }

  /** Sequence before which everything is released; undefined when everything is. */
  get first(): number | undefined {
    let first: number | undefined;
    for (const range of this.#ranges.values()) first = Math.min(first ?? range.first, range.first);
    return first;
  }
}
