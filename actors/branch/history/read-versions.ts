import type { QueryContext } from '#runtime/commit/behaviour.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import { textBytes } from '#runtime/shard/binary-key.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { BranchTable, underParts } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { ledgerFilter } from '#runtime/tree/lineage.ts';
import {
  decodeManualVersion,
  type ManualVersion,
  readManualVersion,
  renderManualVersion,
} from '#runtime/tree/manual-version-store.ts';
import { rowsInBatches } from '#runtime/shard/rows-in-batches.ts';
import type { BranchState } from '../branch-state.ts';
import { answerText, LargePiece, type Piece, settle, settleLarge, silently } from '../long-answer.ts';
import type { JsonAnswer, ReadVersions } from '../messages.ts';
import { COPIES, requireReadable } from '../reads/read-node.ts';
import { readerAt } from '../reads/moment-readers.ts';
import { LARGE_NODE_BYTES, VisibleNodes } from '../reads/visible-nodes.ts';

/**
 * Manual versions of a node, newest first, or one of them.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`; `NOT_FOUND` for a version the node does not have
 * @see messages.ts, ReadVersions
 */
export function readVersions(
  state: BranchState,
  context: QueryContext,
  query: ReadVersions,
): JsonAnswer | Promise<JsonAnswer> {
  const { at, workspace, version } = query;
  const tree = readerAt(context.view, at);
  const { id, path } = requireReadable(state, context, tree, workspace, query.place).header;
  const render = (reader: TableReader, kept: ManualVersion): Generator<undefined, string> => {
    const nodes = new VisibleNodes(
      state,
      context,
      reader,
      at === undefined ? { workspace } : { workspace, at },
    );
    return renderManualVersion(kept, workspace, nodes.type(kept.header.nodeType));
  };
  if (version === undefined) {
    return answerText(context, (reader) => {
      const isShown = versionFilter(reader, at);
      return versionsText(reader, workspace, id, isShown, (kept) => render(reader, kept));
    });
  }
  // Read again after a wait for room: a waiting request must not keep the value in memory.
  const one = function* (reader: TableReader): Generator<undefined, JsonText> {
    const stored = readManualVersion(reader, workspace, id, version);
    const kept = stored === undefined ? undefined : yield* decodeManualVersion(stored);
    if (kept === undefined || !versionFilter(reader, at)(kept)) {
      throw new ServiceError('NOT_FOUND', `Node '${path}' has no version ${version}`);
    }
    return new JsonText(yield* render(reader, kept));
  };
  const bytes = readManualVersion(context.view, workspace, id, version)?.length ?? 0;
  return bytes < LARGE_NODE_BYTES ? settle(context, one) : settleLarge(context, bytes * COPIES, one);
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
  render: (version: ManualVersion) => Generator<undefined, string>,
): Generator<Piece, void> {
  const range = { ...underParts(workspace, textBytes(id)), reverse: true };
  let opening = '[';
  for (const { value } of rowsInBatches(reader, BranchTable.manualVersions, range)) {
    if (value.length >= LARGE_NODE_BYTES) yield new LargePiece(value.length);
    const kept = yield* silently(decodeManualVersion(value));
    if (!isShown(kept)) {
      yield '';
      continue;
    }
    yield opening + (yield* silently(render(kept)));
    opening = ',';
  }
  yield opening === '[' ? '[]' : ']';
}
