import { jsonPieces } from '#runtime/base/text/sliced-json.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { requireAdministrator } from '#runtime/access/policy.ts';
import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { JsonPieces } from '#runtime/content/values/json-pieces.ts';
import { formatRevision } from '#runtime/content/revision.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { Moment } from '#runtime/scan/moment.ts';
import { MomentTree } from '#runtime/scan/moment-tree.ts';
import { BranchPair } from '../pair/branch-pair.ts';
import type { BranchState } from '../branch-state.ts';
import { LargePiece, settleGrowing } from '../long-answer.ts';
import { findConflicts } from './find-conflicts.ts';
import { usedTypesOf } from './merge-input.ts';
import { gatherSides } from './merge-sides.ts';
import type { ConflictList, ListConflicts } from '../merge-messages.ts';

/** Bytes of changed nodes up to which conflicts are listed without room for them. */
const QUICK_BYTES = 4 * 1024 * 1024;

/**
 * The conflicts a merge of another branch into this one would have.
 *
 * @throws {ServiceError} `UNAUTHORIZED`, `FORBIDDEN`; `VALIDATION_FAILED` when they have diverged too far;
 *   `REQUEST_TOO_EXPENSIVE`
 * @see merge-messages.ts, ListConflicts; docs/interface/merges.md#conflicts
 */
export function listConflicts(
  state: BranchState,
  context: QueryContext,
  query: ListConflicts,
): ConflictList | JsonPieces | Promise<ConflictList | JsonPieces> {
  const { policy, principal } = context.caller;
  requireAdministrator(policy, principal);
  const work = (reader: TableReader) => withRoom(context.budget, found(state, context, reader, query));
  return settleGrowing(context, work, 'moving');
}

/**
 * Announces the memory that the work may use once it holds more than {@link QUICK_BYTES}. The result is then returned as
 * text, because the room is released with it: encoded later, the values of many lists would be in memory at once.
 */
function* withRoom<T>(
  budget: RequestBudget,
  steps: Generator<undefined, T>,
): Generator<LargePiece | undefined, T | JsonPieces> {
  let isAnnounced = false;
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return isAnnounced ? yield* encoded(step.value) : step.value;
    if (isAnnounced || budget.held <= QUICK_BYTES) yield undefined;
    else {
      isAnnounced = true;
      yield new LargePiece(budget.heldMax);
    }
  }
}

function* encoded(value: unknown): Generator<undefined, JsonPieces> {
  const pieces: string[] = [];
  for (const piece of jsonPieces(value)) {
    pieces.push(piece);
    yield undefined;
  }
  return new JsonPieces(pieces);
}

function* found(
  state: BranchState,
  { budget }: QueryContext,
  reader: TableReader,
  { at, source, sourceAt }: ListConflicts,
): Generator<undefined, ConflictList> {
  // Read first: there is no catalog of an earlier revision, to which the read may go over.
  const types = usedTypesOf(reader);
  const pair = yield* BranchPair.of(state, reader, source, { own: at, other: sourceAt });
  const moment = new Moment(reader, at);
  const target = new MomentTree(moment);
  const sides = yield* gatherSides(pair, budget);
  const input = { state, pair, sides, target, moment, usedTypes: () => types, budget };
  const { conflicts } = yield* findConflicts(input);
  return {
    target_head: formatRevision(pair.heads.own),
    source_head: formatRevision(pair.heads.other),
    common_ancestor: formatRevision(pair.commonAncestor),
    conflicts,
  };
}
