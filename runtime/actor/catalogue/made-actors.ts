import { isUnder, lifecycleOf } from '#runtime/log/lifecycle-entry.ts';
import type { LogRecord } from '#runtime/log/log-entry.ts';
import type { ActorId } from '../ports.ts';

/** An actor that a log creates. */
export interface MadeActor {
  readonly kind: 'create' | 'fork';
  /** Sequence of the record that creates it; of the newest one if its name was used several times. */
  readonly sequence: number;
  /**
   * Whether the log can no longer create it, so that without its file it is lost: it is a fork, and its source has
   * advanced or is lost too; or later records of it were removed from the log.
   */
  readonly isLost: boolean;
}

/** Facts from outside the records of the log. */
export interface MakingKnown {
  /** Sequence the shard of an actor has reached; undefined when its file is missing or unreadable. */
  reached(actor: ActorId): number | undefined;
  /** Whether a missing record is damage of the log: the actors that depend on it are determined elsewhere. */
  isDamage(sequence: number): boolean;
}

/**
 * Determines which actors a log creates, and which of them it can still create. All records of a created actor follow
 * its creation. A fork is a copy of its source at that position, so the log has only the later changes of the fork.
 */
export class MadeActors {
  readonly #known: MakingKnown;
  readonly #made = new Map<ActorId, MadeActor>();
  #last: number | undefined;

  constructor(known: MakingKnown) {
    this.#known = known;
  }

  /** The actors that were not removed again. */
  get all(): ReadonlyMap<ActorId, MadeActor> {
    return this.#made;
  }

  /** Takes the next record of the log. */
  take({ entries, sequence }: LogRecord): void {
    const missed = (this.#last ?? sequence - 1) + 1;
    if (missed < sequence && !this.#known.isDamage(missed)) this.#loseAll();
    this.#last = sequence;
    for (const entry of entries) {
      const { actor } = entry;
      const lifecycle = lifecycleOf(entry);
      if (lifecycle?.kind === 'destroy') {
        for (const known of [...this.#made.keys()]) if (isUnder(known, actor)) this.#made.delete(known);
      } else if (lifecycle !== undefined) {
        const isLost = lifecycle.kind === 'fork' && !this.#canCopy(lifecycle.source, sequence);
        this.#made.set(actor, { kind: lifecycle.kind, sequence, isLost });
      }
    }
  }

  /** Whether a source can be brought to its state at a position of the log. */
  #canCopy(source: ActorId, sequence: number): boolean {
    const reached = this.#known.reached(source);
    return reached === undefined ? this.#made.get(source)?.isLost === false : reached <= sequence;
  }

  #loseAll(): void {
    for (const [actor, made] of this.#made) this.#made.set(actor, { ...made, isLost: true });
  }
}
