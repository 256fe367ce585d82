import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { JsonObject } from '#runtime/content/json-value.ts';
import { isWorkspaceName } from '#runtime/content/names.ts';
import { rewriteReferences } from '#runtime/content/references.ts';
import type { EditScope } from '../edit-scope.ts';

/**
 * Turns references that name a path into references by id; a reference to a path without a node stays as given.
 *
 * @see docs/interface/nodes.md#references
 */
export function resolveReferences(edit: EditScope, workspace: string, properties: JsonObject): JsonObject {
  return rewriteReferences(properties, (path, target) => {
    const place = target ?? workspace;
    // The text comes from the caller and becomes part of a key.
    if (!isWorkspaceName(place)) return undefined;
    const id = edit.head.idAt(place, path);
    return id === ROOT_ID ? undefined : id;
  });
}
