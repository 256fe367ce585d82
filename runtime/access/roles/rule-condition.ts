import type { DecisionWork } from '../decision-work.ts';
import type { Needs, ReadableNode } from '../policy.ts';
import type { RuleCaller } from './rule-caller.ts';

/** What a condition is bound to: everything that is the same for all nodes it is asked about. */
export interface RuleScope {
  readonly caller: RuleCaller;
  /** The workspace of the nodes. */
  readonly workspace: string;
}

/** A condition on a node, for one caller in one workspace. */
export interface NodeCondition {
  /** What it looks at of a node, besides path, name and type. The id is a column. */
  readonly needs: Needs;
  /** If it holds for a node, the path of the node is one of these, or below one; absent: nothing is known. */
  readonly tops?: readonly string[];
  /**
   * Whether it holds. An error in the condition means that it does not. Undefined for a row in place, which does not tell,
   * see {@link ReadableNode.isInPlace}.
   *
   * @param work of the decision, from which it takes
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
   */
  holds(node: ReadableNode, work: DecisionWork): boolean | undefined;
}

/** A condition for one caller in one workspace: decided for all nodes, or to be asked for each. */
export type BoundCondition = boolean | NodeCondition;

/** A compiled condition of a permission. It is compiled once and bound for each caller. */
export interface RuleCondition {
  /** As it was written. */
  readonly text: string;
  /** Whether it may look at the workspace of a node. If not, it is bound once for all workspaces. */
  readonly readsWorkspace: boolean;
  /** Whether it may ask for relations. */
  readonly readsRelations: boolean;
  /** It may take some milliseconds. */
  bind(scope: RuleScope): BoundCondition;
}

/**
 * Compiles the text of a condition.
 *
 * @returns what is wrong with the text where it is not a condition
 */
export type CompileCondition = (text: string) => RuleCondition | { readonly error: string };
