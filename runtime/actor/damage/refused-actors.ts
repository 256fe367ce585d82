import { requireStorageError } from '#runtime/errors/refused-file.ts';
import { isUnder } from '#runtime/log/lifecycle-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import { dependsOnLost, type JudgedActors, judgeActors, type StoredActors } from './damaged-log.ts';
import type { ActorId } from '../ports.ts';
import type { StoppedActor } from './stopped-actors.ts';

const nobody: JudgedActors = { dependent: new Map(), past: new Map(), unlisted: new Map() };

/**
 * The actors of a host that are not served because they depend on records the log has lost. All others are served
 * normally. The log keeps the entries of a refused actor until the actor is removed, or until an opening finds the lost
 * records again.
 */
export class RefusedActors {
  readonly #log: Log;
  readonly #refused: Map<ActorId, string>;
  /** Whether the stored decision still names removed actors. */
  #isOwed = false;

  private constructor(log: Log, refused: Map<ActorId, string>) {
    this.#log = log;
    this.#refused = refused;
  }

  /** No refused actors, before the log was checked. */
  static none(log: Log): RefusedActors {
    return new RefusedActors(log, new Map());
  }

  /** Determines the actors that depend on lost records, now or at an earlier opening. Nothing is changed. */
  static async judge(log: Log, stored: StoredActors): Promise<JudgedActors> {
    const { damage } = log;
    if (damage === undefined) return nobody;
    const judged = await judgeActors(log, damage, stored);
    return { ...judged, dependent: new Map([...damage.refused, ...judged.dependent]) };
  }

  /**
   * Stores the decision about these actors, before any record of the log is applied. It is on disk when the promise
   * resolves.
   */
  static async decide(log: Log, { dependent }: JudgedActors): Promise<RefusedActors> {
    await log.damage?.decide(dependent);
    return new RefusedActors(log, new Map(dependent));
  }

  has(actor: ActorId): boolean {
    return this.#refused.has(actor);
  }

  /** @throws {ServiceError} `DATA_CORRUPTED` when the actor is refused, with the reason and the remedy */
  require(actor: ActorId): void {
    if (this.#refused.size === 0) return;
    const why = this.#refused.get(actor);
    if (why !== undefined) throw dependsOnLost(actor, why);
  }

  /**
   * Removes everything under an owner from the refused actors. If this cannot be written, as on a full volume, it takes
   * effect in memory and {@link store} retries the write.
   *
   * @returns why it could not be written
   */
  async removed(owner: ActorId): Promise<Error | undefined> {
    const gone = [...this.#refused.keys()].filter((actor) => isUnder(actor, owner));
    for (const actor of gone) this.#refused.delete(actor);
    this.#isOwed ||= gone.length > 0;
    return this.store();
  }

  /** Retries a failed write of {@link removed}. @returns why it still fails */
  async store(): Promise<Error | undefined> {
    if (!this.#isOwed) return undefined;
    try {
      await this.#log.damage?.decide(this.#refused);
      this.#isOwed = false;
      return undefined;
    } catch (error) {
      return requireStorageError(error);
    }
  }

  /** The refused actors, for reports. */
  get told(): readonly StoppedActor[] {
    return [...this.#refused].map(([actor, message]) => ({ actor, reason: 'damage', message }));
  }
}
