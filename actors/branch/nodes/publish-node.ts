import { isFlagDeclined } from '#runtime/content/resolution/declined-flag.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import { writeManualVersion } from '#runtime/tree/manual-version-store.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { eachBelow, subtree } from './delete-node.ts';
import type { EditScope } from '../edit-scope.ts';
import type { PublishNode, Written } from '../messages.ts';

/** Note of the manual version that publishing creates. */
const PUBLISH_NOTE = 'pre-publish';

/**
 * Publishes or unpublishes a node, alone or with its subtree.
 *
 * Publishing a published node publishes it again: it may have been edited since, and the timestamps and the manual
 * version record which state was published. Unpublishing a node that is not published changes nothing. In a subtree,
 * nodes whose type is not publishable are skipped.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`, `PERMISSION_DENIED`; `VALIDATION_FAILED` for a single node of a type
 *   with `publishable` false
 * @see messages.ts, PublishNode; docs/interface/nodes.md#publishing
 */
export function* publishNode(edit: EditScope, command: PublishNode): Generator<undefined, Written> {
  const { workspace, publish, tree } = command;
  const top = yield* edit.requireTarget(command, 'update');
  const records = tree ? yield* subtree(edit, workspace, top) : [top];
  yield* eachBelow(edit, records, top, (record) =>
    edit.access.authorizeBelow('update', workspace, record, top.header.path),
  );
  const by = command.commit?.actor ?? edit.who;
  for (const record of records) {
    if (publish) yield* publishOne(edit, workspace, record, by, tree);
    else if (record.header.publishedAt !== null) {
      yield* change(edit, workspace, record, { publishedAt: null, publishedBy: null }, 'Unpublish');
    }
    yield;
  }
  const verb = publish ? 'Published' : 'Unpublished';
  const message = `${verb} ${tree ? 'subtree' : 'node'}: ${top.header.id}`;
  return { revision: yield* edit.finishInSteps(command.commit, message) };
}

function* publishOne(
  edit: EditScope,
  workspace: string,
  record: NodeRecord,
  by: string,
  isTree: boolean,
): Generator<undefined, void> {
  const { nodeType, path } = record.header;
  if (isFlagDeclined(nodeType, 'publishable', edit.schema(workspace))) {
    if (isTree) return;
    throw invalid(`Cannot publish '${path}': nodes of type '${nodeType}' are not publishable`);
  }
  if (!isFlagDeclined(nodeType, 'versionable', edit.schema(workspace))) {
    yield* writeManualVersion(edit.turn, workspace, record, edit.who, PUBLISH_NOTE);
  }
  yield* change(edit, workspace, record, { publishedAt: edit.now, publishedBy: by }, 'Publish');
}

function* change(
  edit: EditScope,
  workspace: string,
  record: NodeRecord,
  fields: { readonly publishedAt: string | null; readonly publishedBy: string | null },
  action: 'Publish' | 'Unpublish',
): Generator<undefined, void> {
  const next = yield* edit.nextInSteps(record, fields);
  yield* edit.replaceInSteps(workspace, record, next);
  edit.audit(workspace, next, action);
}
