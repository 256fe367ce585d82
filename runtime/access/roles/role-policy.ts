import { decidingTypes } from '#runtime/content/built-in/deciding-nodes.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { allFields, type FieldFilter, noFields } from '../field-filter.ts';
import {
  type Needs,
  noNeeds,
  type Operation,
  type Policy,
  type ReadScope,
  type SettingOperation,
  type Subject,
  wholeScope,
} from '../policy.ts';
import { type BoundRule, boundRule, bySpecificity } from './bound-rule.ts';
import type { Grants } from './grants.ts';
import type { Permission } from './permission.ts';
import { readScopeOf } from './read-scope.ts';
import type { RuleCaller } from './rule-caller.ts';
import { RuleList } from './rule-list.ts';

/** Operations that write a node. */
const writing: ReadonlySet<Operation> = new Set(['create', 'update', 'delete', 'translate']);

/** Workspaces whose rules are kept. Names of workspaces may come from stored references. */
const WORKSPACES_MAX = 64;

/** Characters of conditions that are bound in one go: some milliseconds. */
const BOUND_AT_ONCE_MAX = 8_192;

/** Most names of types and properties in all permissions of a caller. */
const NAMES_OF_CALLER_MAX = 20_000;

/** What a caller may do besides operations on content. */
export interface Capabilities {
  readonly administers: boolean;
  readonly locks: boolean;
}

/** The rules of one workspace. */
interface WorkspaceRules {
  readonly bound: readonly BoundRule[];
  readonly byOperation: Map<Operation, RuleList>;
  scope: ReadScope | undefined;
}

/**
 * The policy of a caller with roles, in one repository and branch. It is compiled once and asked many times: permissions
 * are bound to the caller and to each workspace when the workspace is first asked about.
 *
 * It does not change: after a write to users, roles, groups or settings another one is compiled.
 *
 * @see docs/interface/permissions.md
 */
export class RolePolicy implements Policy {
  readonly unrestricted: boolean;
  readonly administers: boolean;
  readonly locks: boolean;
  readonly #grants: Grants;
  readonly #branch: string;
  /** The permissions of the branch. */
  readonly #permissions: readonly Permission[];
  readonly #workspaces = new Map<string, WorkspaceRules>();
  /** The rules of permissions that are the same in all workspaces, bound so far. */
  readonly #anywhere = new Map<Permission, BoundRule | undefined>();

  /**
   * @param branch name of the branch that is read or written
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` for permissions that are too large together
   */
  constructor(grants: Grants, branch: string, capabilities: Capabilities) {
    this.unrestricted = grants.isBypass;
    this.administers = capabilities.administers;
    this.locks = capabilities.locks;
    this.#grants = grants;
    this.#branch = branch;
    this.#permissions = grants.permissions.filter((permission) => this.#isOfBranch(permission));
    if (!this.unrestricted) requireNames(this.#permissions);
  }

  get caller(): RuleCaller {
    return this.#grants.caller;
  }

  /** Whether it takes more than a few milliseconds to bind its conditions: then {@link prepare} has to come first. */
  get isLarge(): boolean {
    if (this.unrestricted) return false;
    return lengthOfConditions(this.#unbound(this.#grants.everywhere())) > BOUND_AT_ONCE_MAX;
  }

  /** Binds the conditions that are the same in all workspaces. Yields after each of them. */
  *prepare(): Generator<undefined, void> {
    for (const permission of this.#unbound(this.#grants.everywhere())) {
      if (permission.condition?.readsWorkspace !== true) this.#boundAnywhere(permission);
      yield undefined;
    }
  }

  needs(operation: Operation, workspace: string): Needs {
    return this.unrestricted ? noNeeds : this.#list(operation, workspace).needs;
  }

  allows(operation: Operation, subject: Subject): boolean {
    return this.unrestricted || this.#list(operation, subject.workspace).holds(subject) === true;
  }

  mayAllow(operation: Operation, workspace: string): boolean {
    return this.unrestricted || this.#list(operation, workspace).rules.length > 0;
  }

  fields(operation: 'read' | SettingOperation, subject: Subject): FieldFilter {
    if (this.unrestricted) return allFields;
    return this.#list(operation, subject.workspace).fields(subject) ?? noFields;
  }

  readScope(workspace: string): ReadScope {
    if (this.unrestricted) return wholeScope;
    const rules = this.#rules(workspace);
    rules.scope ??= readScopeOf(this.#list('read', workspace));
    return rules.scope;
  }

  #list(operation: Operation, workspace: string): RuleList {
    const { bound, byOperation } = this.#rules(workspace);
    let list = byOperation.get(operation);
    if (list === undefined) {
      const rules = bound.filter(({ operations }) => operations.has(operation));
      list = new RuleList(rules, writing.has(operation) ? decidingTypes(workspace) : undefined);
      byOperation.set(operation, list);
    }
    return list;
  }

  #rules(workspace: string): WorkspaceRules {
    let rules = this.#workspaces.get(workspace);
    if (rules === undefined) {
      const added = this.#grants.addedIn(workspace).filter((permission) => this.#isOfBranch(permission));
      const bound = this.#bound([...this.#permissions, ...added], workspace);
      rules = { bound, byOperation: new Map(), scope: undefined };
      if (this.#workspaces.size >= WORKSPACES_MAX) this.#workspaces.clear();
      this.#workspaces.set(workspace, rules);
    }
    return rules;
  }

  /**
   * The rules of a workspace, the most specific one first; of equally specific ones the first.
   *
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
   */
  #bound(permissions: readonly Permission[], workspace: string): readonly BoundRule[] {
    const here = permissions.filter((permission) => permission.workspace.matches(workspace));
    requireNames(here);
    if (lengthOfConditions(this.#unbound(here)) > BOUND_AT_ONCE_MAX)
      throw tooLarge(`conditions with more than ${BOUND_AT_ONCE_MAX} characters that look at the workspace`);
    const { caller } = this.#grants;
    return here
      .map((permission) =>
        permission.condition?.readsWorkspace === true
          ? boundRule(permission, { caller, workspace })
          : this.#boundAnywhere(permission),
      )
      .filter((rule) => rule !== undefined)
      .sort(bySpecificity);
  }

  #boundAnywhere(permission: Permission): BoundRule | undefined {
    if (!this.#anywhere.has(permission)) {
      const { caller } = this.#grants;
      this.#anywhere.set(permission, boundRule(permission, { caller, workspace: '' }));
    }
    return this.#anywhere.get(permission);
  }

  #unbound(permissions: readonly Permission[]): readonly Permission[] {
    return permissions.filter((permission) => !this.#anywhere.has(permission));
  }

  #isOfBranch({ branches }: Permission): boolean {
    return branches.every((glob) => glob.matches(this.#branch));
  }
}

function lengthOfConditions(permissions: readonly Permission[]): number {
  return permissions.reduce((sum, { condition }) => sum + (condition?.text.length ?? 0), 0);
}

/** @throws {ServiceError} `REQUEST_TOO_EXPENSIVE` */
function requireNames(permissions: readonly Permission[]): void {
  let names = 0;
  for (const { fields, nodeTypes } of permissions) names += fields.names.size + (nodeTypes?.size ?? 0);
  if (names > NAMES_OF_CALLER_MAX)
    throw tooLarge(`more than ${NAMES_OF_CALLER_MAX} names of types and properties`);
}

function tooLarge(what: string): ServiceError {
  return new ServiceError(
    'REQUEST_TOO_EXPENSIVE',
    `The caller's roles have ${what}; an administrator has to write fewer.`,
  );
}
