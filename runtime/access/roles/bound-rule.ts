import { assert } from '#runtime/base/assert.ts';
import { pathName } from '#runtime/content/path.ts';
import type { DecisionWork } from '../decision-work.ts';
import type { FieldFilter } from '../field-filter.ts';
import { isAtOrBelow, type Operation, type ReadableNode } from '../policy.ts';
import type { PathGlob } from './path-glob.ts';
import type { Permission } from './permission.ts';
import type { NodeCondition, RuleScope } from './rule-condition.ts';

/** A permission for one caller in one workspace. Its condition does not depend on them any more. */
export interface BoundRule {
  readonly path: PathGlob;
  readonly operations: ReadonlySet<Operation>;
  /** Undefined: all. */
  readonly nodeTypes: ReadonlySet<string> | undefined;
  readonly fields: FieldFilter;
  /** Undefined: it holds for every node. */
  readonly condition: NodeCondition | undefined;
  /** Every node for which it holds is at one of these paths, or below one. */
  readonly tops: readonly string[];
}

/** The order in which rules decide about properties: the most specific one first. */
export function bySpecificity(a: BoundRule, b: BoundRule): number {
  return b.path.specificity - a.path.specificity;
}

/**
 * Binds a permission to a caller and a workspace. It may take some milliseconds, see `RuleCondition`.
 *
 * @returns undefined for one that can hold for no node
 */
export function boundRule(permission: Permission, scope: RuleScope): BoundRule | undefined {
  const { fields, nodeTypes, operations, path } = permission;
  const bound = permission.condition?.bind(scope) ?? true;
  if (bound === false) return undefined;
  const condition = bound === true ? undefined : bound;
  const tops = commonTops(path.top, condition?.tops);
  if (tops.length === 0) return undefined;
  return { path, operations, nodeTypes, fields, condition, tops };
}

/** Where both a path and some others lead. */
function commonTops(top: string, others: readonly string[] | undefined): readonly string[] {
  if (others === undefined || others.some((other) => isAtOrBelow(top, other))) return [top];
  return others.filter((other) => isAtOrBelow(other, top));
}

/** Work of asking a rule, in units, besides that of its pattern and its condition. */
const RULE_WORK = 4;

/**
 * Whether a rule holds for a node of a type that it has.
 *
 * @param node absent: no condition holds that looks at more than path and type
 * @param work of the decision, from which it takes
 * @returns undefined where a row in place does not tell
 * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
 */
export function holdsFor(
  { condition, path }: BoundRule,
  at: string,
  nodeType: string,
  node: ReadableNode | undefined,
  work: DecisionWork,
): boolean | undefined {
  if (!work.take(RULE_WORK)) return undefined;
  if (!path.matches(at, work)) return false;
  if (condition === undefined) return true;
  if (node !== undefined) return condition.holds(node, work);
  const { columns, properties, relations } = condition.needs;
  return !columns && !properties && !relations && condition.holds(new PlaceOfNode(at, nodeType), work);
}

/** Whether a rule holds for every node of its types. */
export function isUniversal({ condition, path }: BoundRule): boolean {
  return condition === undefined && path.isEverything;
}

/** A node of which path and type are known, for conditions that look at nothing else. */
class PlaceOfNode implements ReadableNode {
  readonly path: string;
  readonly nodeType: string;

  constructor(path: string, nodeType: string) {
    this.path = path;
    this.nodeType = nodeType;
  }

  get name(): string {
    return pathName(this.path);
  }

  get id(): string {
    return notNeeded('id');
  }

  get createdBy(): string {
    return notNeeded('createdBy');
  }

  get updatedBy(): string {
    return notNeeded('updatedBy');
  }

  get ownerId(): string {
    return notNeeded('ownerId');
  }

  property(name: string): never {
    return notNeeded(name);
  }
}

function notNeeded(part: string): never {
  assert(false, `the condition did not say that it needs '${part}' of a node`);
}
