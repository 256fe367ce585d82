import type { Caller, CallId, IdempotencyKey, Precondition } from '#runtime/commit/behaviour.ts';
import type { Revision } from '#runtime/content/revision.ts';

/**
 * Name of an actor: `{tenant}/{repository}/{branch}/{kind}`, shorter where a part does not apply. Each part is
 * percent-encoded. Repository and branch parts carry a suffix assigned at creation (`blog~m3x1`), so a deleted name
 * that is created again never shares files or log records with its predecessor.
 */
export type ActorId = string;

/** A message to an actor, with its caller and call metadata. */
export interface Delivery {
  readonly caller: Caller;
  readonly idempotency?: IdempotencyKey;
  /** Set when another member sent the message. Resending it under the same id takes effect once. */
  readonly call?: CallId;
}

/**
 * Sends messages to actors on any member. Commands go through the actor's mailbox and are answered when they
 * are durable; queries read durable state without the mailbox. A query may be answered at once, without a promise,
 * because point reads are the hot path.
 *
 * @throws {ServiceError} the error of the actor; `NOT_FOUND` for an actor that does not exist
 */
export interface Router {
  command(actor: ActorId, command: unknown, delivery: Delivery): Promise<unknown>;
  query(actor: ActorId, query: unknown, caller: Caller): unknown;
}

/** Reads the data of this process, regardless of which member owns the actor. */
export interface LocalReads {
  /**
   * Answers within this turn. The answer may be of an earlier state. Never throws.
   *
   * @returns undefined when this process has no data of the actor, or would have to wait for the answer
   */
  tryLocal(actor: ActorId, query: unknown, caller: Caller): unknown;
  /**
   * Returns whether another process owns the actor, so that a message to it may carry a precondition
   * ({@link Caller.precondition}). The precondition is also checked if ownership has moved to this process by then.
   */
  ownerConfirms(actor: ActorId): boolean;
}

/** Answers queries from the actors stored in this process, without checking that their state is the newest. */
export interface ReplicaSource {
  /**
   * @throws {ServiceError} the error of the actor; `NOT_FOUND` for an actor that is not stored here, `NOT_OWNER` when
   *   only the owner can answer, `SHUTTING_DOWN` when the source is closed
   */
  query(actor: ActorId, query: unknown, caller: Caller): unknown;
  /**
   * The highest revision clock of the actor in this process. Every revision of the actor up to it is stored here.
   *
   * @throws {ServiceError} `NOT_FOUND`, `SHUTTING_DOWN`
   */
  clockOf(actor: ActorId): Revision;
}

/**
 * Creates and removes the actors of this process. Used for provisioning repositories; messages go through the
 * {@link Router}.
 */
export interface ActorLifecycle {
  /** Whether the actor has been created and not destroyed. */
  exists(actor: ActorId): boolean | Promise<boolean>;
  /**
   * Creates an empty actor, which is on disk when the promise resolves. Creating an existing actor has no effect.
   *
   * @param precondition checked by the member that creates the actor, and again in the turn in which the actor comes
   *   into existence; when it no longer holds, only this creation is undone
   * @throws {PreconditionRefuted} the actor was not created; it exists only if it existed before
   * @throws {ServiceError} `NOT_FOUND` while its owner is being removed; `STORAGE_FULL`, `WRITES_STOPPED`,
   *   `SHUTTING_DOWN`
   */
  create(actor: ActorId, precondition?: Precondition): Promise<void>;
  /**
   * Creates an actor of the same kind with the state that the source has at some moment during the call. It is on disk
   * when the promise resolves. The source keeps serving. The copy includes state that belongs to the source alone; the
   * actor kind has a command that makes the copy independent of it.
   *
   * @throws {ServiceError} `NOT_FOUND` for an unknown source, `ALREADY_EXISTS`, `STORAGE_FULL`
   */
  fork(source: ActorId, target: ActorId): Promise<void>;
  /**
   * Removes every actor whose id begins with `owner` (`{tenant}/{repository}`), or the one actor with that id. Queued
   * messages are answered, then the actors are closed and removed from disk. No error when there is none.
   */
  destroyUnder(owner: string): Promise<void>;
  /** The decoded id parts that directly follow `owner` in the ids of existing actors, without duplicates. */
  namesUnder(owner: string): readonly string[] | Promise<readonly string[]>;
}
