import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { ActorId } from './ports.ts';
import type { StoppedActor } from './stopped-actors.ts';

/** Damaged actors that are remembered; further ones refuse as well. */
const REMEMBERED_MAX = 10_000;

/** Actors of which it was found out that they cannot be opened. */
export class DamagedActors {
  readonly #causes = new Map<ActorId, ServiceError>();
  /** The log has records of them that are not in their shards: they must not be opened before the log is replayed. */
  readonly #leftBehind = new Set<ActorId>();

  /** Found damaged when it was opened; it is tried again whenever somebody asks. */
  add(actor: ActorId, cause: ServiceError): void {
    if (this.#causes.size < REMEMBERED_MAX) this.#causes.set(actor, cause);
  }

  /** Found damaged while the log was brought to it. */
  leaveBehind(actor: ActorId, cause: ServiceError): void {
    this.#leftBehind.add(actor);
    this.#causes.set(actor, cause);
  }

  /** @throws {ServiceError} why it was left behind */
  requireCaughtUp(actor: ActorId): void {
    if (!this.#leftBehind.has(actor)) return;
    const cause = this.#causes.get(actor);
    if (cause !== undefined) throw cause;
  }

  /** It could be opened: somebody brought its files back. */
  opened(actor: ActorId): void {
    this.#causes.delete(actor);
  }

  /** They were removed. */
  forget(isMeant: (actor: ActorId) => boolean): void {
    for (const actor of [...this.#causes.keys()]) if (isMeant(actor)) this.#causes.delete(actor);
    for (const actor of [...this.#leftBehind]) if (isMeant(actor)) this.#leftBehind.delete(actor);
  }

  /** All of them, with what is wrong. */
  *all(): IterableIterator<StoppedActor> {
    for (const [actor, { message }] of this.#causes) yield { actor, reason: 'damage', message };
  }
}
