import { type JsonObject, type JsonValue, setKey } from '#runtime/content/values/json-value.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { EditScope } from '../edit-scope.ts';
import { changedNode } from './update-node.ts';
import { requireFewValues } from './values-bound.ts';

/**
 * Sets some properties of a node as a whole and leaves the others, without ending the revision. Yields where the work may pause.
 *
 * @param old the caller may update it
 * @throws {ServiceError} `PERMISSION_DENIED` for a property that the caller may not set; `VALIDATION_FAILED`;
 *   `PAYLOAD_TOO_LARGE`; `REQUEST_TOO_EXPENSIVE`
 */
export function* setProperties(
  edit: EditScope,
  workspace: string,
  old: NodeRecord,
  given: JsonObject,
): Generator<undefined, void> {
  edit.access.authorizeFields('update', workspace, old, Object.keys(given));
  const merged: Record<string, JsonValue> = { ...(yield* old.decode()) };
  for (const key of Object.keys(given)) setKey(merged, key, given[key] as JsonValue);
  const next = yield* changedNode(edit, workspace, old, merged, old.header.archetype, {});
  yield* requireFewValues(edit, old, next);
  yield* edit.replaceInSteps(workspace, old, next);
  edit.audit(workspace, next, 'Update');
}
