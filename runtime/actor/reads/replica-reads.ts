import type { Clock } from '#runtime/base/time/clock.ts';
import type { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import type { RequestLimits } from '#runtime/budget/request-budget.ts';
import type { ActorBehaviour, ActorContext, ActorKind, Caller } from '#runtime/commit/behaviour.ts';
import type { Replica } from '#runtime/commit/replica.ts';
import type { ReplicaView } from '#runtime/commit/replica-view.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { isDamage, ServiceError } from '#runtime/errors/service-error.ts';
import { engineCaller } from '../engine-caller.ts';
import type { ActorId, ReplicaSource } from '../ports.ts';
import { answerQuery, type QueriedActor, QueryScope } from './query-scope.ts';
import { READS_MS_MAX, readsEnded } from './reads-ended.ts';

/** Maximum number of actors whose behaviours are kept with their decoded state. */
const KEPT_MAX = 256;

/** Dependencies of replica reads. */
export interface ReplicaReadsEnvironment {
  readonly replica: Replica;
  /** The kind of an actor, from its id. */
  readonly kindOf: (actor: ActorId) => ActorKind;
  readonly clock: Clock;
  /** Schedules slices of long reads; one for the whole process. */
  readonly slices: SliceScheduler;
  /** Resource limits of one request; absent: the default. */
  readonly request?: RequestLimits;
  /** Called when stored bytes do not verify; the replica is then unusable. */
  readonly damaged?: (cause: ServiceError) => void;
}

interface KeptActor extends QueriedActor {
  readonly behaviour: ActorBehaviour;
  readonly seen: ReplicaView;
}

/**
 * Answers queries from a replica with the same actor code as at the owner. Records are applied concurrently: a short
 * query sees the state of one moment, a long one pins it.
 *
 * Invariant: commands are never executed here, so an actor has no state of uncommitted turns.
 *
 * Enforcement: test/runtime/actor/reads/replica-reads.test.ts.
 */
export class ReplicaReads implements ReplicaSource {
  readonly #environment: ReplicaReadsEnvironment;
  /** Least recently used first. */
  readonly #kept = new Map<ActorId, KeptActor>();
  /** The caller of queries between actors: the engine itself. */
  readonly #engine: Caller = engineCaller('');
  readonly #sinceMs: number;
  #isClosed = false;

  constructor(environment: ReplicaReadsEnvironment) {
    this.#environment = environment;
    this.#sinceMs = environment.clock.monotonicMs();
  }

  query(actor: ActorId, query: unknown, caller: Caller): unknown {
    const refuse = (error: unknown): never => this.#refuse(error);
    let kept: KeptActor;
    try {
      kept = this.#actor(actor);
    } catch (error) {
      return refuse(error);
    }
    const { clock, slices, request } = this.#environment;
    const scope = new QueryScope(kept, caller, clock, slices, request);
    return answerQuery(kept, scope, () => kept.behaviour.query(query as never, scope), refuse);
  }

  /** @throws the error */
  #refuse(error: unknown): never {
    if (isDamage(error)) this.#environment.damaged?.(error);
    throw error;
  }

  clockOf(actor: ActorId): Revision {
    return this.#actor(actor).seen.clock;
  }

  /**
   * Refuses further queries. Resolves when long reads have finished or after {@link READS_MS_MAX}; remaining reads fail
   * when the replica is abandoned.
   */
  async close(): Promise<void> {
    this.#isClosed = true;
    await readsEnded(this.#environment.clock, () => this.#kept.values(), READS_MS_MAX);
    for (const { behaviour } of this.#kept.values()) behaviour.close?.();
    this.#kept.clear();
  }

  #actor(actor: ActorId): KeptActor {
    if (this.#isClosed) throw new ServiceError('SHUTTING_DOWN');
    const known = this.#kept.get(actor);
    this.#kept.delete(actor);
    if (known !== undefined && !known.seen.isGone) {
      this.#kept.set(actor, known);
      return known;
    }
    known?.behaviour.close?.();
    const kind = this.#environment.kindOf(actor);
    if (kind.isOwnerOnly === true) throw new ServiceError('NOT_OWNER');
    const seen = this.#environment.replica.view(actor);
    if (seen === undefined) throw new ServiceError('NOT_FOUND');
    const behaviour = kind.create(this.#contextOf(actor));
    const made: KeptActor = { behaviour, seen, view: seen.reader, pin: () => seen.pin(), reads: 0 };
    this.#kept.set(actor, made);
    this.#makeRoom();
    return made;
  }

  #makeRoom(): void {
    if (this.#kept.size <= KEPT_MAX) return;
    for (const [actor, { behaviour, reads }] of this.#kept) {
      if (reads > 0) continue;
      this.#kept.delete(actor);
      behaviour.close?.();
      return;
    }
  }

  #contextOf(actor: ActorId): ActorContext {
    return {
      id: actor,
      ask: (other, query) => this.query(other, query, this.#engine),
      clock: this.#environment.clock,
      servingSinceMs: this.#sinceMs,
      submit: () => Promise.reject(new ServiceError('NOT_OWNER')),
    };
  }
}
