import type { ErrorCode } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

const repositoryShape = /^[a-z0-9][a-z0-9_-]{0,62}$/;
const workspaceShape = /^[A-Za-z0-9][A-Za-z0-9_:-]{0,62}$/;
const branchShape = /^[A-Za-z0-9._/-]{1,128}$/;

/**
 * Segments below `/api` and `/api/management` that are routes themselves, in the place of a repository name. A
 * repository with such a name could not be reached at `/api/{repo}/{branch}/locks/…`, so it cannot be created.
 */
export const reservedRepositoryNames: ReadonlySet<string> = new Set([
  'admin',
  'audit',
  'conversations',
  'files',
  'flows',
  'functions',
  'history',
  'jobs',
  'management',
  'mcp',
  'mcp-connections',
  // `/auth/oidc/{provider}` would hide `/auth/{repo}/me` and its siblings.
  'oidc',
  'packages',
  // `/api/management/registry/tenants/…` would hide the definitions of its branch `tenants`.
  'registry',
  'repos',
  'repositories',
  'repository',
  'search',
  'sql',
  'svc',
  'tenants',
  'triggers',
  'uploads',
  'webhooks',
  'workspaces',
]);

/** Table names of the schema registry in SQL: a workspace with such a name could not be queried. */
const reservedWorkspaceNames: ReadonlySet<string> = new Set([
  'NodeTypes',
  'Archetypes',
  'ElementTypes',
  'Workspaces',
]);

function refuse(code: ErrorCode, kind: string, name: string, rule: string): ServiceError {
  return new ServiceError(code, `'${name.slice(0, 80)}' is not a ${kind} name: ${rule}`, { field: 'name' });
}

/** @returns the name @throws {ServiceError} `VALIDATION_FAILED` */
export function requireTenantName(name: string): string {
  if (repositoryShape.test(name)) return name;
  throw refuse('VALIDATION_FAILED', 'tenant', name, '1 to 63 of a-z, 0-9, _ and -, not starting with _ or -');
}

/** Whether a value read from a file is a valid tenant name. */
export function isTenantName(found: unknown): boolean {
  return typeof found === 'string' && repositoryShape.test(found);
}

/** Whether a value read from a file is a valid repository name, reserved or not. */
export function isRepositoryName(found: unknown): boolean {
  return typeof found === 'string' && repositoryShape.test(found);
}

/** @returns the name @throws {ServiceError} `VALIDATION_FAILED`, also for a reserved name */
export function requireRepositoryName(name: string): string {
  if (!repositoryShape.test(name)) {
    throw refuse(
      'VALIDATION_FAILED',
      'repository',
      name,
      '1 to 63 of a-z, 0-9, _ and -, not starting with _ or -',
    );
  }
  if (reservedRepositoryNames.has(name)) {
    throw refuse(
      'VALIDATION_FAILED',
      'repository',
      name,
      'the name is reserved for a route of the interface',
    );
  }
  return name;
}

/** @returns the name @throws {ServiceError} `VALIDATION_FAILED`, also for a reserved name */
export function requireWorkspaceName(name: string): string {
  if (!workspaceShape.test(name)) {
    throw refuse(
      'VALIDATION_FAILED',
      'workspace',
      name,
      '1 to 63 of letters, digits, _, - and :, starting with a letter or digit',
    );
  }
  if (reservedWorkspaceNames.has(name)) {
    throw refuse('VALIDATION_FAILED', 'workspace', name, 'the name is a table of the schema registry');
  }
  return name;
}

/**
 * Whether a text is a valid workspace name. Keys of a shard are bytes, so an invalid name must not become part of one.
 */
export function isWorkspaceName(text: string): boolean {
  return workspaceShape.test(text);
}

/**
 * Checks the name of a branch. Branches and tags share one name space and one pattern. `.` and `..` are refused
 * although they match the pattern: a client resolves them before it sends the request.
 *
 * @returns the name
 * @throws {ServiceError} `INVALID_BRANCH_NAME`
 */
export function requireBranchName(name: string): string {
  if (branchShape.test(name) && name !== '.' && name !== '..') return name;
  throw refuse('INVALID_BRANCH_NAME', 'branch', name, '1 to 128 of letters, digits, ., _, / and -');
}

/** Names that mean something else: `HEAD~1` is a revision, and `__proto__` no key of an object. */
const reservedBranchNames: ReadonlySet<string> = new Set(['head', '__proto__']);

/**
 * Checks the name of a branch or tag that is to be created. Names that older versions permitted stay readable.
 *
 * @returns the name
 * @throws {ServiceError} `INVALID_BRANCH_NAME`, also for a reserved name
 */
export function requireNewBranchName(name: string, kind: 'branch' | 'tag' = 'branch'): string {
  if (!reservedBranchNames.has(name.toLowerCase()))
    return kind === 'tag' ? requireTagName(name) : requireBranchName(name);
  throw refuse('INVALID_BRANCH_NAME', kind, name, 'the name is reserved');
}

/** As {@link requireBranchName}, for a tag. @throws {ServiceError} `INVALID_BRANCH_NAME` */
export function requireTagName(name: string): string {
  if (branchShape.test(name) && name !== '.' && name !== '..') return name;
  throw refuse('INVALID_BRANCH_NAME', 'tag', name, '1 to 128 of letters, digits, ., _, / and -');
}
