import { DecisionWork } from '../decision-work.ts';
import { allFields, type FieldFilter, noFields } from '../field-filter.ts';
import { type Needs, noNeeds, type ReadableNode } from '../policy.ts';
import { type BoundRule, holdsFor, isUniversal } from './bound-rule.ts';
import { RulesByPath } from './rules-by-path.ts';
import { settableOf } from './settable-fields.ts';

/** The rules for nodes of one type. */
interface RulesOfType {
  /** Whether one of them holds for every node. */
  readonly isUniversal: boolean;
  /** Those to be asked whether one holds, the cheapest first. */
  readonly cheapestFirst: RulesByPath;
  /** Those of which the first that holds decides about properties; undefined where all properties are shown. */
  readonly deciding: RulesByPath | undefined;
}

/** A node about which a list is asked. */
interface AskedNode {
  readonly nodeType: string;
  readonly path: string;
  /** Absent: no condition holds that needs it. */
  readonly node?: ReadableNode | undefined;
  /** Counts the work; absent: nothing counts it. */
  readonly work?: DecisionWork | undefined;
}

/** The work of questions that nothing counts. Decisions do not nest. */
const uncounted = new DecisionWork();

/** Types whose rules are kept. */
const TYPES_MAX = 256;

/** Work of telling the rules of a type apart, in units for each rule. */
const TELLING_WORK = 8;

/**
 * The rules of a workspace for one operation. The operation is permitted on a node if any rule holds for it; about its
 * properties the first rule decides that holds.
 *
 * Types and paths are told apart once: for a node only rules are looked at that its type and its path can have. All rules
 * that are asked about a node share the work of one decision, see `DecisionWork`.
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
  /** Types that some rule names, or has to name. All others have the same rules. */
  readonly #toldApart: ReadonlySet<string>;
  readonly #byType = new Map<string, RulesOfType>();

  /**
   * @param rules the most specific one first
   * @param named types that a rule has to name to hold for a node of them, see `decidingTypes`
   */
  constructor(rules: readonly BoundRule[], named: ReadonlySet<string> = new Set()) {
    this.rules = rules;
    this.#named = named;
    this.#toldApart = new Set([...named, ...rules.flatMap(({ nodeTypes }) => [...(nodeTypes ?? [])])]);
    this.isUniversal =
      named.size === 0 && rules.some((rule) => rule.nodeTypes === undefined && isUniversal(rule));
    this.hasFields = rules.some(({ fields }) => !fields.isAll);
    this.needs = this.isUniversal && !this.hasFields ? noNeeds : allNeeds(rules);
  }

  /**
   * Whether a rule holds for a node.
   *
   * @returns undefined where a row in place does not tell
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
   */
  holds(asked: AskedNode): boolean | undefined {
    const work = begun(asked);
    try {
      return this.#holds(asked, work);
    } finally {
      work.end();
    }
  }

  /**
   * The properties of a node that the first rule that holds for it has; none where none holds.
   *
   * @returns undefined where a row in place does not tell
   * @throws {ServiceError} `REQUEST_TOO_EXPENSIVE`
   */
  fields(asked: AskedNode): FieldFilter | undefined {
    const work = begun(asked);
    try {
      return this.#fields(asked, work);
    } finally {
      work.end();
    }
  }

  #holds({ node, nodeType, path }: AskedNode, work: DecisionWork): boolean | undefined {
    const rules = this.#ofType(nodeType, work);
    if (rules.isUniversal) return true;
    let isOpen = false;
    const asked = rules.cheapestFirst.at(path, work);
    work.keepReads(asked.length);
    for (const rule of asked) {
      const holds = holdsFor(rule, path, nodeType, node, work);
      if (holds === true) return true;
      if (holds === undefined) isOpen = true;
      if (!work.take(0)) return undefined;
    }
    return isOpen ? undefined : false;
  }

  #fields(asked: AskedNode, work: DecisionWork): FieldFilter | undefined {
    const { node, nodeType, path } = asked;
    const { deciding } = this.#ofType(nodeType, work);
    if (deciding === undefined) {
      const holds = this.#holds(asked, work);
      return holds === undefined ? undefined : holds ? allFields : noFields;
    }
    const rules = deciding.at(path, work);
    work.keepReads(rules.length);
    for (const rule of rules) {
      const holds = holdsFor(rule, path, nodeType, node, work);
      if (holds === undefined) return undefined;
      if (holds) return rule.fields;
      if (!work.take(0)) return undefined;
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

  #ofType(nodeType: string, work: DecisionWork): RulesOfType {
    const told = this.#toldApart.has(nodeType) ? nodeType : '';
    let found = this.#byType.get(told);
    if (found === undefined) {
      work.left -= this.rules.length * TELLING_WORK;
      found = rulesOfType(this.#rulesFor(told));
      if (this.#byType.size >= TYPES_MAX) this.#byType.clear();
      this.#byType.set(told, found);
    }
    return found;
  }
}

/** Begins a decision, with one allowance of work. */
function begun({ node, work = node?.work ?? uncounted }: AskedNode): DecisionWork {
  work.begin(node?.isInPlace === true);
  return work;
}

/** @param rules the most specific one first */
function rulesOfType(rules: readonly BoundRule[]): RulesOfType {
  const last = rules.findIndex(isUniversal);
  // Behind a rule that always holds no other one is looked at.
  const reached = last === -1 ? rules : rules.slice(0, last + 1);
  return {
    isUniversal: last !== -1,
    cheapestFirst: new RulesByPath(last === -1 ? [...rules].sort((a, b) => cost(a) - cost(b)) : []),
    deciding: reached.some(({ fields }) => !fields.isAll) ? new RulesByPath(reached) : undefined,
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
