import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { Relations, tooLong } from '#runtime/rel/ports.ts';
import { nodeNotFound, ServiceError } from '#runtime/errors/service-error.ts';
import type { DecisionWork } from './decision-work.ts';
import { allFields, type FieldFilter, noFields } from './field-filter.ts';
import type { Principal } from './principal.ts';
import type { RuleCaller } from './roles/rule-caller.ts';

const SLASH = 0x2f;

/** The operations on content, as permissions and statements name them. */
export const operations = ['create', 'read', 'update', 'delete', 'translate', 'relate', 'unrelate'] as const;

/** Operations on content. @see docs/interface/accounts.md#access-to-content */
export type Operation = (typeof operations)[number];

/** Operations that set properties. */
export type SettingOperation = Extract<Operation, 'create' | 'update' | 'translate'>;

/** The node of an operation: its stored state, for `create` the state to be written. */
export interface Subject {
  readonly workspace: string;
  readonly path: string;
  readonly nodeType: string;
  /**
   * The node, for conditions. Without it no condition holds that needs it, so it may be left out only where
   * {@link Policy.needs} says that the other three decide.
   */
  readonly node?: ReadableNode;
  /** Counts the work of a question without {@link node}; absent: nothing counts it, though it is bounded. */
  readonly work?: DecisionWork;
}

/** What decides besides workspace, path, name and type of a node. */
export interface Needs {
  /** Other columns of the node. */
  readonly columns: boolean;
  /** Properties of the node. */
  readonly properties: boolean;
  /** Relations between nodes. */
  readonly relations: boolean;
}

/** Workspace, path and type alone decide. */
export const noNeeds: Needs = Object.freeze({ columns: false, properties: false, relations: false });

/**
 * The permissions of a principal in one repository and branch. The actor that owns the content checks them, at one
 * place per operation, so that every protocol gets the same answer.
 */
export interface Policy {
  /** True when everything is permitted, so that scans need not check every row. */
  readonly unrestricted: boolean;
  /** Whether schema, workspaces and repository settings may be changed. */
  readonly administers: boolean;
  /** Whether locks may be taken and inventory claimed. */
  readonly locks: boolean;
  /** The caller as conditions know it; absent where permissions are not in the content of the repository. */
  readonly caller?: RuleCaller;
  /** What {@link allows} and {@link fields} need to know of nodes of a workspace. */
  needs(operation: Operation, workspace: string): Needs;
  /** @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` when it takes too much work to tell, see `DecisionWork` */
  allows(operation: Operation, subject: Subject): boolean;
  /**
   * Whether an operation may be permitted on some node of a workspace: false only where none could be there that it is
   * permitted on.
   */
  mayAllow(operation: Operation, workspace: string): boolean;
  /**
   * The properties of a node that may be read, or set by an operation. None where the operation is not permitted.
   *
   * @throws {ServiceError} as {@link allows}
   * @see docs/interface/permissions.md#fields
   */
  fields(operation: 'read' | SettingOperation, subject: Subject): FieldFilter;
  /** The nodes of a workspace that may be read, for scans. It permits exactly what {@link allows} permits. */
  readScope(workspace: string): ReadScope;
}

/** A node as conditions of a policy look at it. A stored row reads each part when it is asked for. */
export interface ReadableNode {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly nodeType: string;
  readonly createdBy: string;
  readonly updatedBy: string;
  readonly ownerId: string | null;
  /**
   * A top-level property; undefined when it is absent.
   *
   * @param lengthMax a property whose JSON is longer, in characters, need not be decoded; absent: no bound
   */
  property(name: string, lengthMax?: number): JsonValue | undefined | typeof tooLong;
  /** Whether a scan asks about the row in place: it reads nothing else, and does little work for each row. */
  readonly isInPlace?: true;
  /** The relations between nodes; absent: a condition that asks for relations does not hold. */
  readonly relations?: Relations;
  /** Counts the work of decisions; absent: nothing counts it, though it is bounded. */
  readonly work?: DecisionWork;
}

