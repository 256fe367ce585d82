import { groupOf, idsIn, type Group, userOf } from '#runtime/access/roles/access-nodes.ts';
import { compileRule } from '#runtime/access/roles/compile-rule.ts';
import {
  PERMISSIONS_OF_CALLER_MAX,
  type RoleSource,
  rolesWithSources,
} from '#runtime/access/roles/grants.ts';
import { parsePermissions, type Permission } from '#runtime/access/roles/permission.ts';
import { isJsonArray, isJsonObject, type JsonValue, ownValue } from '#runtime/content/values/json-value.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import type {
  ShowEffectiveRolesStatement,
  ShowPermissionsStatement,
} from '#runtime/sql-syntax/nodes/access-nodes.ts';
import type { GivenText } from '#runtime/sql-syntax/nodes/given-nodes.ts';
import { arrayOf, textType } from '#runtime/sql-values/types/basic-types.ts';
import type { CatalogNode } from '../../access/access-catalog.ts';
import { named } from './named-node.ts';
import type { AccessAnswer, AccessSource } from './access-answer.ts';

/** Estimated nanoseconds to read a permission, and for each character of its condition. */
const PERMISSION_WORK = 10_000;
const CHARACTER_WORK = 200;

/** A role that counts for a user. */
interface EffectiveRole extends RoleSource {
  readonly id: string;
  readonly node: CatalogNode;
}

/** `SHOW EFFECTIVE ROLES FOR USER`: none for a user that is not active. */
export function showEffectiveRoles(
  source: AccessSource,
  { user }: ShowEffectiveRolesStatement,
): AccessAnswer {
  return {
    columns: ['role', 'source', 'via'].map((name) => ({ name, type: textType })),
    rows: roleRows(source, user),
  };
}

function* roleRows(source: AccessSource, user: GivenText): Generator<Row | undefined, void> {
  for (const { id, source: why, via } of yield* effectiveRoles(source, user)) yield [id, why, via];
}

/** `SHOW PERMISSIONS FOR USER`: those of all its effective roles, as far as they count. */
export function showPermissions(source: AccessSource, statement: ShowPermissionsStatement): AccessAnswer {
  return {
    columns: [
      { name: 'role', type: textType },
      { name: 'path', type: textType },
      { name: 'operations', type: arrayOf(textType) },
      { name: 'workspace', type: textType },
    ],
    rows: permissionRows(source, statement),
  };
}

function* permissionRows(
  source: AccessSource,
  { user, workspace }: ShowPermissionsStatement,
): Generator<Row | undefined, void> {
  const wanted = workspace === undefined ? undefined : source.text(workspace);
  let count = 0;
  for (const { id, node } of yield* effectiveRoles(source, user)) {
    for (const { permission, stored } of yield* permissionsOf(source, node)) {
      count += 1;
      if (count > PERMISSIONS_OF_CALLER_MAX) return;
      if (wanted !== undefined && !permission.workspace.matches(wanted)) continue;
      const named = textIn(stored, 'workspace');
      yield [id, textIn(stored, 'path'), [...permission.operations], named === '' ? '*' : named];
    }
  }
}

/** The permissions of a role that count, as they are stored and as they are read. */
function* permissionsOf(
  { execution }: AccessSource,
  { properties }: CatalogNode,
): Generator<undefined, readonly { readonly permission: Permission; readonly stored: JsonValue }[]> {
  const list = ownValue(properties, 'permissions');
  if (list === undefined || !isJsonArray(list)) return [];
  const found: { permission: Permission; stored: JsonValue }[] = [];
  yield* parsePermissions(list, compileRule, (permission, index) => {
    execution.spend(PERMISSION_WORK + (permission.condition?.text.length ?? 0) * CHARACTER_WORK);
    found.push({ permission, stored: list[index] as JsonValue });
  });
  return found;
}

/** The roles that count for a user, as far as the caller may read them. */
function* effectiveRoles(
  source: AccessSource,
  given: GivenText,
): Generator<undefined, readonly EffectiveRole[]> {
  const user = userOf(yield* named(source, 'user', source.text(given)));
  if (!user.isActive) return [];
  const groups = new Map<string, Group>();
  for (const id of user.groups) {
    const node = yield* source.catalog.group(id);
    const group = node === undefined ? undefined : groupOf(node);
    if (group !== undefined) groups.set(id, group);
  }
  const nodes = yield* roleNodes(source, [
    ...user.roles,
    ...[...groups.values()].flatMap(({ roles }) => roles),
  ]);
  const roles = new Map(
    [...nodes].map(([id, node]) => [id, { inherits: idsIn(node.properties, 'inherits', '/roles/') }]),
  );
  return [...rolesWithSources(user, { groups, roles })].map(([id, why]) => ({
    id,
    node: nodes.get(id) as CatalogNode,
    ...why,
  }));
}

/** Roles by their ids, with all that they inherit. Names that no role has are left out. */
function* roleNodes(
  { catalog }: AccessSource,
  ids: readonly string[],
): Generator<undefined, ReadonlyMap<string, CatalogNode>> {
  const nodes = new Map<string, CatalogNode>();
  const wanted = new Set(ids);
  // A set is gone through with what is added on the way, each role once.
  for (const id of wanted) {
    const node = yield* catalog.role(id);
    if (node === undefined) continue;
    nodes.set(id, node);
    for (const inherited of idsIn(node.properties, 'inherits', '/roles/')) wanted.add(inherited);
  }
  return nodes;
}

function textIn(stored: JsonValue, key: string): string {
  const value = isJsonObject(stored) ? ownValue(stored, key) : undefined;
  return typeof value === 'string' ? value : '';
}
