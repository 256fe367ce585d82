import { nodeNotFound, ServiceError } from '#runtime/errors/service-error.ts';
import type { Principal } from './principal.ts';

/** What can be done to content. @see docs/interface/accounts.md#access-to-content */
export type Operation = 'create' | 'read' | 'update' | 'delete' | 'translate' | 'relate' | 'unrelate';

/** The node an operation is about. */
export interface Subject {
  readonly workspace: string;
  readonly path: string;
  readonly nodeType: string;
}

/**
 * What a principal may do in one repository and branch. It is asked at one place per operation, by the actor
 * that owns the content, so that every surface gets the same answer.
 */
export interface Policy {
  /** True when every answer is yes, so that scans need not ask per row. */
  readonly unrestricted: boolean;
  /** Whether schema, workspaces and repository settings may be changed. */
  readonly administers: boolean;
  /** Whether locks may be taken and inventory claimed. */
  readonly locks: boolean;
  allows(operation: Operation, subject: Subject): boolean;
}

const unrestricted: Policy = Object.freeze({
  unrestricted: true,
  administers: true,
  locks: true,
  allows: () => true,
});

/** Deny by default: nothing is open to a caller nobody granted anything. */
const denied: Policy = Object.freeze({
  unrestricted: false,
  administers: false,
  locks: false,
  allows: () => false,
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

/** Whether a principal may see nothing of any repository, so that nothing need be looked up to answer it. */
export function isGrantedNothing(principal: Principal): boolean {
  return principal.kind === 'anonymous';
}

/**
 * Refuses what the policy does not allow. A node that may not be read is the same answer as a missing one; a
 * write to a readable node is refused openly.
 *
 * @param named as the caller named the node, for the answer; default: by its path
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
 * Refuses a caller without a login, where what is read is not governed node by node.
 *
 * @throws {ServiceError} `UNAUTHORIZED`
 */
export function requireLogin(principal: Principal): void {
  if (principal.kind === 'anonymous') throw new ServiceError('UNAUTHORIZED');
}

/**
 * Refuses a caller who may not administer the repository.
 *
 * @throws {ServiceError} `UNAUTHORIZED` without a login, `FORBIDDEN` otherwise
 */
export function requireAdministrator(policy: Policy, principal: Principal): void {
  if (policy.administers) return;
  if (principal.kind === 'anonymous') throw new ServiceError('UNAUTHORIZED');
  throw new ServiceError('FORBIDDEN', 'Only an administrator of the tenant may do this');
}

/**
 * Refuses a caller who may not use the locks and the inventory of a branch.
 *
 * @throws {ServiceError} `UNAUTHORIZED` without a login, `FORBIDDEN` otherwise
 */
export function requireLocks(policy: Policy, principal: Principal): void {
  if (policy.locks) return;
  if (principal.kind === 'anonymous') throw new ServiceError('UNAUTHORIZED');
  throw new ServiceError('FORBIDDEN', 'The caller may not use locks');
}