/**
 * The nodes of one workspace that a principal may read, in a form that a scan can use: it leaves out what is not in the
 * scope before it counts, orders or limits anything.
 */
export interface ReadScope {
  /** Everything is readable: nothing is checked. */
  readonly isAll: boolean;
  /** Nothing is readable: nothing is scanned. */
  readonly isNone: boolean;
  /** Only nodes of these types; absent: of all. */
  readonly nodeTypes?: ReadonlySet<string>;
  /** Only nodes at or below these paths; absent: all. */
  readonly tops?: readonly string[];
  /**
   * The remaining condition; absent: none. Undefined for a row in place: what is there does not tell, and the node has to
   * be asked about again.
   */
  readonly allows?: (node: ReadableNode) => boolean | undefined;
  /**
   * As {@link Policy.fields}, for nodes of the scope; absent: all properties of all of them are shown. Undefined as for
   * {@link allows}.
   */
  readonly fields?: (node: ReadableNode) => FieldFilter | undefined;
  /** Whether a property may be hidden in some nodes of the scope; absent: none is. */
  readonly hides?: (property: string) => boolean;
}

/** The scope of a principal that may read everything. */
export const wholeScope: ReadScope = Object.freeze({ isAll: true, isNone: false });

/** The scope of a principal that may read nothing. */
export const emptyScope: ReadScope = Object.freeze({ isAll: false, isNone: true });

/** Whether a node is in a scope. @returns undefined where a row in place does not tell */
export function isInScope(scope: ReadScope, node: ReadableNode): boolean | undefined {
  if (scope.isAll) return true;
  if (scope.isNone) return false;
  if (scope.nodeTypes !== undefined && !scope.nodeTypes.has(node.nodeType)) return false;
  if (scope.tops !== undefined && !scope.tops.some((top) => isAtOrBelow(node.path, top))) return false;
  return scope.allows === undefined || scope.allows(node);
}

/** Whether a path is another one or below it. */
export function isAtOrBelow(path: string, top: string): boolean {
  return top === '/' || path === top || (path.startsWith(top) && path.charCodeAt(top.length) === SLASH);
}

const unrestricted: Policy = Object.freeze({
  unrestricted: true,
  administers: true,
  locks: true,
  needs: () => noNeeds,
  allows: () => true,
  mayAllow: () => true,
  fields: () => allFields,
  readScope: () => wholeScope,
});

/** Deny by default: a caller without a grant has no access. */
const denied: Policy = Object.freeze({
  unrestricted: false,
  administers: false,
  locks: false,
  needs: () => noNeeds,
  allows: () => false,
  mayAllow: () => false,
  fields: () => noFields,
  readScope: () => emptyScope,
});

/**
 * The policy of a principal whose permissions do not depend on a repository. Permissions of roles are in the content of
 * the repository, so the actors of its branches find those themselves.
 *
 * @param tenant the tenant that owns the repository; principals of other tenants get nothing
 */
export function policyFor(principal: Principal, tenant: string): Policy {
  if (principal.tenant !== tenant) return denied;
  switch (principal.kind) {
    case 'system':
    case 'admin':
      return unrestricted;
    case 'identity':
    case 'impersonating':
    case 'anonymous':
      return denied;
  }
}

/** A node, and how the caller named it. */
type NamedSubject = readonly [subject: Subject, named?: Parameters<typeof nodeNotFound>[0]];

/**
 * Throws when the policy does not permit an operation. A node that may not be read gives the same error as a missing
 * one; a write to a readable node is refused as forbidden.
 *
 * @param named the node as the caller named it, for the error; default: by its path
 * @throws {ServiceError} `NODE_NOT_FOUND`, `PERMISSION_DENIED`
 * @see docs/interface/accounts.md#access-to-content
 */
