import { nodeNotFound, ServiceError } from '#runtime/errors/service-error.ts';
import type { Principal } from './principal.ts';

const SLASH = 0x2f;

/** Operations on content. @see docs/interface/accounts.md#access-to-content */
export type Operation = 'create' | 'read' | 'update' | 'delete' | 'translate' | 'relate' | 'unrelate';

/** The node of an operation. */
export interface Subject {
  readonly workspace: string;
  readonly path: string;
  readonly nodeType: string;
}

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
  allows(operation: Operation, subject: Subject): boolean;
  /** The nodes of a workspace that may be read, for scans. It permits exactly what {@link allows} permits. */
  readScope(workspace: string): ReadScope;
}

/** What a residual condition of a policy may look at: columns of a stored node, which are read without decoding it. */
export interface ReadableNode {
  readonly id: string;
  readonly path: string;
  readonly nodeType: string;
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
  /** The remaining condition; absent: none. */
  readonly allows?: (node: ReadableNode) => boolean;
}

/** The scope of a principal that may read everything. */
export const wholeScope: ReadScope = Object.freeze({ isAll: true, isNone: false });

/** The scope of a principal that may read nothing. */
export const emptyScope: ReadScope = Object.freeze({ isAll: false, isNone: true });

/** Whether a node is in a scope. */
export function isInScope(scope: ReadScope, node: ReadableNode): boolean {
  if (scope.isAll) return true;
  if (scope.isNone) return false;
  if (scope.nodeTypes !== undefined && !scope.nodeTypes.has(node.nodeType)) return false;
  if (scope.tops !== undefined && !scope.tops.some((top) => isAtOrBelow(node.path, top))) return false;
  return scope.allows === undefined || scope.allows(node);
}

function isAtOrBelow(path: string, top: string): boolean {
  return top === '/' || path === top || (path.startsWith(top) && path.charCodeAt(top.length) === SLASH);
}

const unrestricted: Policy = Object.freeze({
  unrestricted: true,
  administers: true,
  locks: true,
  allows: () => true,
  readScope: () => wholeScope,
});

/** Deny by default: a caller without a grant has no access. */
const denied: Policy = Object.freeze({
  unrestricted: false,
  administers: false,
  locks: false,
  allows: () => false,
  readScope: () => emptyScope,
});

/**
 * Compiles a principal into its policy.
 *
 * @param tenant the tenant that owns the repository; principals of other tenants get nothing
 */
export function policyFor(principal: Principal, tenant: string): Policy {
  if (principal.tenant !== tenant) return denied;
  switch (principal.kind) {
    case 'system':
    case 'admin':
      return unrestricted;
    case 'anonymous':
      return denied;
  }
}

/** Whether a principal has no access to any repository, so that requests can be answered without a look-up. */
export function isGrantedNothing(principal: Principal): boolean {
  return principal.kind === 'anonymous';
}

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
