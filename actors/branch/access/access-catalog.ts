import { spellingsOf } from '#runtime/access/identity/email-address.ts';
import { strippedId } from '#runtime/access/roles/access-nodes.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import { sanitizeName } from '#runtime/content/path.ts';
import { type JsonObject, type JsonValue, ownValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { Moment } from '#runtime/scan/moment.ts';
import type { ScanSource } from '#runtime/scan/scan.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { NodeAccess } from '../reads/node-access.ts';
import { ACCESS_WORKSPACE, isAmongUsersOf, USER_TYPE } from './user-places.ts';

/** The type of roles. */
export const ROLE_TYPE = 'svc:Role';

/** The type of groups. */
export const GROUP_TYPE = 'svc:Group';

/** The type of settings of workspaces. */
export const SECURITY_TYPE = 'svc:SecurityConfig';

/** Below it roles, groups and settings have no effect. */
const USERS = '/users/';

/** Folders in which a user is looked for by the name of its node before all of `/users` is searched. */
const USER_FOLDERS = ['/users', '/users/internal', '/users/system'];

/** Estimated nanoseconds to look at a node, and for each byte of its record. */
const NODE_WORK = 40_000;
const BYTE_WORK = 25;

/** Users that one name may mean, in the error about it. */
const MEANT_MAX = 5;

/** The type of a node of access control. */
export type AccessType = typeof ROLE_TYPE | typeof GROUP_TYPE | typeof USER_TYPE | typeof SECURITY_TYPE;

/** A node as its reader sees it. */
export interface CatalogNode {
  readonly id: string;
  readonly path: string;
  readonly record: NodeRecord;
  /** Those that are shown. */
  readonly properties: JsonObject;
}

/**
 * The roles, groups, users and settings of a branch as one caller sees them: what may not be read is not there, and hidden
 * properties are absent. Only nodes that count are in it: roles, groups and settings that are not below `/users`, and users
 * that are, outside of the homes of others.
 *
 * @see docs/interface/permissions.md#roles
 */
export class AccessCatalog {
  readonly #access: NodeAccess;
  readonly #moment: Moment;
  readonly #budget: RequestBudget;

  /** @param budget counts the work */
  constructor(access: NodeAccess, moment: Moment, budget: RequestBudget) {
    this.#access = access;
    this.#moment = moment;
    this.#budget = budget;
  }

  /** The nodes of a type in the order of their paths. Yields undefined where the work may pause. */
  *all(nodeType: AccessType): Generator<CatalogNode | undefined, void> {
    yield* this.#nodes({ kind: 'paths', workspace: ACCESS_WORKSPACE, nodeType }, nodeType);
  }

  /**
   * The node of a type with a value in a unique property; of several the first one by its path. Yields where the work may
   * pause.
   */
  *withValue(
    nodeType: AccessType,
    property: string,
    value: string,
  ): Generator<undefined, CatalogNode | undefined> {
    let first: CatalogNode | undefined;
    for (const node of this.#holders(nodeType, property, value)) {
      if (node === undefined) yield undefined;
      else if (first === undefined || node.path < first.path) first = node;
    }
    return first;
  }

  /** The role with an id; `/roles/x` means `x`. Yields where the work may pause. */
  role(id: string): Generator<undefined, CatalogNode | undefined> {
    return this.withValue(ROLE_TYPE, 'role_id', strippedId(id, '/roles/'));
  }

  /** The group with an id; `/groups/x` means `x`. Yields where the work may pause. */
  group(id: string): Generator<undefined, CatalogNode | undefined> {
    return this.withValue(GROUP_TYPE, 'group_id', strippedId(id, '/groups/'));
  }

  /**
   * The user that a name means: the path of its node, its `user_id`, its address, or the name of its node, which is looked for
   * directly below `/users`, `/users/internal` and `/users/system`, and only then anywhere below `/users`.
   *
   * @returns yields where the work may pause
   * @throws {ServiceError} `CONFLICT` when it means several: nobody should get the roles of another one
   */
  *user(name: string): Generator<undefined, CatalogNode | undefined> {
    const quick = yield* this.quickUsers(name);
    const found = quick.length > 0 ? quick : yield* this.#usersCalled(name);
    if (found.length <= 1) return found[0];
    const paths = found.map(({ path }) => path).sort();
    const shown = paths.slice(0, MEANT_MAX).join(', ');
    throw new ServiceError('CONFLICT', `User '${name}' may be one of ${shown}; name it by its path`);
  }

  /**
   * The users that a name means, apart from nodes of this name that are further below `/users`. Its cost does not depend on the
   * number of users. Yields where the work may pause.
   */
  *quickUsers(name: string): Generator<undefined, readonly CatalogNode[]> {
    const found = new Map<string, CatalogNode>();
    for (const node of name.startsWith('/') ? this.#at(name) : this.#named(name)) {
      if (node === undefined) yield undefined;
      else found.set(node.id, node);
    }
    return [...found.values()];
  }

  /** The users whose node has a name. */
  *#usersCalled(name: string): Generator<undefined, readonly CatalogNode[]> {
    const wanted = name.startsWith('/') ? undefined : nodeName(name);
    const found: CatalogNode[] = [];
    if (wanted === undefined) return found;
    for (const node of this.all(USER_TYPE)) {
      if (node === undefined) yield undefined;
      else if (node.record.name === wanted) found.push(node);
    }
    return found;
  }

  *#named(name: string): Generator<CatalogNode | undefined, void> {
    yield* this.#holders(USER_TYPE, 'user_id', name);
    for (const spelling of spellingsOf(name)) yield* this.#holders(USER_TYPE, 'email', spelling);
    const wanted = nodeName(name);
    if (wanted === undefined) return;
    for (const folder of USER_FOLDERS) yield* this.#at(`${folder}/${wanted}`);
  }

  /** The user at a path. */
  *#at(path: string): Generator<CatalogNode | undefined, void> {
    const record = yield* this.#moment.tree.byPathInSteps(ACCESS_WORKSPACE, path);
    if (record?.nodeType !== USER_TYPE || !this.#counts(record, USER_TYPE)) return;
    if (this.#access.mayRead(ACCESS_WORKSPACE, record)) yield yield* this.#seen(record);
  }

  /** The nodes with a value in a property. An index is not asked where it has values that are hidden from the caller. */
  *#holders(nodeType: AccessType, property: string, value: string): Generator<CatalogNode | undefined, void> {
    const isHidden = this.#access.scope(ACCESS_WORKSPACE).hides?.(property) === true;
    const candidates = isHidden
      ? this.all(nodeType)
      : this.#nodes(indexSource(nodeType, property, value), nodeType);
    for (const node of candidates) {
      // The keys of long values are cut.
      const isHolder = node !== undefined && ownValue(node.properties, property) === value;
      yield isHolder ? node : undefined;
    }
  }

  *#nodes(source: ScanSource, nodeType: AccessType): Generator<CatalogNode | undefined, void> {
    for (const row of this.#access.rows(this.#moment, { source, budget: this.#budget })) {
      if (row !== undefined) this.#budget.spend(NODE_WORK + row.record.bytes.length * BYTE_WORK);
      if (row === undefined || !this.#counts(row.record, nodeType)) yield undefined;
      else {
        yield yield* this.#seen(row.record);
        yield undefined;
      }
    }
  }

  #counts(record: NodeRecord, nodeType: AccessType): boolean {
    return nodeType === USER_TYPE
      ? isAmongUsersOf(this.#moment.tree, record)
      : !record.path.startsWith(USERS);
  }

  *#seen(record: NodeRecord): Generator<undefined, CatalogNode> {
    const { record: shown } = yield* this.#access.shown(ACCESS_WORKSPACE, record);
    return { id: record.id, path: record.path, record, properties: yield* shown.decode() };
  }
}

/** The text in a property; null when there is none. */
export function textOf({ properties }: Pick<CatalogNode, 'properties'>, name: string): string | null {
  const value = ownValue(properties, name);
  return typeof value === 'string' ? value : null;
}

function indexSource(nodeType: AccessType, property: string, value: JsonValue): ScanSource {
  if (property !== 'user_id')
    return { kind: 'unique', workspace: ACCESS_WORKSPACE, nodeType, property, value };
  return {
    kind: 'index',
    workspace: ACCESS_WORKSPACE,
    nodeType,
    index: property,
    where: [{ operator: 'eq', value }],
  };
}

/** The name that a node gets from a text; undefined for a text that names none. */
function nodeName(text: string): string | undefined {
  try {
    return sanitizeName(text);
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'VALIDATION_FAILED') return undefined;
    throw error;
  }
}
