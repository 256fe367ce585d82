import type { Policy } from '#runtime/access/policy.ts';
import type { Principal } from '#runtime/access/principal.ts';
import type { Clock } from '#runtime/base/clock.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import type { ShardSnapshot, TableReader } from '#runtime/shard/shard.ts';
import type { SpaceUse } from '#runtime/space/space-gate.ts';

/**
 * Tables every actor has; the tables of a kind follow from {@link FIRST_OWN_TABLE}.
 * `meta` is the kind's own small state; the other two belong to the commit loop.
 */
export const CommonTable = { meta: 0, idempotency: 1, idempotencyExpiry: 2 } as const;

/** Names of the common tables, in the order of their numbers. */
export const commonTableNames: readonly string[] = ['meta', 'idempotency', 'idempotency_expiry'];

/** Number of the first table that belongs to the actor's kind. */
export const FIRST_OWN_TABLE = 3;

/**
 * How a read wants to be answered. One object stands for one request: what was found out for one of its queries holds
 * for the next ones.
 *
 * - `strict`: by the owner, once the log has confirmed that it still is: linearizable whatever the clocks do.
 * - `local`: by whoever has it, as it is there: some state the actor was in, without asking anybody.
 *
 * @see docs/decisions/0025-read-consistency.md
 */
export interface ReadConsistency {
  readonly kind: 'strict' | 'local';
  /** A revision the client has seen. */
  readonly seen?: Revision;
}

/**
 * What a message was addressed by without having been asked for: that another actor of the same partition answers a
 * query with something of this uid. The owner makes sure of it in the turn in which it takes the message.
 *
 * @see docs/decisions/0029-name-resolution-from-replicas.md
 */
export interface Precondition {
  /** The actor that knows. */
  readonly actor: string;
  /** One that answers at once; it is asked by the engine. */
  readonly query: unknown;
  readonly uid: string;
}

