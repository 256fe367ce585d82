import type { Policy } from '#runtime/access/policy.ts';
import type { Principal } from '#runtime/access/principal.ts';
import type { Clock } from '#runtime/base/time/clock.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { ShardSnapshot, TableReader } from '#runtime/shard/shard.ts';
import type { SpaceUse } from '#runtime/space/space-gate.ts';

/**
 * Tables of every actor; the tables of a kind follow from {@link FIRST_OWN_TABLE}.
 * `meta` holds small state of the kind; the other two belong to the commit loop.
 */
export const CommonTable = { meta: 0, idempotency: 1, idempotencyExpiry: 2 } as const;

/** Names of the common tables, in the order of their numbers. */
export const commonTableNames: readonly string[] = ['meta', 'idempotency', 'idempotency_expiry'];

/** Number of the first table that belongs to the actor's kind. */
export const FIRST_OWN_TABLE = 3;

/**
 * Requested consistency of a read. One object belongs to one request: what is established for one of its queries also
 * holds for its later queries.
 *
 * - `strict`: answered by the owner, once the log has confirmed its ownership. Linearizable regardless of clocks.
 * - `local`: answered by any process that stores the actor, from its local state. It may be an earlier state.
 *
 * @see docs/decisions/0025-read-consistency.md
 */
export interface ReadConsistency {
  readonly kind: 'strict' | 'local';
  /** A revision the client has seen. */
  readonly seen?: Revision;
}

/**
 * A condition on which a sender relied when it addressed a message from possibly stale data: another actor of the same
 * partition answers a query with an object of this uid. The owner checks it in the turn in which it takes the message.
 *
 * @see docs/decisions/0029-name-resolution-from-replicas.md
 */
export interface Precondition {
  /** The actor to query. */
  readonly actor: string;
  /** A query that is answered without waiting. The engine is its caller. */
  readonly query: unknown;
  readonly uid: string;
}

/** Identity, permissions, deadline and read options of a caller. */
export interface Caller {
  readonly principal: Principal;
  readonly policy: Policy;
  /** Cancels a queued command or a long read when aborted. */
  readonly signal?: AbortSignal;
  /** When the caller stops waiting, on the monotonic clock, in milliseconds. */
  readonly deadlineMs?: number;
  /** Consistency of a query; absent: answered by the owner under its read lease. Commands ignore it. */
  readonly consistency?: ReadConsistency;
  /** A revision of the actor that the answer must include. Relevant where others than the owner may answer. */
  readonly minRevision?: Revision;
  /**
   * When it does not hold, the message is refused with `PreconditionRefuted`, without any effect. Only for actors that
   * other members may own, see `LocalReads.ownerConfirms`. Cannot be combined with a consistency.
   */
  readonly precondition?: Precondition;
}

/** Makes a repeated request take effect once. @see docs/decisions/0004-idempotency.md */
export interface IdempotencyKey {
  /** What the caller sent, at most 255 characters. */
  readonly key: string;
  /** Hash of method, address and body; another request under the same key is refused. */
  readonly requestHash: string;
}

/**
 * Identifies the call of another member that a command belongs to. Resending it under the same id takes effect once.
 *
 * @see call-outcomes.ts
 */
export interface CallId {
  /** One process lifetime of the calling member: eight random bytes in hexadecimal. */
  readonly session: string;
  /** Slot among the member's concurrent calls to this actor, below 65,536. Reused after the call ends. */
  readonly slot: number;
  /** Increases with every call of the session. */
  readonly number: number;
}

/**
 * The transaction of a command: reads see everything committed before it and its own writes. Its writes become visible
 * atomically.
 */
export interface Turn extends TableReader {
  readonly caller: Caller;
  /** Gives the caller the policy that the actor has found for it. */
  usePolicy(policy: Policy): void;
  /** Remaining resources of the request. Created on first use. */
  readonly budget: RequestBudget;
  /** Wall time of the command in milliseconds; the same for the whole command. */
  readonly wallMs: number;
  /**
   * Age of something that carries a wall time of an actor, in milliseconds. Steps of the wall clock that this process
   * observed are not counted.
   */
  ageMs(atMs: number): number;
  /** The revision of this command. Assigned on first use, so a command without changes uses none. */
  readonly revision: Revision;
  /**
   * Stores a value. The value is kept by reference, not copied.
   *
   * @throws {ServiceError} `COMMIT_TOO_LARGE` when the changes would exceed the limit of one log entry
   * @throws {InvariantError} for a key that is empty or longer than the limit of a shard
   */
  put(table: number, key: string, value: Uint8Array): void;
  /**
   * As {@link put}, for a key without a stored value, which the caller must have checked. If the row is removed before
   * it reaches the shard, neither write is applied there. For short-lived rows.
   */
  insert(table: number, key: string, value: Uint8Array): void;
  remove(table: number, key: string): void;
  /**
   * Reserves room for a large command before it begins.
   *
   * @param bytes lower bound of the bytes that will be written
   * @throws {ServiceError} `COMMIT_TOO_LARGE` when these bytes, added to those already written, exceed the limit
   */
  requireRoom(bytes: number): void;
  /** Undoes all writes and events of this command so far. A dry run executes the command and then calls this. */
  undo(): void;
  /** As {@link undo}, for commands that may have written much. Yields where the command may be suspended. */
  undoInSteps(): Generator<undefined, void>;
  /** A new id that sorts close to ids created at about the same time. */
  newId(): string;
  /** Records a revision that was created elsewhere. Every later revision of this actor is above it. */
  observe(revision: Revision): void;
  /** Sends an event to subscribers once the command is durable. */
  emit(event: ActorEvent): void;
}

