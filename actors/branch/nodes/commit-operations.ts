import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { copySubtree } from './copy-node.ts';
import { insertNode } from './create-node.ts';
import { removeSubtree } from './delete-node.ts';
import type { EditScope } from '../edit-scope.ts';
import type { CommitOperation, CommitOperations, OperationsCommitted } from '../messages.ts';
import { moveSubtree, renameSubtree } from './move-node.ts';
import { setProperties } from './set-properties.ts';

const rootPlace = { path: '/' } as const;

/**
 * Executes several operations in order as one revision; each sees the effects of those before it. If one fails, none is
 * applied, and the error has the index of that operation, counted from 0.
 *
 * Unique values are compared after the last operation, so that two nodes can swap values. The error is then reported
 * for the operation that gave a node a value of another node.
 *
 * If the operations cancel each other out, there is nothing to record and the revision is null.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for an empty list, an empty message or an unknown operation;
 *   `COMMIT_TOO_LARGE`; what an operation throws, with `details.operation`
 * @see messages.ts, CommitOperations; docs/interface/nodes.md#several-operations-as-one-revision
 */
export function* commitOperations(
  edit: EditScope,
  command: CommitOperations,
): Generator<undefined, OperationsCommitted> {
  const { workspace, operations, commit } = command;
  edit.workspace(workspace);
  const { expected, place = rootPlace } = command;
  if (expected !== undefined) yield* edit.requireExpectedAt({ workspace, place, expected }, false);
  if (operations.length === 0)
    throw invalid('A commit needs at least one operation', { field: 'operations' });
  if (commit.message.trim() === '') throw invalid('A commit needs a message', { field: 'message' });
  edit.checkSize(operations.length);
  // Compared only at the end, so that nodes can swap values.
  const uniques = edit.writer.deferUniques();
  for (let index = 0; index < operations.length; index++) {
    const operation = operations[index] as CommitOperation;
    uniques.operation = index;
    try {
      yield* carryOut(edit, workspace, operation);
    } catch (error) {
      throw ofOperation(error, operation, index);
    }
    yield;
  }
  const clash = yield* edit.writer.settleUniques();
  if (clash !== undefined) {
    const { operation: index } = clash;
    throw ofOperation(edit.writer.duplicateValue(clash), operations[index] as CommitOperation, index);
  }
  const revision = yield* edit.finishInSteps(commit, commit.message);
  return { revision, operations_count: operations.length };
}

function* carryOut(
  edit: EditScope,
  workspace: string,
  operation: CommitOperation,
): Generator<undefined, void> {
  switch (operation.type) {
    case 'create':
      yield* insertNode(edit, workspace, operation.parentPath, operation.node);
      return;
    case 'update':
      yield* mergeProperties(edit, workspace, operation);
      return;
    case 'delete': {
      const node = yield* edit.requireNodeOf(
        workspace,
        { id: operation.nodeId },
        'delete',
        operation.version,
      );
      yield* removeSubtree(edit, workspace, node);
      return;
    }
    case 'move': {
      const node = yield* edit.requireNodeOf(
        workspace,
        { id: operation.nodeId },
        'delete',
        operation.version,
      );
      yield* moveSubtree(edit, workspace, node, operation.newPath);
      return;
    }
    case 'rename': {
      const node = yield* edit.requireNodeOf(
        workspace,
        { id: operation.nodeId },
        'update',
        operation.version,
      );
      yield* renameSubtree(edit, workspace, node, operation.newName);
      return;
    }
    case 'copy':
    case 'copy_tree': {
      const source = yield* edit.requireNodeOf(
        workspace,
        { path: operation.sourcePath },
        'read',
        operation.version,
      );
      yield* copySubtree(edit, workspace, source, {
        targetPath: operation.targetParent,
        newName: operation.newName ?? source.header.name,
        tree: operation.type === 'copy_tree',
      });
      return;
    }
    default:
      unknownOperation(operation);
  }
}

/** Protocols pass on the caller's input, so a type that the compiler excludes may still arrive. */
function unknownOperation(operation: never): never {
  const { type } = operation as { type?: unknown };
  throw invalid(`Unknown operation type ${JSON.stringify(type)}`, { field: 'type' });
}

function* mergeProperties(
  edit: EditScope,
  workspace: string,
  { nodeId, properties: given, version }: Extract<CommitOperation, { type: 'update' }>,
): Generator<undefined, void> {
  const old = yield* edit.requireNodeOf(workspace, { id: nodeId }, 'update', version);
  yield* setProperties(edit, workspace, old, given);
}

/** The same error with the operation in its details. Errors that are not the caller's stay unchanged. */
function ofOperation(error: unknown, operation: CommitOperation, index: number): unknown {
  if (!(error instanceof ServiceError)) return error;
  const place = `operations.${index}`;
  return new ServiceError(error.code, `Operation ${index} (${operation.type}): ${error.message}`, {
    field: error.field === undefined ? place : `${place}.${error.field}`,
    details: { ...error.details, operation: index },
    cause: error,
  });
}
