import type { QueryContext } from '#runtime/commit/behaviour.ts';
import type {
  ConsumeFeed,
  ConsumerBatch,
  ConsumerStatus,
  ConsumerStep,
  IsFeedAhead,
  MoveConsumer,
  ReadConsumerBatch,
  ReadConsumers,
  RegisterConsumer,
  RemoveConsumer,
} from '#runtime/feed/feed-messages.ts';
import type { BranchState } from '../branch-state.ts';
import type { EditScope } from '../edit-scope.ts';
import { settle } from '../long-answer.ts';
import { requireEngine } from '../pair/pair-queries.ts';

/** @see feed-messages.ts, RegisterConsumer */
export function registerConsumer({ state, turn }: EditScope, command: RegisterConsumer): void {
  state.consumers.register(turn, command);
}

/** @see feed-messages.ts, RemoveConsumer */
export function removeConsumer({ state, turn }: EditScope, command: RemoveConsumer): void {
  state.consumers.remove(turn, command);
}

/** @see feed-messages.ts, ConsumeFeed */
export function consumeFeed(
  { state, turn }: EditScope,
  command: ConsumeFeed,
): Generator<undefined, ConsumerStep> {
  return state.projections.consume(turn, command);
}

/** @see feed-messages.ts, MoveConsumer */
export function moveConsumer({ state, turn }: EditScope, command: MoveConsumer): boolean {
  return state.consumers.move(turn, command);
}

/** @see feed-messages.ts, ReadConsumerBatch */
export function readConsumerBatch(
  state: BranchState,
  context: QueryContext,
  query: ReadConsumerBatch,
): ConsumerBatch | Promise<ConsumerBatch> {
  requireEngine(context);
  return settle(context, (reader) => state.consumers.batch(reader, query));
}

/** @see feed-messages.ts, ReadConsumers */
export function readConsumers(
  state: BranchState,
  context: QueryContext,
  _query: ReadConsumers,
): readonly ConsumerStatus[] {
  requireEngine(context);
  return state.consumers.status(context.view);
}

/** @see feed-messages.ts, IsFeedAhead */
export function isFeedAhead(state: BranchState, context: QueryContext, _query: IsFeedAhead): boolean {
  requireEngine(context);
  return state.consumers.isAhead(context.view);
}
