import { isUnder, lifecycleOf } from '#runtime/log/lifecycle-entry.ts';
import type { LogRecord } from '#runtime/log/log-entry.ts';
import type { ActorId } from './ports.ts';

/** An actor that a log makes. */
export interface MadeActor {
  readonly kind: 'create' | 'fork';
  /** Of the record that makes it; of the newest one, where there were several of its name. */
  readonly sequence: number;
  /**
   * Whether the log can make it no more, so that without its file it is lost: it is a copy, and its source has gone on or is
   * lost as well; or records that follow have left the log.
   */
  readonly isLost: boolean;
}

/** What is known of the actors and the log besides its records. */
export interface MakingKnown {
  /** Sequence the shard of an actor has reached; undefined where it has no file, or one that cannot be read. */
  reached(actor: ActorId): number | undefined;
  /** Whether a record that is not there is damage of the log: who depends on it is judged apart from this. */
  isDamage(sequence: number): boolean;
}

/**
 * Finds which actors a log makes, and which of them it can still make. A creation has everything that follows it. A copy is
 * made of its source as it was at that place, so the log has nothing of it but what came later.
 */
export class MadeActors {
  readonly #known: MakingKnown;
  readonly #made = new Map<ActorId, MadeActor>();
  #last: number | undefined;

  constructor(known: MakingKnown) {
    this.#known = known;
  }

  /** Those that were not removed again. */
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

  /** Whether a source can be brought to what it was at a place of the log. */
  #canCopy(source: ActorId, sequence: number): boolean {
    const reached = this.#known.reached(source);
    return reached === undefined ? this.#made.get(source)?.isLost === false : reached <= sequence;
  }

  #loseAll(): void {
    for (const [actor, made] of this.#made) this.#made.set(actor, { ...made, isLost: true });
  }
}
