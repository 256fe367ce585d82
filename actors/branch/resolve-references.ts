import { ROOT_ID } from '#runtime/content/content-node.ts';
import type { JsonObject } from '#runtime/content/json-value.ts';
import { rewriteReferences } from '#runtime/content/references.ts';
import type { EditScope } from './edit-scope.ts';

/**
 * Turns references that name a path into references by id; one that leads nowhere stays as it was given.
 *
 * @see Supplement 4, Reference
 */
export function resolveReferences(edit: EditScope, workspace: string, properties: JsonObject): JsonObject {
  return rewriteReferences(properties, (path, target) => {
    const id = edit.head.idAt(target ?? workspace, path);
    return id === ROOT_ID ? undefined : id;
  });
}
