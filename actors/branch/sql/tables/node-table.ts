import type { ReadScope } from '#runtime/access/policy.ts';
import type { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { Revision } from '#runtime/content/revision.ts';
import { Moment } from '#runtime/scan/moment.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { Execution } from '#runtime/sql-exec/execution.ts';
import { partsOf } from '#runtime/sql-plan/bind/expression-walk.ts';
import type { BoundCall, BoundExpression, NodesPlan } from '#runtime/sql-plan/bound/bound-statement.ts';
import { Column } from '#runtime/tree/record/record-layout.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { SeesNode } from '#runtime/tree/shown-relations.ts';
import type { BranchTables } from '../branch-tables.ts';
import { localeChain } from '../../reads/localize.ts';
import { NodeAccess } from '../../reads/node-access.ts';
import { seenNodes } from '../../reads/seen-nodes.ts';
import { conjunctsOf } from './known-conditions.ts';
import type { NodeValues } from './node-values.ts';
import { type RowMeans, targetName } from './node-row.ts';
import { parseReferencePlace } from './reference-targets.ts';
import { isReferences, referenceText, RowReader } from './row-reader.ts';
import { TreeOrders } from './tree-orders.ts';

/** A locale in which each node is a row. */
export interface RowLocale {
  readonly locale: string;
  /** The locales whose values are shown, most specific first; empty: those that are stored. */
  readonly chain: readonly string[];
}

/** A target of `REFERENCES` that the caller may see. */
export interface ReferencedNode {
  readonly workspace: string;
  readonly id: string;
}

/** The nodes of a workspace at one moment, as one caller may see them, for one table of a statement. */
export class NodeTable implements RowMeans {
  readonly workspace: string;
  readonly plan: NodesPlan;
  readonly execution: Execution;
  readonly access: NodeAccess;
  readonly moment: Moment;
  readonly scope: ReadScope;
  readonly tables: BranchTables;
  readonly locales: readonly RowLocale[];
  readonly defaultLanguage: string;
  readonly conditions: readonly BoundExpression[];
  readonly reader: RowReader;
  readonly sees: SeesNode;
  readonly #orders: TreeOrders;
  readonly #targets = new Map<string, ReferencedNode | undefined>();

  /**
   * @param at the revision that is read; undefined: the head
   * @throws {ServiceError} `WORKSPACE_NOT_FOUND`, `VALIDATION_FAILED` for a malformed locale
   */
  constructor(
    tables: BranchTables,
    plan: NodesPlan,
    conditions: readonly BoundExpression[],
    execution: Execution,
    at: Revision | undefined,
  ) {
    const { context, reader, state } = tables;
    const { locales, workspace } = plan;
    state.workspace(workspace);
    this.tables = tables;
    this.plan = plan;
    this.workspace = workspace;
    this.execution = execution;
    this.conditions = conjunctsOf(conditions);
    this.access = new NodeAccess(context, reader);
    this.moment = new Moment(reader, at);
    this.scope = this.access.scope(workspace);
    this.defaultLanguage = state.languages().defaultLanguage;
    this.locales =
      locales === undefined
        ? [{ locale: this.defaultLanguage, chain: [] }]
        : [...new Set(locales)].map((locale) => ({ locale, chain: localeChain(state, locale) }));
    this.#orders = new TreeOrders(this.moment, workspace);
    this.sees = (name, id) => seenNodes(this.moment.tree, this.access)(name, id);
    const facts = { workspace, branch: state.name, isTraversal: this.conditions.some(isTraversal) };
    const targetOf = (call: BoundCall): string | undefined => {
      const target = this.targetOf(call);
      return target === undefined ? undefined : targetName(target.workspace, target.id);
    };
    const knownOrder = (row: NodeValues): string | undefined =>
      this.#orders.known(row.text(Column.parentId) as string, row.text(Column.orderKey) as string);
    this.reader = new RowReader(plan, facts, execution, targetOf, knownOrder);
  }

  get budget(): RequestBudget {
    return this.execution.budget;
  }

  get head(): TableReader {
    return this.tables.reader;
  }

  /** Whether every node may be read, so that the caller may know how many there are. */
  get seesAll(): boolean {
    return this.scope.isAll;
  }

  /** Whether values of a property may be hidden from the caller in some nodes. */
  hides(property: string): boolean {
    return this.scope.hides?.(property) === true;
  }

  treeOrder(record: NodeRecord): Generator<undefined, string> {
    return this.#orders.of(record);
  }

  /** Finds the targets of all `REFERENCES` of the conditions: to be run before anything is compiled. */
  *findTargets(): Generator<undefined, void> {
    const rest = [...this.conditions];
    for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
      if (isReferences(next)) yield* this.#findTarget(referenceText(next));
      else rest.push(...partsOf(next));
    }
  }

  /** The target of a call of `REFERENCES`; undefined when the caller may see none. */
  targetOf(call: BoundCall): ReferencedNode | undefined {
    const text = referenceText(call);
    return text === undefined ? undefined : this.#targets.get(text);
  }

  *#findTarget(text: string | undefined): Generator<undefined, void> {
    if (text === undefined || this.#targets.has(text)) return;
    const { path, workspace } = parseReferencePlace(text);
    const record = this.tables.state.hasWorkspace(workspace)
      ? yield* this.moment.tree.byPathInSteps(workspace, path)
      : undefined;
    const isSeen = record !== undefined && this.access.mayRead(workspace, record);
    this.#targets.set(text, isSeen ? { workspace, id: record.id } : undefined);
    this.moment.rest();
    yield undefined;
  }
}

function isTraversal(condition: BoundExpression): boolean {
  if (condition.kind !== 'call') return false;
  const { name } = condition.function;
  return name === 'CHILD_OF' || name === 'DESCENDANT_OF';
}
