import type { Caller, IdempotencyKey } from '#runtime/commit/behaviour.ts';

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
}

/**
 * Sends messages to actors, wherever they live. Commands go through the actor's mailbox and answer when they
 * are durable; queries read durable state beside it. A query's answer may come at once, without a promise,
 * because point reads are the hot path.
 *
 * @throws {ServiceError} what the actor answers; `NOT_FOUND` for an actor that does not exist
 */
export interface Router {
  command(actor: ActorId, command: unknown, delivery: Delivery): Promise<unknown>;
  query(actor: ActorId, query: unknown, caller: Caller): unknown;
}
