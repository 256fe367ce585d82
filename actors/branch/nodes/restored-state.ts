import { requireLightRole } from '#runtime/access/roles/role-weight.ts';
import type { NodeHeader } from '#runtime/content/content-node.ts';
import { parentPath } from '#runtime/content/path.ts';
import {
  prepareProperties,
  requireArchetype,
  stripDerived,
} from '#runtime/content/validation/validate-node.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { EditScope } from '../edit-scope.ts';
import { requireAllowed, requireParent } from './create-node.ts';
import { resolveReferences } from './resolve-references.ts';

/**
 * The next state of a node with the properties, translations, type and archetype of an earlier one, which must satisfy the
 * present types. Nothing is written.
 *
 * @param old present state, which the caller may update
 * @param state header of the earlier state; only the type, the archetype and the translations are used
 * @param properties of the earlier state
 * @param change further header fields that differ
 * @returns yields where the work may pause, which it does only for a large node
 * @throws {ServiceError} `VALIDATION_FAILED`
 */
export function* restoredState(
  edit: EditScope,
  workspace: string,
  old: NodeRecord,
  { archetype: archetypeName, nodeType, translations }: NodeHeader,
  properties: JsonObject,
  change: Partial<NodeHeader> = {},
): Generator<undefined, NodeRecord> {
  const type = edit.requireType(workspace, nodeType);
  // Types differ only when another node had the id before.
  if (nodeType !== old.header.nodeType) {
    const parent = yield* requireParent(edit, workspace, parentPath(old.header.path));
    requireAllowed(edit, workspace, parent, nodeType);
  }
  const schema = edit.schema(workspace);
  const archetype = archetypeName === null ? null : requireArchetype(archetypeName, type, schema);
  const given = stripDerived(properties);
  const prepared = prepareProperties(type, archetype, given, schema, 'update', edit.turn.budget);
  yield* requireLightRole(workspace, nodeType, prepared, old);
  return yield* edit.nextInSteps(
    old,
    { nodeType, archetype: archetypeName, translations, ...change },
    resolveReferences(edit, workspace, prepared),
  );
}
