import { compileRule } from '#runtime/access/roles/compile-rule.ts';
import { parsePermissions } from '#runtime/access/roles/permission.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import type { GivenText } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import type { GrantNode } from '#runtime/sql-syntax/nodes/access-nodes.ts';
import type { AccessEdit } from './access-edit.ts';

/**
 * A permission as a role stores it. It is read as the directory of roles reads it, and refused unless it has exactly the effect
 * that the statement says: a stored permission that is not understood grants nothing, and says so to nobody.
 *
 * @returns yields where the work may pause
 * @throws {ServiceError} `VALIDATION_FAILED`
 * @see docs/interface/permissions.md#permissions
 */
export function* permissionOf(edit: AccessEdit, grant: GrantNode): Generator<undefined, JsonObject> {
  const textOf = (given: GivenText): string => edit.text(given);
  const permission: JsonObject = {
    ...(grant.workspace === undefined ? {} : { workspace: textOf(grant.workspace) }),
    path: textOf(grant.path),
    operations: grant.operations,
    ...(grant.branch === undefined ? {} : { branch_pattern: textOf(grant.branch) }),
    ...(grant.nodeTypes === undefined ? {} : { node_types: grant.nodeTypes.map(textOf) }),
    ...(grant.fields === undefined ? {} : { fields: grant.fields.map(textOf) }),
    ...(grant.exceptFields === undefined ? {} : { except_fields: grant.exceptFields.map(textOf) }),
    ...(grant.condition === undefined ? {} : { condition: grant.condition }),
  };
  const { except_fields: _, ...effective } = permission;
  // With both lists `fields` decides: the interface says so, and it restricts more.
  const read = grant.fields === undefined ? permission : effective;
  const { notices } = yield* parsePermissions([read], compileRule);
  const [notice] = notices;
  if (notice !== undefined) throw edit.error(notice.reason, grant.span);
  return permission;
}