/** An event that is sent after it became durable. Each kind of actor defines its own. */
export interface ActorEvent {
  readonly type: string;
}

/** The context of a read. Reads never enter the mailbox and never see changes that are not durable. */
export interface QueryContext {
  readonly caller: Caller;
  /** Gives the caller the policy that the actor has found for it. */
  usePolicy(policy: Policy): void;
  /** Remaining resources of the request. Created on first use. */
  readonly budget: RequestBudget;
  /** The time of the process. */
  readonly clock: Clock;
  /** Durable state at present. Valid only within this turn of the event loop. */
  readonly view: TableReader;
  /** Pins durable state for a read that spans several turns of the event loop. The caller must close it. */
  pin(): ShardSnapshot;
  /** Keeps the actor open for a read that pins nothing for a while. Must be called back. */
  stay(): () => void;
  /**
   * Yields to the event loop when this read has used up its slice. Call it in every long loop. A returned promise must
   * be awaited.
   *
   * @throws {ServiceError} `DEADLINE_EXCEEDED`, `REQUEST_CANCELLED`
   */
  pause(): Promise<void> | undefined;
  /** Waits for the next slice, even if the present one is not used up. Rejects with the errors of {@link pause}. */
  rest(): Promise<void>;
  /** Whether {@link pause} would wait: for work that stops instead of waiting. Throws the errors of {@link pause}. */
  mustPause(): boolean;
  /**
   * Reserves memory for a large intermediate result of this read. Release it with {@link giveRoom}.
   *
   * @returns undefined when the memory is reserved; otherwise await the promise and hold nothing large meanwhile
   */
  takeRoom(bytes: number): Promise<void> | undefined;
  /** Releases memory reserved by {@link takeRoom}. */
  giveRoom(bytes: number): void;
}

/**
 * The domain logic of an actor. Commands run one at a time. A command is a plain function, or a generator if it may be
 * long: between its slices the loop yields to the event loop, other commands of this actor wait, and reads continue. A
 * command that cannot be answered before a later one returns a `DeferredReply`.
 */
export interface ActorBehaviour {
  execute(command: never, turn: Turn): unknown;
  query(query: never, context: QueryContext): unknown;
  /**
   * Reduces the result of a command to the part that is kept for a repetition of it, leaving out what the command has
   * stored anyway. By default the whole result is kept; {@link recall} restores it.
   *
   * @param wholeMax size in characters up to which a stored result is kept unchanged
   */
  shorten?(result: unknown, wholeMax: number): unknown;
  /**
   * Restores a result from its kept part and from the state of the actor, which later commands may have changed.
   *
   * @param turn reads the state, which nothing changes before the end, and has the caller who repeats the command
   * @returns yields where the work may be suspended
   * @throws {ServiceError} when it cannot be restored; the next repetition tries again
   */
  recall?(kept: unknown, command: never, turn: Turn): Generator<undefined, unknown>;
  /** Called when writes were discarded, so that state cached from them is dropped too. */
  forget?(): void;
  /**
   * Called when the outcome of everything executed so far is known: it is durable, or it was discarded and `forget` was
   * called. No reply has been sent yet.
   */
  batchEnded?(): void;
  /** Whether the actor must stay open without requests, because it has a timer or deferred replies. */
  readonly mustStayOpen?: boolean;
  /** Fails every deferred reply, because the process stops or the actor is removed. */
  endWaits?(reason: ServiceError): void;
  /** Called before the actor is closed. It must cancel its timers. */
  close?(): void;
}

/** The services that an actor may use. */
export interface ActorContext {
  /** Its own id. */
  readonly id: string;
  /**
   * Queries another actor of the same partition within the present turn. Only for queries that are answered at once.
   *
   * @throws {ServiceError} `NOT_FOUND` when that actor does not exist
   */
  ask(actor: string, query: unknown): unknown;
  readonly clock: Clock;
  /**
   * When this process became the only writer of the actor, on the monotonic clock. Time-limited promises of an earlier
   * process were made before that.
   */
  readonly servingSinceMs: number;
  /**
   * Sends a command to the actor itself, with the engine as caller; used by timers. Must not be called within a turn.
   *
   * @throws {ServiceError} the errors of the command and of the mailbox; `SHUTTING_DOWN` when the actor is closed
   */
  submit(command: unknown): Promise<unknown>;
}

/** A kind of actor: its tables and its factory. */
export interface ActorKind {
  readonly kind: string;
  /** Names of its own tables, numbered from {@link FIRST_OWN_TABLE}. */
  readonly tables: readonly string[];
  /** Effect of a command on disk space, evaluated before the command runs. Absent: every command grows the data. */
  readonly spaceUse?: (command: never) => SpaceUse;
  /** Whether queries use state that only the owner has, outside the tables, so that no replica can answer them. */
  readonly isOwnerOnly?: boolean;
  create(context: ActorContext): ActorBehaviour;
}
