import { ROOT_ID } from '#runtime/content/content-node.ts';
import { isNodeTypeName } from '#runtime/content/definitions/type-name.ts';
import { PATH_BYTES_MAX } from '#runtime/content/path.ts';
import { nodesIn } from '#runtime/scan/changed-nodes.ts';
import { changedFor, countPlaces, type ScanSource } from '#runtime/scan/scan.ts';
import type { TableRead } from '#runtime/sql-exec/ports.ts';
import type { BoundCall, BoundExpression } from '#runtime/sql-plan/bound/bound-expression.ts';
import { type NodeColumn, nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import { readTypeCount } from '#runtime/tree/index-catalog.ts';
import { parentEntry } from '#runtime/tree/node-reader.ts';
import { type AccessPath, Rank } from './access-path.ts';
import { comparedColumn, comparisonOf, constantText, type KnownComparison } from './known-conditions.ts';
import type { NodeTable } from './node-table.ts';
import { pathRangeOf } from './path-range.ts';
import { isReferences } from './row-reader.ts';
import { type RowSource, wholeSource } from './row-source.ts';

/** Estimated nanoseconds to look a node up by its id, to read a node at a place, and to look at one where it is stored. */
const LOOK_UP_WORK = 10_000;
const PLACE_WORK = 5_000;
const STORED_WORK = 700;

/**
 * By so much a scan of everything is put behind what fits the conditions: in a small workspace they cost the same, and what is
 * chosen there should be what is chosen when the workspace has grown.
 */
const WHOLE_HANDICAP = 1_000_000;

/** Types that are scanned one after the other. */
const TYPES_MAX = 64;

/** Of all paths, the part that a range is taken to have. */
const RANGE_SHARE = 1 / 4;

const control = /[\u0000-\u001f\u007f]/;

type Order = TableRead['order'];

/** The column by which the rows are to be sorted first, if no other decides among the rows of a node. */
interface FirstKey {
  readonly column: NodeColumn;
  readonly isDescending: boolean;
}

/** The ways to find the nodes of a table by what the tree itself has: all but those by indexes of properties. */
export class TreePaths {
  readonly #table: NodeTable;
  readonly #order: Order;
  readonly #conditions: readonly BoundExpression[];
  readonly #equal: readonly KnownComparison[];

  constructor(table: NodeTable, order: Order) {
    this.#table = table;
    this.#order = order;
    this.#conditions = table.conditions;
    this.#equal = this.#conditions
      .map(comparisonOf)
      .filter((each) => each !== undefined)
      .filter(({ operator }) => operator === '=');
  }

  /** All of them, the best first where nothing is counted. */
  *all(): Generator<undefined, readonly AccessPath[]> {
    const found = [...this.#byId(), ...this.#byPath()];
    for (const condition of this.#conditions) {
      if (condition.kind !== 'call') continue;
      if (isReferences(condition)) found.push(this.#references(condition));
      const { name } = condition.function;
      if (name === 'CHILD_OF' || name === 'DESCENDANT_OF') {
        found.push(...this.#hierarchy(condition, name));
        this.#table.moment.rest();
        yield undefined;
      }
    }
    return [...found, ...this.#byRange(), ...this.#byType(), ...this.#inOrder(), this.#whole()];
  }

  #equalTo(column: NodeColumn): KnownComparison | undefined {
    const { relation } = this.#table.plan;
    return this.#equal.find(({ operand }) => comparedColumn(operand, relation) === column);
  }

  *#byId(): Generator<AccessPath> {
    const equal = this.#equalTo('id');
    if (equal === undefined) return;
    const ids = distinctTexts(equal.values);
    yield this.#lookUp('NodeIdScan', 'id', Rank.id, ids, { kind: 'ids', ids }, equal);
  }

  *#byPath(): Generator<AccessPath> {
    const equal = this.#equalTo('path');
    if (equal === undefined) return;
    const paths = distinctTexts(equal.values).filter(isPath);
    yield this.#lookUp('PathIndexScan', 'path', Rank.path, paths, { kind: 'paths', paths }, equal);
  }

  #lookUp(
    name: string,
    column: string,
    rank: number,
    values: readonly string[],
    source: RowSource,
    { condition }: KnownComparison,
  ): AccessPath {
    return {
      name,
      facts: values.length === 1 ? `${column}=${values[0]}` : `${column} IN (${values.length} values)`,
      rank,
      source,
      exact: [condition],
      // One node is in any order.
      isOrdered: values.length <= 1 && this.#table.locales.length === 1,
      rows: () => known(values.length),
      nodeWork: LOOK_UP_WORK,
    };
  }

  *#hierarchy(condition: BoundCall, name: 'CHILD_OF' | 'DESCENDANT_OF'): Generator<AccessPath> {
    const { moment, plan, workspace } = this.#table;
    const [column, given, levels] = condition.args;
    const path = constantText(given);
    if (column === undefined || comparedColumn(column, plan.relation) !== 'path' || path === undefined)
      return;
    const id = isPath(path) ? moment.tree.idAt(workspace, path) : undefined;
    const isChildren = name === 'CHILD_OF' || (levels?.kind === 'constant' && levels.value === 1);
    const isExact =
      isChildren || levels === undefined || (levels.kind === 'constant' && levels.value === null);
    const shared = {
      facts: `parent=${path}`,
      rank: isChildren ? Rank.children : Rank.descendants,
      exact: isExact ? [condition] : [],
      nodeWork: PLACE_WORK,
    };
    if (id === undefined) {
      const none = { source: { kind: 'none' }, isOrdered: true, rows: () => known(0) } as const;
      yield { name: isChildren ? 'ChildrenScan' : 'SubtreeScan', ...shared, ...none };
      return;
    }
    const source: ScanSource = isChildren
      ? { kind: 'children', workspace, parentId: id }
      : { kind: 'subtree', workspace, topId: id };
    const place = isChildren ? '__order' : '__tree_order';
    yield {
      name: isChildren ? 'ChildrenScan' : 'SubtreeScan',
      ...shared,
      ...this.#scanned(source, place),
      rows: (most) => this.#countBelow(id, path, isChildren, most),
    };
    yield {
      name: 'PathIndexScan',
      ...shared,
      ...this.#scanned({ kind: 'paths', workspace, below: path, isChildren }, 'path'),
      rows: (most) => this.#countBelow(id, path, isChildren, most),
    };
  }

  *#countBelow(id: string, path: string, isChildren: boolean, most: number): Generator<undefined, number> {
    const { head, moment, workspace } = this.#table;
    if (isChildren && moment.at === undefined) return parentEntry(head, workspace, id)?.count ?? 0;
    if (id === ROOT_ID && !isChildren) return nodesIn(head, workspace);
    return yield* countPlaces(moment, { kind: 'paths', workspace, below: path, isChildren }, most);
  }

  #references(condition: BoundCall): AccessPath {
    const { moment, workspace } = this.#table;
    const target = this.#table.targetOf(condition);
    const shared = {
      name: 'ReferenceScan',
      facts: `target=${constantText(condition.args.at(-1)) ?? ''}`,
      rank: Rank.references,
      nodeWork: PLACE_WORK,
    };
    if (target === undefined)
      return {
        ...shared,
        exact: [condition],
        source: { kind: 'none' },
        isOrdered: true,
        rows: () => known(0),
      };
    const source: ScanSource = { kind: 'references', workspace, target, by: 'property' };
    return {
      ...shared,
      // A hidden property may be what refers.
      exact: this.#table.scope.fields === undefined ? [condition] : [],
      ...this.#scanned(source, 'id'),
      rows: (most) => this.#countIndexed(source, () => countPlaces(moment, source, most)),
    };
  }

  *#byRange(): Generator<AccessPath> {
    const { head, plan, workspace } = this.#table;
    const range = pathRangeOf(this.#conditions, plan.relation);
    // What is below a node has a path of its own.
    if (range === undefined || range.conditions.every(isDescendants)) return;
    const first = this.#firstKey();
    const reverse = first?.column === 'path' && first.isDescending;
    yield {
      name: 'PathIndexScan',
      facts: range.facts,
      rank: Rank.pathRange,
      source: range.source(workspace, reverse),
      exact: range.conditions.filter((each) => !isDescendants(each)),
      isOrdered: first?.column === 'path',
      rows: () => known(nodesIn(head, workspace) * RANGE_SHARE),
      nodeWork: PLACE_WORK,
    };
  }

  *#byType(): Generator<AccessPath> {
    const { head, workspace } = this.#table;
    const equal = this.#equalTo('node_type');
    if (equal === undefined) return;
    const types = distinctTexts(equal.values).filter(isNodeTypeName);
    if (types.length > TYPES_MAX) return;
    const sources = types.map((nodeType): ScanSource => ({ kind: 'paths', workspace, nodeType }));
    const [only] = sources;
    const count = types.reduce((sum, type) => sum + (readTypeCount(head, workspace, type)?.count ?? 0), 0);
    const scanned =
      sources.length === 1 && only !== undefined
        ? this.#scanned(only, 'path')
        : { source: partsOf(sources), isOrdered: sources.length === 0 };
    yield {
      name: 'TypeScan',
      facts: types.length === 1 ? `node_type=${types[0]}` : `node_type IN (${types.length} values)`,
      rank: Rank.nodeType,
      ...scanned,
      exact: [equal.condition],
      rows: () => (only === undefined ? known(0) : this.#countIndexed(only, () => known(count))),
      nodeWork: PLACE_WORK,
    };
  }

  /** All nodes in the order that is asked for. */
  *#inOrder(): Generator<AccessPath> {
    const { workspace } = this.#table;
    const column = this.#firstKey()?.column;
    if (column !== 'path' && column !== '__tree_order') return;
    const source: ScanSource =
      column === 'path' ? { kind: 'paths', workspace } : { kind: 'subtree', workspace, topId: ROOT_ID };
    yield {
      name: column === 'path' ? 'PathIndexScan' : 'SubtreeScan',
      facts: `order by ${column}`,
      rank: Rank.order,
      ...this.#scanned(source, column),
      exact: [],
      rows: () => known(nodesIn(this.#table.head, workspace)),
      nodeWork: PLACE_WORK,
    };
  }

  #whole(): AccessPath {
    const { head, workspace } = this.#table;
    return {
      name: 'TableScan',
      facts: workspace,
      rank: Rank.all,
      ...this.#scanned({ kind: 'nodes', workspace }, 'id'),
      exact: [],
      rows: () => known(nodesIn(head, workspace)),
      nodeWork: STORED_WORK,
      handicap: WHOLE_HANDICAP,
    };
  }

  /** A whole source, in the order that is asked for if that is the order of a column. */
  #scanned(source: ScanSource, column: NodeColumn): Pick<AccessPath, 'source' | 'isOrdered'> {
    const first = this.#firstKey();
    const isOrdered = first?.column === column;
    return { source: wholeSource(source, isOrdered && first.isDescending), isOrdered };
  }

  /** Number of nodes that are looked at through a table that has the present state only. */
  *#countIndexed(
    source: ScanSource,
    count: () => Generator<undefined, number>,
  ): Generator<undefined, number> {
    const { head, moment, workspace } = this.#table;
    const changed = yield* changedFor(moment, source);
    return changed === undefined ? nodesIn(head, workspace) : changed + (yield* count());
  }

  /** The key that decides about the order alone: no two nodes have the same value. */
  #firstKey(): FirstKey | undefined {
    const { relation } = this.#table.plan;
    for (const { isDescending, wanted } of this.#order) {
      if (wanted.kind === 'property') return undefined;
      const { name } = nodeColumns[wanted.column] as (typeof nodeColumns)[number];
      const isFixed = this.#equal.some(
        ({ operand, values }) => values.length === 1 && comparedColumn(operand, relation) === name,
      );
      if (isFixed) continue;
      // In several locales a node has several rows.
      if (this.#table.locales.length > 1 && this.#order.length > 1) return undefined;
      return { column: name, isDescending };
    }
    return undefined;
  }
}

function isDescendants(condition: BoundExpression): boolean {
  return condition.kind === 'call' && condition.function.name === 'DESCENDANT_OF';
}

function partsOf(sources: readonly ScanSource[]): RowSource {
  return { kind: 'scans', parts: sources.map((source) => ({ source, reverse: false })) };
}

function distinctTexts(values: readonly SqlValue[]): readonly string[] {
  return [...new Set(values.filter((value) => typeof value === 'string'))];
}

/** Whether a text may be the path of a node: only such a text may become part of a key. */
function isPath(text: string): boolean {
  return text.startsWith('/') && text.length <= PATH_BYTES_MAX && !control.test(text);
}

// biome-ignore lint/correctness/useYield: the number is known, where others have to be counted
function* known(count: number): Generator<undefined, number> {
  return count;
}
