import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import { textBytes } from '#runtime/shard/binary-key.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { BranchTable, underParts } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { FoundNode } from '#runtime/tree/found-node.ts';
import { ledgerFilter } from '#runtime/tree/state-at.ts';
import {
  decodeManualVersion,
  type ManualVersion,
  findManualVersion,
  renderManualVersion,
} from '#runtime/tree/manual-version-store.ts';
import { wholeInSteps } from '#runtime/shard/value-in-steps.ts';
import { restReader } from '#runtime/scan/moment.ts';
import { storedRowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import type { BranchState } from '../branch-state.ts';
import { answerScan, LargePiece, type Piece, settleGrowing, silently } from '../long-answer.ts';
import type { JsonAnswer, ReadVersions } from '../messages.ts';
import { readsWhole } from '../reads/node-access.ts';
import { COPIES, withReadable } from '../reads/read-node.ts';
import { LARGE_NODE_BYTES, VisibleNodes } from '../reads/visible-nodes.ts';

/**
 * Manual versions of a node, newest first, or one of them. A version is shown if the caller may read the state that it has.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`; `NOT_FOUND` for a version the node does not have
 * @see messages.ts, ReadVersions
 */
export function readVersions(
  state: BranchState,
  context: QueryContext,
  query: ReadVersions,
): JsonAnswer | Promise<JsonAnswer> {
  return withReadable(state, context, query, (node) => versionsOf(state, context, query, node));
}

function versionsOf(
  state: BranchState,
  context: QueryContext,
  { at, version, workspace }: ReadVersions,
  { bytes, header: { id, path } }: FoundNode,
): JsonAnswer | Promise<JsonAnswer> {
  const render = function* (
    reader: TableReader,
    kept: ManualVersion,
  ): Generator<undefined, string | undefined> {
    const nodes = new VisibleNodes(
      state,
      context,
      reader,
      at === undefined ? { workspace } : { workspace, at },
    );
    const type = nodes.type(kept.header.nodeType);
    if (readsWhole(context.caller.policy, workspace))
      return yield* renderManualVersion(kept, workspace, type);
    const shown = yield* nodes.shownVersion(kept);
    return shown && (yield* renderManualVersion(shown, workspace, type));
  };
  if (version === undefined) {
    return answerScan(
      context,
      (reader) => {
        const isShown = versionFilter(reader, at);
        return versionsText(reader, workspace, id, isShown, (kept) => render(reader, kept));
      },
      // Then its versions are large as well: they are not read in the step that read the node.
      bytes >= LARGE_NODE_BYTES,
    );
  }
  const work = function* (reader: TableReader): Generator<LargePiece | undefined, JsonText> {
    const length = findManualVersion(reader, workspace, id, version)?.length ?? 0;
    if (length >= LARGE_NODE_BYTES) {
      // Read again after a wait for room: a waiting request must not keep the value in memory.
      restReader(reader);
      yield new LargePiece(length * COPIES);
      yield;
    }
    const stored = findManualVersion(reader, workspace, id, version);
    const kept =
      stored === undefined ? undefined : yield* decodeManualVersion(yield* wholeInSteps(reader, stored));
    const text =
      kept === undefined || !versionFilter(reader, at)(kept) ? undefined : yield* render(reader, kept);
    if (text === undefined) throw new ServiceError('NOT_FOUND', `Node '${path}' has no version ${version}`);
    return new JsonText(text);
  };
  return settleGrowing(context, work, 'moving');
}

function versionFilter(reader: TableReader, at: Revision | undefined): (version: ManualVersion) => boolean {
  const isShown = ledgerFilter(reader, at);
  return ({ madeAt }) => isShown(parseRevision(madeAt));
}

function* versionsText(
  reader: TableReader,
  workspace: string,
  id: string,
  isShown: (version: ManualVersion) => boolean,
  render: (version: ManualVersion) => Generator<undefined, string | undefined>,
): Generator<Piece, void> {
  // A version that is stored never changes, so those of a batch are the same in each snapshot.
  const range = { ...underParts(workspace, textBytes(id)), reverse: true };
  let opening = '[';
  for (const { value } of storedRowsInBatches(reader, BranchTable.manualVersions, range)) {
    if (value.length >= LARGE_NODE_BYTES) yield new LargePiece(value.length);
    const bytes = yield* silently(wholeInSteps(reader, value));
    const kept = yield* silently(decodeManualVersion(bytes));
    const text = isShown(kept) ? yield* silently(render(kept)) : undefined;
    if (text === undefined) {
      restReader(reader);
      yield '';
      continue;
    }
    yield opening + text;
    opening = ',';
  }
  yield opening === '[' ? '[]' : ']';
}
