import type { CommitOperation, CommitOperations } from '#actors/branch/messages.ts';
import { PRECONDITIONS_SINCE } from '#runtime/actor/message-version.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { parentPath, parsePath, pathName } from '#runtime/content/path.ts';
import { invalid } from '#runtime/errors/service-error.ts';
import type { BodyFields } from '#protocols/http/requests/body-fields.ts';
import { parseNewNode } from './node-bodies.ts';

/** Maximum operations in one commit. The branch bounds the changed nodes; this bounds the parsing. */
export const OPERATIONS_MAX = 100_000;

const operationTypes = ['create', 'update', 'delete', 'move', 'rename', 'copy', 'copy_tree'] as const;

/**
 * Reads `{message, actor?, operations: [...]}`.
 *
 * @param here parent path of a `create` that gives no place
 * @param only the exact number of operations; default at least one
 * @throws {ServiceError} `UNPROCESSABLE_BODY` without message; `VALIDATION_FAILED` for no operation, too many, or an
 *   unknown type
 * @see docs/interface/nodes.md#several-operations-as-one-revision
 */
export function parseCommitOperations(
  fields: BodyFields,
  here: string,
  only?: number,
): Pick<CommitOperations, 'commit' | 'operations' | 'since'> {
  const message = fields.string('message');
  const actor = fields.optionalString('actor');
  const isSystem = fields.optionalBoolean('is_system');
  const list = fields.list('operations');
  if (list.length === 0) throw invalid('A commit has at least one operation', { field: 'operations' });
  if (list.length > OPERATIONS_MAX) {
    throw invalid(`A commit has at most ${OPERATIONS_MAX} operations`, { field: 'operations' });
  }
  if (only !== undefined && list.length !== only) {
    throw invalid(`This command takes exactly ${only} operation; use commit for several`, {
      field: 'operations',
    });
  }
  const operations = list.map((operation) => parseOperation(operation, here));
  const hasVersion = operations.some((operation) => 'version' in operation);
  return {
    commit: {
      message,
      ...(actor === undefined ? {} : { actor }),
      ...(isSystem === undefined ? {} : { isSystem }),
    },
    operations,
    ...(hasVersion ? { since: PRECONDITIONS_SINCE } : {}),
  };
}

function parseOperation(fields: BodyFields, here: string): CommitOperation {
  const type = fields.oneOf('type', operationTypes);
  if (type === 'create') return parseCreate(fields, here);
  const expected = fields.optionalInteger('version');
  const version = expected === undefined ? {} : { version: expected };
  switch (type) {
    case 'update':
      return {
        type,
        ...version,
        nodeId: fields.string('node_id'),
        properties: fields.object('properties') as JsonObject,
      };
    case 'delete':
      return { type, ...version, nodeId: fields.string('node_id') };
    case 'move':
      return {
        type,
        ...version,
        nodeId: fields.string('node_id'),
        newPath: parsePath(fields.string('new_path'), fields.nameOf('new_path')),
      };
    case 'rename':
      return {
        type,
        ...version,
        nodeId: fields.string('node_id'),
        newName: fields.string('new_name'),
      };
    case 'copy':
    case 'copy_tree': {
      const newName = fields.optionalString('new_name');
      return {
        type,
        ...version,
        sourcePath: parsePath(fields.string('source_path'), fields.nameOf('source_path')),
        targetParent: parsePath(fields.string('target_parent'), fields.nameOf('target_parent')),
        ...(newName === undefined ? {} : { newName }),
      };
    }
  }
}

/**
 * The parent of a new node is, in this order: `parent_path` of the operation or of the node; the node's `path`
 * without its last segment; a `parent` that is a path (in a node that was read it is the parent's name); the node
 * that the command addresses.
 */
function parseCreate(fields: BodyFields, here: string): CommitOperation {
  const node = fields.fields('node');
  const path = node.optionalString('path');
  const parsed = path === undefined ? undefined : parsePath(path, node.nameOf('path'));
  const stated = fields.optionalString('parent_path') ?? node.optionalString('parent_path');
  const parent = node.optionalString('parent');
  let under = here;
  if (stated !== undefined) under = parsePath(stated, fields.nameOf('parent_path'));
  else if (parsed !== undefined) under = parentPath(parsed);
  else if (parent?.startsWith('/') === true) under = parsePath(parent, node.nameOf('parent'));
  const name = parsed === undefined ? '' : pathName(parsed);
  return { type: 'create', parentPath: under, node: parseNewNode(node, name === '' ? undefined : name) };
}
