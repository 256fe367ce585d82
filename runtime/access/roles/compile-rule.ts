import { type BoundCondition, compileCondition } from '#runtime/rel/condition.ts';
import type { ConditionNeeds } from '#runtime/rel/evaluation/needs.ts';
import { WORK_MAX } from '#runtime/rel/evaluation/evaluation.ts';
import type { ConditionNode, tooLong } from '#runtime/rel/ports.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { Needs, ReadableNode } from '../policy.ts';
import type { CompileCondition, NodeCondition } from './rule-condition.ts';

/**
 * Work, in units of conditions, that most of them need for a node: some ten microseconds. In a scan a condition does no more
 * for a row in place.
 */
const QUICK_WORK = 4_000;

/** Estimated nanoseconds of a unit. */
const UNIT_WORK = 5;

/** Columns that every question to a policy comes with. */
const givenColumns: ReadonlySet<string> = new Set(['name', 'node_type', 'path', 'workspace']);

/**
 * Compiles the condition of a permission, which is a text of the condition language.
 *
 * @see docs/interface/condition-language.md
 */
export const compileRule: CompileCondition = (text) => {
  const condition = compileCondition(text);
  if (condition.error !== undefined) {
    const { column, line, message } = condition.error;
    return { error: `${message} (line ${line}, column ${column})` };
  }
  return {
    text,
    bind: ({ caller, workspace }) => {
      const bound = condition.bind(caller, workspace);
      return bound.decided ?? new BoundRule(bound, workspace);
    },
  };
};

class BoundRule implements NodeCondition {
  readonly needs: Needs;
  readonly tops?: readonly string[];
  readonly #bound: BoundCondition;
  readonly #node: NodeOfWorkspace;

  constructor(bound: BoundCondition, workspace: string) {
    const { tops } = bound.narrowing;
    this.needs = policyNeeds(bound.needs);
    if (tops !== undefined) this.tops = tops;
    this.#bound = bound;
    this.#node = new NodeOfWorkspace(workspace);
  }

  holds(node: ReadableNode): boolean | undefined {
    this.#node.node = node;
    if (node.isInPlace === true)
      return this.needs.relations ? undefined : this.#bound.holdsWithin(QUICK_WORK, this.#node);
    const { means } = node;
    if (means === undefined) return this.#bound.holds(this.#node);
    if (!this.needs.relations) {
      means.spend(QUICK_WORK * UNIT_WORK);
      const quick = this.#bound.holdsWithin(QUICK_WORK, this.#node);
      if (quick !== undefined) return quick;
    }
    means.spend(WORK_MAX * UNIT_WORK);
    return this.#bound.holds(this.#node, means.relations);
  }
}

function policyNeeds({ columns, readsProperties, relations }: ConditionNeeds): Needs {
  return {
    columns: columns.some((column) => !givenColumns.has(column)),
    properties: readsProperties,
    relations,
  };
}

/** A node with its workspace. One serves all nodes, one after the other: a condition keeps none. */
class NodeOfWorkspace implements ConditionNode {
  readonly workspace: string;
  node!: ReadableNode;

  constructor(workspace: string) {
    this.workspace = workspace;
  }

  get id(): string {
    return this.node.id;
  }

  get name(): string {
    return this.node.name;
  }

  get path(): string {
    return this.node.path;
  }

  get nodeType(): string {
    return this.node.nodeType;
  }

  get createdBy(): string {
    return this.node.createdBy;
  }

  get updatedBy(): string {
    return this.node.updatedBy;
  }

  get ownerId(): string | null {
    return this.node.ownerId;
  }

  property(name: string, lengthMax: number): JsonValue | undefined | typeof tooLong {
    return this.node.property(name, lengthMax);
  }
}
