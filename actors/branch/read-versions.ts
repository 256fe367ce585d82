import type { QueryContext } from '#runtime/commit/behaviour.ts';
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
import type { BranchState } from './branch-state.ts';
import { answerText } from './long-answer.ts';
import type { JsonAnswer, ReadVersions } from './messages.ts';
import { readerAt, requireReadable } from './read-node.ts';
import { VisibleNodes } from './visible-nodes.ts';

/**
 * Manual versions of a node, newest first, or one of them.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`; `NOT_FOUND` for a version the node does not have
 * @see messages.ts, ReadVersions
 */
export function readVersions(state: BranchState, context: QueryContext, query: ReadVersions): JsonAnswer {
  const { at, workspace, version } = query;
  const tree = readerAt(context.view, at);
  const { id, path } = requireReadable(state, context, tree, workspace, query.place).header;
  const render = (reader: TableReader, kept: ManualVersion): string => {
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
      return versionsText(reader, workspace, id, (kept) =>
        isShown(kept) ? render(reader, kept) : undefined,
      );
    });
  }
  const kept = readManualVersion(context.view, workspace, id, version);
  if (kept === undefined || !versionFilter(context.view, at)(kept)) {
    throw new ServiceError('NOT_FOUND', `Node '${path}' has no version ${version}`);
  }
  return answerText(context, function* (reader) {
    yield render(reader, kept);
  });
}

function versionFilter(reader: TableReader, at: Revision | undefined): (version: ManualVersion) => boolean {
  const isShown = ledgerFilter(reader, at);
  return ({ madeAt }) => isShown(parseRevision(madeAt));
}

function* versionsText(
  reader: TableReader,
  workspace: string,
  id: string,
  render: (version: ManualVersion) => string | undefined,
): Generator<string, void> {
  const range = { ...underParts(workspace, textBytes(id)), reverse: true };
  let opening = '[';
  for (const { value } of rowsInBatches(reader, BranchTable.manualVersions, range)) {
    const text = render(decodeManualVersion(value));
    if (text === undefined) {
      yield '';
      continue;
    }
    yield opening + text;
    opening = ',';
  }
  yield opening === '[' ? '[]' : ']';
}
