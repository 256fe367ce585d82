import type { ActorId } from '#runtime/actor/ports.ts';
import { assert } from '#runtime/base/assert.ts';
import { type Caller, CommonTable, type Turn } from '#runtime/commit/behaviour.ts';
import { crashPoint } from '#runtime/commit/crash-point.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { hasRow } from '#runtime/shard/has-row.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { HEAD_KEY, readBranchHead } from '#runtime/tree/revision-store.ts';
import type { FeedConsumer, ShardConsumer, StartStep } from './consumer.ts';
import {
  readConsumer,
  readConsumers,
  removeConsumer,
  type StoredConsumer,
  writeConsumer,
} from './consumer-store.ts';
import {
  continuedStart,
  type FeedBatch,
  type FeedPosition,
  type FeedStart,
  readBatch,
} from './feed-batch.ts';
import type {
  ConsumeFeed,
  ConsumerBatch,
  ConsumerStatus,
  ConsumerStep,
  MoveConsumer,
  ReadConsumerBatch,
  RegisterConsumer,
  RemoveConsumer,
} from './feed-messages.ts';

/** What a branch does for the consumers of its feed; it keeps nothing between messages. @see feed-messages.ts */
export class BranchConsumers {
  readonly #branch: ActorId;
  readonly #known: ReadonlyMap<string, FeedConsumer>;

  /** @param branch id of its actor */
  constructor(branch: ActorId, consumers: readonly FeedConsumer[]) {
    this.#branch = branch;
    this.#known = new Map(consumers.map((consumer) => [consumer.name, consumer]));
    assert(this.#known.size === consumers.length, 'consumers have names of their own');
  }

  register(turn: Turn, { name }: RegisterConsumer): void {
    requireEngine(turn.caller);
    const { effects } = this.#require(name);
    if (readConsumer(turn, name) === undefined)
      writeConsumer(turn, { name, effects, position: undefined, state: null });
  }

  remove(turn: Turn, { name }: RemoveConsumer): void {
    requireEngine(turn.caller);
    removeConsumer(turn, name);
  }

  /** The effects of a batch and the position behind it become durable together, or not at all. */
  *consume(turn: Turn, { name }: ConsumeFeed): Generator<undefined, ConsumerStep> {
    requireEngine(turn.caller);
    const consumer = this.#require(name);
    if (consumer.effects !== 'shard') throw invalid(`The effects of '${name}' are not part of a commit`);
    const stored = this.#stored(turn, name);
    if (stored === undefined) return { isRegistered: false, items: 0, isComplete: true };
    const continued = continuedStart(turn, startOf(stored));
    const batch = continued ?? (yield* readBatch(turn, stored.position));
    const { isComplete, items, position } = batch;
    const before = continued === undefined && batch.start !== undefined ? undefined : stored.state;
    const { isDone, state } = yield* this.#effectsOf(turn, consumer, batch, before);
    crashPoint('mid-consume');
    if (batch.start !== undefined || items.length > 0)
      writeConsumer(turn, { ...stored, position, start: isDone ? undefined : batch.start, state });
    return { isRegistered: true, items: items.length, isComplete: isComplete && isDone };
  }

  move(turn: Turn, { from, name, to }: MoveConsumer): boolean {
    requireEngine(turn.caller);
    const stored = this.#stored(turn, name);
    if (stored === undefined || !isSamePosition(stored.position ?? null, from)) return false;
    writeConsumer(turn, { ...stored, position: to });
    return true;
  }

  *batch(reader: TableReader, { name }: ReadConsumerBatch): Generator<undefined, ConsumerBatch> {
    const stored = this.#stored(reader, name);
    if (stored === undefined) return { batch: null, from: null };
    return { batch: yield* readBatch(reader, stored.position), from: stored.position ?? null };
  }

  status(reader: TableReader): readonly ConsumerStatus[] {
    const { first, last } = readBranchHead(reader).feed;
    return readConsumers(reader).map(({ effects, name, position, start }) => {
      const seen = Math.max(position?.sequence ?? 0, first - 1);
      const lag = Math.max(last - seen, 0);
      return { name, effects, position: position ?? null, isStarting: start !== undefined, lag };
    });
  }

  /** Whether a consumer of this version has something to do. */
  isAhead(reader: TableReader): boolean {
    const { last } = readBranchHead(reader).feed;
    for (const { name } of this.#known.values()) {
      const stored = this.#stored(reader, name);
      if (stored === undefined) continue;
      const { position, start } = stored;
      if (position?.sequence !== last || start !== undefined) return true;
    }
    return false;
  }

  *#effectsOf(
    turn: Turn,
    consumer: ShardConsumer,
    { items, start }: FeedBatch,
    before: JsonValue | undefined,
  ): Generator<undefined, StartStep> {
    if (start !== undefined) return yield* consumer.start(turn, start, before, this.#branch);
    let state = before ?? null;
    for (const item of items) {
      state = yield* consumer.consume(turn, item, state, this.#branch);
      yield;
    }
    return { state, isDone: true };
  }

  /**
   * A consumer that is everywhere needs no registration. Before its first commit a branch has nothing for any, and while
   * it is being restored it has no head, and some of its rows.
   */
  #stored(reader: TableReader, name: string): StoredConsumer | undefined {
    if (!hasRow(reader, CommonTable.meta, HEAD_KEY)) return undefined;
    const stored = readConsumer(reader, name);
    const known = this.#known.get(name);
    if (stored !== undefined || known?.isEverywhere !== true) return stored;
    return { name, effects: known.effects, position: undefined, state: null };
  }

  /** @throws {ServiceError} `VALIDATION_FAILED` for a consumer that this version does not know */
  #require(name: string): FeedConsumer {
    const consumer = this.#known.get(name);
    if (consumer === undefined) throw invalid(`There is no consumer '${name}'`);
    return consumer;
  }
}

/** The start that a consumer has begun. */
function startOf({ position, start }: StoredConsumer): FeedStart | undefined {
  return start === undefined || position === undefined ? undefined : { ...start, position };
}

function isSamePosition(a: FeedPosition | null, b: FeedPosition | null): boolean {
  return a === b || (a !== null && b !== null && a.sequence === b.sequence && a.parts === b.parts);
}

/** @throws {ServiceError} `FORBIDDEN` */
function requireEngine({ principal }: Caller): void {
  if (principal.kind !== 'system') throw new ServiceError('FORBIDDEN');
}
