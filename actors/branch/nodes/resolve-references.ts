import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { isWorkspaceName } from '#runtime/content/names.ts';
import { rewriteReferences, rewriteReferencesIn } from '#runtime/content/values/references.ts';
import type { EditScope } from '../edit-scope.ts';

/**
 * Turns references that name a path into references by id; a reference to a path without a node that the caller may read
 * stays as given.
 *
 * @see docs/interface/nodes.md#references
 */
export function resolveReferences(edit: EditScope, workspace: string, properties: JsonObject): JsonObject {
  return rewriteReferences(properties, (path, target) => idAt(edit, target ?? workspace, path));
}

/** As {@link resolveReferences}, for translated values of the nodes of a workspace. */
export function valueResolver(edit: EditScope, workspace: string): (value: JsonValue) => JsonValue {
  return (value) => rewriteReferencesIn(value, (path, target) => idAt(edit, target ?? workspace, path));
}

function idAt(edit: EditScope, workspace: string, path: string): string | undefined {
  // The text comes from the caller and becomes part of a key.
  if (!isWorkspaceName(workspace)) return undefined;
  const id = edit.head.idAt(workspace, path);
  // The id of a node that may not be read is not told: the reference stays as one to a path without a node.
  return id === undefined || id === ROOT_ID || !edit.sees(workspace, id) ? undefined : id;
}
