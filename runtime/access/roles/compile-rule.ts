import { type BoundCondition, compileCondition } from '#runtime/rel/condition.ts';
import type { ConditionNeeds } from '#runtime/rel/evaluation/needs.ts';
import { WORK_MAX } from '#runtime/rel/evaluation/evaluation.ts';
import type { ConditionNode, tooLong } from '#runtime/rel/ports.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import type { DecisionWork } from '../decision-work.ts';
import type { Needs, ReadableNode } from '../policy.ts';
import type { CompileCondition, NodeCondition } from './rule-condition.ts';

/** Characters of a condition for which one unit is counted, besides what its evaluation counts. */
const TEXT_PER_UNIT = 8;

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
    readsWorkspace: condition.needs.columns.includes('workspace'),
    readsRelations: condition.needs.relations,
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
  readonly #textWork: number;

  constructor(bound: BoundCondition, workspace: string) {
    const { tops } = bound.narrowing;
    this.needs = policyNeeds(bound.needs);
    if (tops !== undefined) this.tops = tops;
    this.#bound = bound;
    this.#node = new NodeOfWorkspace(workspace);
    this.#textWork = Math.ceil(bound.text.length / TEXT_PER_UNIT);
  }

  holds(node: ReadableNode, work: DecisionWork): boolean | undefined {
    const isInPlace = node.isInPlace === true;
    const { relations } = this.needs;
    if ((isInPlace && relations) || !work.take(this.#textWork)) return undefined;
    this.#node.node = node;
    const asked = relations ? node.relations : undefined;
    const holds = this.#bound.holdsWithin(WORK_MAX, this.#node, asked, work);
    if (holds !== undefined || isInPlace) return holds;
    // One that takes more than a condition may does not hold. Where the decision has no more work, it is not known.
    if (work.isLacking) work.refuse();
    return false;
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
