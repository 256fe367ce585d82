import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { ActorId } from '../ports.ts';
import type { StoppedActor } from './stopped-actors.ts';

/** Maximum number of remembered damaged actors; further ones are refused as well. */
const REMEMBERED_MAX = 10_000;

/** Actors that are known to be damaged. */
export class DamagedActors {
  readonly #causes = new Map<ActorId, ServiceError>();
  /** Actors whose shards lack records of the log: they must not be opened before the log is replayed. */
  readonly #leftBehind = new Set<ActorId>();

  /** Damage found when the actor was opened; the next request tries again. */
  add(actor: ActorId, cause: ServiceError): void {
    if (this.#causes.size < REMEMBERED_MAX) this.#causes.set(actor, cause);
  }

  /** Damage found while the log was applied. */
  leaveBehind(actor: ActorId, cause: ServiceError): void {
    this.#leftBehind.add(actor);
    this.#causes.set(actor, cause);
  }

  /** @throws {ServiceError} why the log could not be applied */
  requireCaughtUp(actor: ActorId): void {
    if (!this.#leftBehind.has(actor)) return;
    const cause = this.#causes.get(actor);
    if (cause !== undefined) throw cause;
  }

  /** The actor was opened, so its files were restored. */
  opened(actor: ActorId): void {
    this.#causes.delete(actor);
  }

  /** These actors were removed. */
  forget(isMeant: (actor: ActorId) => boolean): void {
    for (const actor of [...this.#causes.keys()]) if (isMeant(actor)) this.#causes.delete(actor);
    for (const actor of [...this.#leftBehind]) if (isMeant(actor)) this.#leftBehind.delete(actor);
  }

  /** All of them, with their damage. */
  *all(): IterableIterator<StoppedActor> {
    for (const [actor, { message }] of this.#causes) yield { actor, reason: 'damage', message };
  }
}
