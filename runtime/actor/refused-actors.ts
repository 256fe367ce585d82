import { requireStorageError } from '#runtime/errors/refused-file.ts';
import { isUnder } from '#runtime/log/lifecycle-entry.ts';
import type { Log } from '#runtime/log/ports.ts';
import { dependsOnLost, type JudgedActors, judgeActors, type StoredActors } from './damaged-log.ts';
import type { ActorId } from './ports.ts';
import type { StoppedActor } from './stopped-actors.ts';

const nobody: JudgedActors = { dependent: new Map(), past: new Map() };

/**
 * The actors of a host that are not served because the log has lost something they depend on. All others are served as
 * ever. What the log still has of a refused one is kept; it ends with the actor, or with an opening that finds the lost
 * records again.
 */
export class RefusedActors {
  readonly #log: Log;
  readonly #refused: Map<ActorId, string>;
  /** Whether the log still names actors that are gone. */
  #isOwed = false;

  private constructor(log: Log, refused: Map<ActorId, string>) {
    this.#log = log;
    this.#refused = refused;
  }

  /** None: before the log was looked at. */
  static none(log: Log): RefusedActors {
    return new RefusedActors(log, new Map());
  }

  /** Judges who depends on what the log has lost, or did at an earlier opening. Nothing is changed. */
  static async judge(log: Log, stored: StoredActors): Promise<JudgedActors> {
    const { damage } = log;
    if (damage === undefined) return nobody;
    const { dependent, past } = await judgeActors(log, damage.lost, stored);
    return { dependent: new Map([...damage.refused, ...dependent]), past };
  }

  /**
   * Decides about those who were judged, before anything of the log is applied. The decision is on the disk when it
   * resolves.
   */
  static async decide(log: Log, { dependent }: JudgedActors): Promise<RefusedActors> {
    await log.damage?.decide(dependent);
    return new RefusedActors(log, new Map(dependent));
  }

  has(actor: ActorId): boolean {
    return this.#refused.has(actor);
  }

  /** @throws {ServiceError} `DATA_CORRUPTED` when the actor is refused: why, and what to do */
  require(actor: ActorId): void {
    if (this.#refused.size === 0) return;
    const why = this.#refused.get(actor);
    if (why !== undefined) throw dependsOnLost(actor, why);
  }

  /**
   * Takes note that everything under an owner is gone. Where that cannot be written, as on a full volume, they are gone all
   * the same: {@link store} tries again.
   *
   * @returns why it could not be written
   */
  async removed(owner: ActorId): Promise<Error | undefined> {
    const gone = [...this.#refused.keys()].filter((actor) => isUnder(actor, owner));
    for (const actor of gone) this.#refused.delete(actor);
    this.#isOwed ||= gone.length > 0;
    return this.store();
  }

  /** Writes what {@link removed} could not. @returns why it cannot be written still */
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

  /** What is to be told of them. */
  get told(): readonly StoppedActor[] {
    return [...this.#refused].map(([actor, message]) => ({ actor, reason: 'damage', message }));
  }
}
