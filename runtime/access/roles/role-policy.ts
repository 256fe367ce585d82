import { decidingTypes } from '#runtime/content/built-in/deciding-nodes.ts';
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
import { type BoundRule, boundRules } from './bound-rule.ts';
import type { Grants } from './grants.ts';
import type { Permission } from './permission.ts';
import { readScopeOf } from './read-scope.ts';
import { RuleList } from './rule-list.ts';

/** Operations that write a node. */
const writing: ReadonlySet<Operation> = new Set(['create', 'update', 'delete', 'translate']);

/** Workspaces whose rules are kept. Names of workspaces may come from stored references. */
const WORKSPACES_MAX = 64;

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

  /** @param branch name of the branch that is read or written */
  constructor(grants: Grants, branch: string, capabilities: Capabilities) {
    this.unrestricted = grants.isBypass;
    this.administers = capabilities.administers;
    this.locks = capabilities.locks;
    this.#grants = grants;
    this.#branch = branch;
    this.#permissions = grants.permissions.filter((permission) => this.#isOfBranch(permission));
  }

  needs(operation: Operation, workspace: string): Needs {
    return this.unrestricted ? noNeeds : this.#list(operation, workspace).needs;
  }

  allows(operation: Operation, { node, nodeType, path, workspace }: Subject): boolean {
    return this.unrestricted || this.#list(operation, workspace).holds(nodeType, path, node) === true;
  }

  fields(operation: 'read' | SettingOperation, { node, nodeType, path, workspace }: Subject): FieldFilter {
    if (this.unrestricted) return allFields;
    return this.#list(operation, workspace).fields(nodeType, path, node) ?? noFields;
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
      const { addedIn, caller } = this.#grants;
      const added = addedIn(workspace).filter((permission) => this.#isOfBranch(permission));
      const bound = boundRules([...this.#permissions, ...added], { caller, workspace });
      rules = { bound, byOperation: new Map(), scope: undefined };
      if (this.#workspaces.size >= WORKSPACES_MAX) this.#workspaces.clear();
      this.#workspaces.set(workspace, rules);
    }
    return rules;
  }

  #isOfBranch({ branches }: Permission): boolean {
    return branches.every((glob) => glob.matches(this.#branch));
  }
}
