import { NameGlob } from '#runtime/access/roles/name-glob.ts';
import { PATTERN_LENGTH_MAX } from '#runtime/access/roles/permission.ts';
import { strippedId } from '#runtime/access/roles/access-nodes.ts';
import { joinPath, sanitizeName } from '#runtime/content/path.ts';
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  ownValue,
  setKey,
} from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { AlterSecurityStatement, SecuritySetting } from '#runtime/sql-syntax/nodes/access-nodes.ts';
import { type CatalogNode, SECURITY_TYPE } from '../../../access/access-catalog.ts';
import { ACCESS_WORKSPACE } from '../../../access/user-places.ts';
import { accessNotFound } from '../../access-errors.ts';
import type { AccessEdit } from './access-edit.ts';

const CONFIG = '/config';

/** Interfaces that have settings of their own. */
const INTERFACES: readonly string[] = ['rest', 'pgwire', 'websocket'];

/** Most names that are tried for a node. Patterns with one name are few: they differ in other signs than letters and digits. */
const NAMES_TRIED_MAX = 1_000;

/** Estimated nanoseconds to look for a node at a path. */
const LOOKUP_WORK = 5_000;

/** Name of the node of a pattern that has no letter or digit for a name. */
const UNNAMED = 'pattern';

/**
 * `ALTER SECURITY CONFIG`. A pattern without settings gets a node.
 *
 * @throws {ServiceError} `VALIDATION_FAILED` for a pattern that no workspace matches, an unknown policy or interface;
 *   `NOT_FOUND` for a role
 * @see docs/interface/permissions.md#settings-of-workspaces
 */
export function* alterSecurity(
  edit: AccessEdit,
  { pattern: given, settings }: AlterSecurityStatement,
): Generator<undefined, string> {
  const pattern = edit.text(given);
  if (pattern === '' || pattern.length > PATTERN_LENGTH_MAX || !new NameGlob(pattern).isUnderstood)
    throw edit.error(`No workspace matches '${pattern}'`, given.span);
  const found = yield* edit.catalog.withValue(SECURITY_TYPE, 'workspace', pattern);
  const changes = yield* changesOf(edit, settings, found);
  if (found !== undefined) yield* edit.set(found, changes);
  else {
    const properties = { workspace: pattern, default_policy: 'deny', anonymous_enabled: false, ...changes };
    yield* edit.ensureFolder(CONFIG);
    yield* edit.insert(CONFIG, yield* freeName(edit, pattern), SECURITY_TYPE, properties);
  }
  return `Security config for '${pattern}' updated`;
}

function* changesOf(
  edit: AccessEdit,
  settings: readonly SecuritySetting[],
  found: CatalogNode | undefined,
): Generator<undefined, JsonObject> {
  const changes: {
    default_policy?: string;
    anonymous_enabled?: boolean;
    anonymous_role?: string;
    interfaces?: JsonObject;
  } = {};
  const stored = found === undefined ? undefined : ownValue(found.properties, 'interfaces');
  const interfaces: Record<string, JsonValue> =
    stored !== undefined && isJsonObject(stored) ? { ...stored } : {};
  for (const setting of settings) {
    switch (setting.kind) {
      case 'default-policy':
        changes.default_policy = edit.text(setting.policy).toLowerCase();
        break;
      case 'anonymous-enabled':
        changes.anonymous_enabled = setting.isEnabled;
        break;
      case 'anonymous-role': {
        const role = strippedId(edit.text(setting.role), '/roles/');
        if ((yield* edit.catalog.role(role)) === undefined) throw accessNotFound('Role', role);
        changes.anonymous_role = role;
        break;
      }
      case 'interface':
        setInterface(edit, interfaces, setting);
        changes.interfaces = interfaces;
    }
  }
  return changes;
}

function setInterface(
  edit: AccessEdit,
  interfaces: Record<string, JsonValue>,
  { key, name: given, value }: SecuritySetting & { readonly kind: 'interface' },
): void {
  const name = given.toLowerCase();
  if (!INTERFACES.includes(name))
    throw edit.error(`Unknown interface '${given}'; there are ${INTERFACES.join(', ')}`, value.span);
  const before = ownValue(interfaces, name);
  const after: Record<string, JsonValue> = before !== undefined && isJsonObject(before) ? { ...before } : {};
  setKey(after, key, edit.value(value));
  interfaces[name] = after;
}

/**
 * A name for the node of a pattern: several patterns give one name, and some none.
 *
 * @throws {ServiceError} `CONFLICT` when all names that are tried are taken
 */
function* freeName({ edit }: AccessEdit, pattern: string): Generator<undefined, string> {
  const base = nameOf(pattern);
  for (let number = 1; number <= NAMES_TRIED_MAX; number += 1) {
    const name = number === 1 ? base : `${base}-${number}`;
    if (edit.head.idAt(ACCESS_WORKSPACE, joinPath(CONFIG, name)) === undefined) return name;
    edit.turn.budget.spend(LOOKUP_WORK);
    yield undefined;
  }
  throw new ServiceError('CONFLICT', `No name is free for the settings of '${pattern}' below ${CONFIG}`);
}

function nameOf(pattern: string): string {
  try {
    return sanitizeName(pattern.replaceAll(/[:/]/g, '-').slice(0, 100));
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'VALIDATION_FAILED') return UNNAMED;
    throw error;
  }
}