/** Who asks, what they may do, and how long they wait. */
export interface Caller {
  readonly principal: Principal;
  readonly policy: Policy;
  /** Gives up a queued command or a long read when aborted. */
  readonly signal?: AbortSignal;
  /** When the caller stops waiting, on the monotonic clock, in milliseconds. */
  readonly deadlineMs?: number;
  /** How a query is to be answered; absent: by the owner under its read lease. Commands take no notice of it. */
  readonly consistency?: ReadConsistency;
  /** A revision of the asked actor that the answer must include; heeded where others than the owner may answer. */
  readonly minRevision?: Revision;
  /**
   * Where it does not hold the message is refused with `PreconditionRefuted`, and nothing was done. Only for actors that
   * others may own, see `LocalReads.ownerConfirms`, and not together with a consistency.
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
 * Which call of another member a command belongs to: sent again under the same id it takes effect once.
 *
 * @see call-outcomes.ts
 */
export interface CallId {
  /** One life of the member that calls: eight random bytes in hexadecimal. */
  readonly session: string;
  /** Which of the calls it has under way to this actor, below 65,536; used again when that one is over. */
  readonly slot: number;
  /** Rises with every call of the session. */
  readonly number: number;
}

/**
 * What a command works with: reads that see everything committed before it and its own writes, and the writes
 * themselves, which become visible together or not at all.
 */
export interface Turn extends TableReader {
  readonly caller: Caller;
  /** What the request may still use. Made when it is first asked for. */
  readonly budget: RequestBudget;
  /** Wall time of the command in milliseconds; the same for the whole command. */
  readonly wallMs: number;
  /**
   * How old something is that carries a wall time of an actor, in milliseconds: steps of the wall clock that this process
   * saw do not count.
   */
  ageMs(atMs: number): number;
  /** The revision of this command; made when first asked for, so a command that changes nothing uses none. */
  readonly revision: Revision;
  /**
   * Stores a value, which is kept, not copied.
   *
   * @throws {ServiceError} `COMMIT_TOO_LARGE` when the log could not take so much at once
   * @throws {InvariantError} for a key that is empty or longer than a shard takes
   */
  put(table: number, key: string, value: Uint8Array): void;
  /**
   * As {@link put}, for a key that nothing is stored under, which the caller has made sure of. Where such a row is
   * removed before it has reached the shard, neither is ever written there: for rows that are gone again soon.
   */
  insert(table: number, key: string, value: Uint8Array): void;
  remove(table: number, key: string): void;
  /**
   * For a command that is going to write much, before it begins.
   *
   * @param bytes at least as many will be written
   * @throws {ServiceError} `COMMIT_TOO_LARGE` when these are too many besides what it has written
   */
  requireRoom(bytes: number): void;
  /** Takes back everything this command has written and told so far: a dry run does what it would do, and then this. */
  undo(): void;
  /** As {@link undo}, for commands that may have written much; yields where they may rest. */
  undoInSteps(): Generator<undefined, void>;
  /** A new id that sorts near those made at about the same time. */
  newId(): string;
  /** Takes note of a revision that was made elsewhere: every one made here from now on is above it. */
  observe(revision: Revision): void;
  /** Tells subscribers what happened, once it is durable. */
  emit(event: ActorEvent): void;
}

/** Something that happened and is durable. The kinds of the actors define their own. */
export interface ActorEvent {
  readonly type: string;
}

/** What a read works with. Reads never enter the mailbox and never see what is not durable. */
export interface QueryContext {
  readonly caller: Caller;
  /** What the request may still use. Made when it is first asked for. */
  readonly budget: RequestBudget;
  /** Durable state as of now; only good within this turn of the event loop. */
  readonly view: TableReader;
  /** Pins durable state for a read that spans several turns of the event loop. Close it. */
  pin(): ShardSnapshot;
  /**
   * Gives the event loop back when this read has held it for its slice; call it in every long loop. A promise that
   * comes back must be awaited.
   *
   * @throws {ServiceError} `DEADLINE_EXCEEDED`, `REQUEST_CANCELLED`
   */
  pause(): Promise<void> | undefined;
  /** Waits for the next slice, whether the present one is over or not. Rejects with what {@link pause} throws. */
  rest(): Promise<void>;
  /** Whether {@link pause} would wait: for what rather stops than waits. Throws as that does. */
  mustPause(): boolean;
  /**
   * Takes room for what this read is going to hold while it makes something large. Give it back, see {@link giveRoom}.
   *
   * @returns undefined when it has been taken; otherwise await it and hold nothing large meanwhile
   */
  takeRoom(bytes: number): Promise<void> | undefined;
  /** Gives back what {@link takeRoom} took. */
  giveRoom(bytes: number): void;
}

/**
 * The domain side of an actor. Commands run one at a time. A command is a plain function, or a generator that
 * yields now and then when it may be long: the loop then gives the event loop back between slices while other
 * commands of this actor wait and reads go on. A command that cannot be answered before a later one returns an
 * `DeferredReply`.
 */
export interface ActorBehaviour {
  execute(command: never, turn: Turn): unknown;
  query(query: never, context: QueryContext): unknown;
  /**
   * What is kept of the result of a command for a repetition of it: without what the command has stored anyway. By
   * default all of it; {@link recall} undoes it.
   *
   * @param wholeMax characters of what was stored up to which a result stays as it is
   */
  shorten?(result: unknown, wholeMax: number): unknown;
  /** The result again, from what is kept of it and from durable state, in which others may have written since. */
  recall?(kept: unknown, command: never, view: TableReader): unknown;
  /** Called when writes were thrown away, so that state remembered from them is dropped too. */
  forget?(): void;
  /**
   * Called when it is known what became of everything executed so far: it is durable, or it was thrown away and
   * `forget` was called. No answer of it has reached anybody yet.
   */
  batchEnded?(): void;
  /** Whether it must stay open although nobody asks for it: it has a timer to keep or replies to give. */
  readonly mustStayOpen?: boolean;
  /** Gives up every reply that waits for a later command: the process stops, or the actor goes. */
  endWaits?(reason: ServiceError): void;
  /** Called before the actor is closed: nothing may happen by itself any more. */
  close?(): void;
}

/** What an actor may use of its surroundings. */
export interface ActorContext {
  /** Its own id. */
  readonly id: string;
  /**
   * Asks another actor of the same partition within the present turn. Only for queries that answer at once.
   *
   * @throws {ServiceError} `NOT_FOUND` when that actor does not exist
   */
  ask(actor: string, query: unknown): unknown;
  readonly clock: Clock;
  /**
   * Since when this process alone decides for the actor, on the monotonic clock. What an earlier process promised
   * to keep for a while was promised before that.
   */
  readonly servingSinceMs: number;
  /**
   * Sends a command to itself, as the engine: how an actor acts when a time has come. Not within a turn.
   *
   * @throws {ServiceError} what the command throws, what the mailbox refuses; `SHUTTING_DOWN` when it is closed
   */
  submit(command: unknown): Promise<unknown>;
}

/** A kind of actor: its tables and how one is made. */
export interface ActorKind {
  readonly kind: string;
  /** Names of its own tables, numbered from {@link FIRST_OWN_TABLE}. */
  readonly tables: readonly string[];
  /** What a command does to space; without it every one grows. Asked before the command runs. */
  readonly spaceUse?: (command: never) => SpaceUse;
  /** Whether queries are answered from what only its owner can know besides the tables, so that no replica can. */
  readonly isOwnerOnly?: boolean;
  create(context: ActorContext): ActorBehaviour;
}
