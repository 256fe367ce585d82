import { allFields, type FieldFilter, noFields } from '../field-filter.ts';
import { type Needs, noNeeds, type ReadableNode } from '../policy.ts';
import { type BoundRule, holdsFor, isUniversal } from './bound-rule.ts';
import { settableOf } from './settable-fields.ts';

/** The rules for nodes of one type. */
interface RulesOfType {
  /** Whether one of them holds for every node. */
  readonly isUniversal: boolean;
  /** Those to be asked whether one holds, the cheapest first. */
  readonly cheapestFirst: readonly BoundRule[];
  /** Those of which the first that holds decides about properties; undefined where all properties are shown. */
  readonly deciding: readonly BoundRule[] | undefined;
}

/** Types whose rules are kept. */
const TYPES_MAX = 256;

/**
 * The rules of a workspace for one operation. The operation is permitted on a node if any rule holds for it; about its
 * properties the first rule decides that holds.
 *
 * Types are told apart once: for a node only rules are looked at that its type can have.
 */
export class RuleList {
  /** The most specific one first. */
  readonly rules: readonly BoundRule[];
  /** What of a node decides, besides path and type. */
  readonly needs: Needs;
  /** Whether a rule holds for every node, whatever its type. */
  readonly isUniversal: boolean;
  /** Whether a rule does not show all properties. */
  readonly hasFields: boolean;
  readonly #named: ReadonlySet<string>;
  readonly #byType = new Map<string, RulesOfType>();

  /**
   * @param rules the most specific one first
   * @param named types that a rule has to name to hold for a node of them, see `decidingTypes`
   */
  constructor(rules: readonly BoundRule[], named: ReadonlySet<string> = new Set()) {
    this.rules = rules;
    this.#named = named;
    this.isUniversal =
      named.size === 0 && rules.some((rule) => rule.nodeTypes === undefined && isUniversal(rule));
    this.hasFields = rules.some(({ fields }) => !fields.isAll);
    this.needs = this.isUniversal && !this.hasFields ? noNeeds : allNeeds(rules);
  }

  /**
   * Whether a rule holds for a node.
   *
   * @param node absent: no condition holds that needs it
   * @returns undefined where a row in place does not tell
   */
  holds(nodeType: string, path: string, node: ReadableNode | undefined): boolean | undefined {
    const rules = this.#ofType(nodeType);
    if (rules.isUniversal) return true;
    let isOpen = false;
    for (const rule of rules.cheapestFirst) {
      const holds = holdsFor(rule, path, nodeType, node);
      if (holds === true) return true;
      if (holds === undefined) isOpen = true;
    }
    return isOpen ? undefined : false;
  }

  /**
   * The properties of a node that the first rule that holds for it has; none where none holds.
   *
   * @returns undefined where a row in place does not tell
   */
  fields(nodeType: string, path: string, node: ReadableNode | undefined): FieldFilter | undefined {
    const { deciding } = this.#ofType(nodeType);
    if (deciding === undefined) {
      const holds = this.holds(nodeType, path, node);
      return holds === undefined ? undefined : holds ? allFields : noFields;
    }
    for (const rule of deciding) {
      const holds = holdsFor(rule, path, nodeType, node);
      if (holds === undefined) return undefined;
      if (holds) return rule.fields;
    }
    return noFields;
  }

  #rulesFor(nodeType: string): readonly BoundRule[] {
    if (!this.#named.has(nodeType))
      return this.rules.filter(({ nodeTypes }) => nodeTypes?.has(nodeType) !== false);
    return this.rules
      .filter(({ nodeTypes }) => nodeTypes?.has(nodeType) === true)
      .map((rule) => ({ ...rule, fields: settableOf(nodeType, rule.fields) }));
  }

  #ofType(nodeType: string): RulesOfType {
    let found = this.#byType.get(nodeType);
    if (found === undefined) {
      found = rulesOfType(this.#rulesFor(nodeType));
      if (this.#byType.size >= TYPES_MAX) this.#byType.clear();
      this.#byType.set(nodeType, found);
    }
    return found;
  }
}

/** @param rules the most specific one first */
function rulesOfType(rules: readonly BoundRule[]): RulesOfType {
  const last = rules.findIndex(isUniversal);
  // Behind a rule that always holds no other one is looked at.
  const reached = last === -1 ? rules : rules.slice(0, last + 1);
  return {
    isUniversal: last !== -1,
    cheapestFirst: last === -1 ? [...rules].sort((a, b) => cost(a) - cost(b)) : [],
    deciding: reached.some(({ fields }) => !fields.isAll) ? reached : undefined,
  };
}

/** An estimate, to compare rules by. */
function cost({ condition, path }: BoundRule): number {
  const { columns, properties, relations } = condition?.needs ?? noNeeds;
  if (relations) return 4;
  if (properties) return 3;
  if (columns || condition !== undefined) return 2;
  return path.isSubtree ? 0 : 1;
}

function allNeeds(rules: readonly BoundRule[]): Needs {
  const needs = rules.map(({ condition }) => condition?.needs ?? noNeeds);
  return {
    columns: needs.some(({ columns }) => columns),
    properties: needs.some(({ properties }) => properties),
    relations: needs.some(({ relations }) => relations),
  };
}
