import { isUnder, lifecycleOf } from '#runtime/log/lifecycle-entry.ts';
import type { LogRecord } from '#runtime/log/log-entry.ts';
import type { LostRecords } from '#runtime/log/ports.ts';
import type { ActorId } from '../ports.ts';
import type { CatalogueRow } from './actor-catalogue.ts';

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

/**
 * Whether a log can make an actor that has no file, so that it is not lost.
 *
 * @param how undefined: the log does not create it
 * @param row its row in the catalogue; undefined: it is not known
 */
export function canBeMade(how: MadeActor | undefined, row: Pick<CatalogueRow, 'floor'> | undefined): boolean {
  if (how?.isLost === false) return true;
  // No record of it has left the log but the one that created it, also where later records of others have.
  return row?.floor === 0 && how?.kind !== 'fork';
}

/** Facts from outside the records of the log. */
export interface MakingKnown {
  /** Sequence the shard of an actor has reached; undefined when its file is missing or unreadable. */
  reached(actor: ActorId): number | undefined;
  /** Records that are missing because of damage, in order: the actors that depend on them are determined elsewhere. */
  readonly lost: readonly Pick<LostRecords, 'first' | 'last'>[];
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
    if (this.#isRemoved((this.#last ?? sequence - 1) + 1, sequence - 1)) this.#loseAll();
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

  /** Whether a record of a range that is missing was removed, and is not damage. */
  #isRemoved(first: number, last: number): boolean {
    let next = first;
    for (const lost of this.#known.lost) if (lost.first <= next) next = Math.max(next, lost.last + 1);
    return next <= last;
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
