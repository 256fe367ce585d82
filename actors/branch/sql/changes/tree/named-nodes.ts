import type { Operation } from '#runtime/access/policy.ts';
import { isNodeId } from '#runtime/content/content-node.ts';
import { parsePath } from '#runtime/content/path.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { givenText } from '#runtime/sql-plan/given-values.ts';
import type { GivenText, WorkspaceName } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import type { NodeReference } from '#runtime/sql-syntax/nodes/tree-nodes.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { NodePlace } from '../../../read-messages.ts';
import type { ChangeContext } from '../change-context.ts';

/** What a reference of a statement stands for, as errors name it. */
export type NodeRole = 'Node' | 'Source node' | 'Target node' | 'Target parent node';

/** A text that a statement gives. @throws {ServiceError} `VALIDATION_FAILED` */
export function textOf({ scope, source }: ChangeContext, given: GivenText): string {
  return givenText(given, scope, source);
}

/** The workspace that a statement names as a table. @throws {ServiceError} `WORKSPACE_NOT_FOUND` */
export function workspaceOf(change: ChangeContext, { isBare, name }: WorkspaceName): string {
  return existing(name, change.scope.workspaceNamed(name, isBare));
}

/**
 * The workspace behind `IN WORKSPACE`.
 *
 * @param given absent: the workspace `default`
 * @throws {ServiceError} `WORKSPACE_NOT_FOUND`; `VALIDATION_FAILED` for a value that is no text
 */
export function placedWorkspace(change: ChangeContext, given: GivenText | undefined): string {
  const name = given === undefined ? 'default' : textOf(change, given);
  return existing(name, change.scope.workspaceNamed(name, false));
}

function existing(name: string, workspace: string | undefined): string {
  if (workspace !== undefined) return workspace;
  throw new ServiceError('WORKSPACE_NOT_FOUND', `Workspace '${name}' not found`);
}

/** The place that a reference names. @throws {ServiceError} `VALIDATION_FAILED` for a text that cannot be a path */
export function placeOf(change: ChangeContext, { by, value }: NodeReference): NodePlace {
  const text = textOf(change, value);
  return by === 'path' ? { path: parsePath(text) } : { id: text };
}

/** Whether a place is the root of a workspace, which is no node. */
export function isRoot(place: NodePlace): boolean {
  return 'path' in place && place.path === '/';
}

/** Whether a place may be looked up: a text that no node has as its id must not become part of a key. */
export function mayExist(place: NodePlace): boolean {
  return 'path' in place || isNodeId(place.id);
}

/**
 * A node on which the caller may perform an operation.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`, naming the role of the node, also when it may not be read; `PERMISSION_DENIED`
 */
export function* requireNamed(
  { edit }: ChangeContext,
  workspace: string,
  place: NodePlace,
  operation: Operation,
  role: NodeRole,
): Generator<undefined, NodeRecord> {
  if (!mayExist(place)) throw missing(role, place);
  try {
    return yield* edit.requireNode(workspace, place, operation);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'NODE_NOT_FOUND') throw missing(role, place);
    throw error;
  }
}

/** The error for a node that is missing or may not be read. */
export function missing(role: NodeRole, place: NodePlace): ServiceError {
  const named = 'path' in place ? `at path '${place.path}'` : `with id '${place.id}'`;
  return new ServiceError('NODE_NOT_FOUND', `${role} ${named} not found`);
}
