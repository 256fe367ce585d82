import { invalid } from '#runtime/errors/service-error.ts';
import type { ResolvedNodeType } from '../resolution/type-resolver.ts';
import type { Workspace } from '../definitions/workspace-definition.ts';

function isAllowed(types: readonly string[], name: string): boolean {
  return types.length === 0 || types.includes(name) || types.includes('*');
}

/**
 * Checks that a workspace allows nodes of a type; a node at its root must be in both of its lists. Runs on create, and
 * on a move or copy into the workspace.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 * @see docs/interface/repositories.md#types-a-workspace-allows
 */
export function requireAllowedInWorkspace(
  workspace: Pick<Workspace, 'name' | 'allowed_node_types' | 'allowed_root_node_types'>,
  typeName: string,
  atRoot: boolean,
): void {
  if (!isAllowed(workspace.allowed_node_types, typeName)) {
    throw invalid(`Workspace '${workspace.name}' does not allow nodes of type '${typeName}'`, {
      field: 'node_type',
    });
  }
  if (atRoot && !isAllowed(workspace.allowed_root_node_types, typeName)) {
    throw invalid(`Workspace '${workspace.name}' does not allow root nodes of type '${typeName}'`, {
      field: 'node_type',
    });
  }
}

/**
 * Whether the parent's type allows a child of a type, by its resolved list.
 *
 * @see docs/interface/node-types.md#allowed-children
 */
export function isAllowedUnder(parent: ResolvedNodeType, typeName: string): boolean {
  return parent.allowsAnyChild || parent.allowedChildren.includes(typeName);
}

/**
 * Checks that the parent's type allows a child of a type, by its resolved list. Runs on create, update, move and copy.
 *
 * @throws {ServiceError} `VALIDATION_FAILED`
 * @see docs/interface/node-types.md#allowed-children
 */
export function requireAllowedUnder(parent: ResolvedNodeType, typeName: string): void {
  if (isAllowedUnder(parent, typeName)) return;
  throw invalid(`NodeType '${typeName}' is not allowed as a child of NodeType '${parent.name}'`, {
    field: 'node_type',
  });
}