export function authorize(
  policy: Policy,
  operation: Operation,
  subject: Subject,
  named: Parameters<typeof nodeNotFound>[0] = subject,
): void {
  if (policy.unrestricted) return;
  if (operation !== 'create' && !policy.allows('read', subject)) throw nodeNotFound(named);
  if (!policy.allows(operation, subject)) {
    throw new ServiceError(
      'PERMISSION_DENIED',
      `Permission denied: cannot ${operation} node ${subject.path}`,
    );
  }
}

/**
 * Throws when the policy does not permit an operation on a node below the one that the caller named. The error does not
 * tell whether that node may be read, nor where it is.
 *
 * @param top path of the named node, on which the operation is permitted; for `create` that of its new place
 * @throws {ServiceError} `PERMISSION_DENIED`
 */
export function authorizeBelow(policy: Policy, operation: Operation, subject: Subject, top: string): void {
  if (policy.unrestricted) return;
  const isSeen = operation === 'create' || policy.allows('read', subject);
  if (isSeen && policy.allows(operation, subject)) return;
  throw new ServiceError(
    'PERMISSION_DENIED',
    `Permission denied: cannot ${operation} every node below ${top}`,
  );
}

/**
 * Throws when a write sets properties that the caller may not set. Of a node that exists these are also the properties
 * that the caller may not read.
 *
 * @param changed names of the properties that the caller changes
 * @throws {ServiceError} `PERMISSION_DENIED`
 * @see docs/interface/permissions.md#fields
 */
export function authorizeFields(
  policy: Policy,
  operation: SettingOperation,
  subject: Subject,
  changed: Iterable<string>,
): void {
  if (policy.unrestricted) return;
  const filters = [policy.fields(operation, subject)];
  if (operation !== 'create') filters.push(policy.fields('read', subject));
  if (filters.every(({ isAll }) => isAll)) return;
  for (const name of changed) {
    if (filters.every((filter) => filter.has(name))) continue;
    throw new ServiceError(
      'PERMISSION_DENIED',
      `Permission denied: cannot ${operation} property '${name}' of node ${subject.path}`,
    );
  }
}

/**
 * Throws when the policy does not permit to relate two nodes, or to remove a relation between them. To relate them the
 * caller must be able to read the target.
 *
 * @throws {ServiceError} `NODE_NOT_FOUND`, `PERMISSION_DENIED`
 * @see docs/interface/permissions.md#operations
 */
export function authorizeRelation(
  policy: Policy,
  operation: 'relate' | 'unrelate',
  [source, named]: NamedSubject,
  [target, namedTarget]: NamedSubject,
): void {
  authorize(policy, operation, source, named);
  if (operation === 'relate') authorize(policy, 'read', target, namedTarget);
}

/**
 * Throws for a caller without a login, for reads that have no permissions per node.
 *
 * @throws {ServiceError} `UNAUTHORIZED`
 */
export function requireLogin(principal: Principal): void {
  if (principal.kind === 'anonymous') throw new ServiceError('UNAUTHORIZED');
}

/**
 * Throws for a caller who may not administer the repository.
 *
 * @throws {ServiceError} `UNAUTHORIZED` without a login, `FORBIDDEN` otherwise
 */
export function requireAdministrator(policy: Policy, principal: Principal): void {
  if (policy.administers) return;
  if (principal.kind === 'anonymous') throw new ServiceError('UNAUTHORIZED');
  throw new ServiceError('FORBIDDEN', 'Only an administrator of the tenant may do this');
}

/**
 * Throws for a caller who may not use the locks and the inventory of a branch.
 *
 * @throws {ServiceError} `UNAUTHORIZED` without a login, `FORBIDDEN` otherwise
 */
export function requireLocks(policy: Policy, principal: Principal): void {
  if (policy.locks) return;
  if (principal.kind === 'anonymous') throw new ServiceError('UNAUTHORIZED');
  throw new ServiceError('FORBIDDEN', 'The caller may not use locks');
}
