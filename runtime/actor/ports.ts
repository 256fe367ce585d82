import type { Caller, CallId, IdempotencyKey, Precondition } from '#runtime/commit/behaviour.ts';
import type { Revision } from '#runtime/content/revision.ts';

/**
 * Name of an actor: `{tenant}/{repository}/{branch}/{kind}`, shorter where a part has no meaning, each part
 * percent-encoded. Repository and branch parts carry the suffix their creation gave them (`blog~m3x1`), so
 * that deleting one and making another of the same name never meets old files or old log records.
 */
export type ActorId = string;

/** A message to an actor with everything that travels with it. */
export interface Delivery {
  readonly caller: Caller;
  readonly idempotency?: IdempotencyKey;
  /** Set where another member sent it: sent again under the same id it takes effect once. */
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

/** Reads from the data of this process, wherever the owner of an actor is. */
export interface LocalReads {
  /**
   * Answers within this turn; the answer may be of an earlier state. Never throws.
   *
   * @returns undefined when this process has no data of the actor, or would have to wait
   */
  tryLocal(actor: ActorId, query: unknown, caller: Caller): unknown;
  /**
   * Returns whether the owner of an actor is another process, to which a message may be sent with a precondition
   * ({@link Caller.precondition}). If it is this process by the time the message is sent, the precondition is checked too.
   */
  ownerConfirms(actor: ActorId): boolean;
}

/** What answers queries from actors as this process has them, without asking whether that is the newest state. */
export interface ReplicaSource {
  /**
   * @throws {ServiceError} what the actor answers; `NOT_FOUND` for an actor that is not here, `NOT_OWNER` where only
   *   the owner can answer, `SHUTTING_DOWN` when it is closed
   */
  query(actor: ActorId, query: unknown, caller: Caller): unknown;
  /**
   * The highest revision clock the actor has seen here: every revision of it up to that is here.
   *
   * @throws {ServiceError} `NOT_FOUND`, `SHUTTING_DOWN`
   */
  clockOf(actor: ActorId): Revision;
}

/**
 * Makes and removes the actors of this process. Whoever provisions a repository uses it; messages go through
 * the {@link Router}.
 */
export interface ActorLifecycle {
  /** Whether the actor has been created and not destroyed. */
  exists(actor: ActorId): boolean | Promise<boolean>;
  /**
   * Makes an empty actor, on disk when it resolves. Making one that exists changes nothing.
   *
   * @param precondition what has to hold for it: confirmed where the actor is made, also in the turn from which on it
   *   exists. What was begun when it does not hold any more is taken back, and nothing else
   * @throws {PreconditionRefuted} there is no such actor, unless there was one before
   * @throws {ServiceError} `NOT_FOUND` while what it belongs to is being removed; `STORAGE_FULL`, `WRITES_STOPPED`,
   *   `SHUTTING_DOWN`
   */
  create(actor: ActorId, precondition?: Precondition): Promise<void>;
  /**
   * Makes a new actor of the same kind with the state another one has at some moment during the call, on disk
   * when it resolves. The source goes on serving. The new actor has everything of the source, also what belongs
   * to the source alone: its kind has a command that tells it so.
   *
   * @throws {ServiceError} `NOT_FOUND` for an unknown source, `ALREADY_EXISTS`, `STORAGE_FULL`
   */
  fork(source: ActorId, target: ActorId): Promise<void>;
  /**
   * Removes every actor whose id begins with `owner` (`{tenant}/{repository}`), or the one actor of that id:
   * answers what they have queued, closes them, and removes them from disk. From then on they do not exist. No error when there is none.
   */
  destroyUnder(owner: string): Promise<void>;
  /** The parts that follow `owner` in the ids of existing actors, decoded, each once. */
  namesUnder(owner: string): readonly string[] | Promise<readonly string[]>;
}
