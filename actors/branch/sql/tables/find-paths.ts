import { ROOT_ID } from '#runtime/content/content-node.ts';
import { isNodeTypeName } from '#runtime/content/definitions/type-name.ts';
import { PATH_BYTES_MAX } from '#runtime/content/path.ts';
import { nodesIn } from '#runtime/scan/changed-nodes.ts';
import { changedFor, countPlaces, type ScanSource } from '#runtime/scan/scan.ts';
import { END, textBytes } from '#runtime/shard/binary-key.ts';
import type { TableRead } from '#runtime/sql-exec/ports.ts';
import type { BoundCall, BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { NodeColumn } from '#runtime/sql-plan/node-columns.ts';
import type { SqlValue } from '#runtime/sql-values/sql-value.ts';
import { readTypeCount } from '#runtime/tree/index-catalog.ts';
import { parentEntry } from '#runtime/tree/node-reader.ts';
import { type AccessPath, Rank } from './access-path.ts';
import {
  comparedColumn,
  comparisonOf,
  constantText,
  type KnownComparison,
  parentOf,
} from './known-conditions.ts';
import type { NodeTable } from './node-table.ts';
import { pathRangeOf } from './path-range.ts';
import { type FirstKey, firstKeyOf, idBehind, type PlaceBound } from './row-order.ts';
import { isReferences } from './row-reader.ts';
import { type RowSource, type ScanPart, wholeSource } from './row-source.ts';

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

/** Parents that are looked up between two pauses. */
const PARENTS_PER_STEP = 16;

/** Longest place in a tree that is looked up, in characters. */
const PLACE_LENGTH_MAX = 100_000;

const control = /[\u0000-\u001f\u007f]/;

type Order = TableRead['order'];

/** What a condition says about the place of nodes in the tree. */
interface Hierarchy {
  /** Path of the node below which they are. */
  readonly path: string;
  /** Whether they are its children. */
  readonly isChildren: boolean;
  /** Whether all nodes that are there are meant. */
  readonly isExact: boolean;
}

/** The ways to find the nodes of a table by what the tree itself has: all but those by indexes of properties. */
export class TreePaths {
  readonly #table: NodeTable;
  readonly #conditions: readonly BoundExpression[];
  readonly #equal: readonly KnownComparison[];
  readonly #firstKey: FirstKey | undefined;

  constructor(table: NodeTable, order: Order) {
    this.#table = table;
    this.#conditions = table.conditions;
    this.#equal = this.#conditions
      .map(comparisonOf)
      .filter((each) => each !== undefined)
      .filter(({ operator }) => operator === '=');
    this.#firstKey = firstKeyOf(table, order);
  }

  /** All of them, the best first where nothing is counted. */
  *all(): Generator<undefined, readonly AccessPath[]> {
    const found = [...(yield* this.byKey()), ...this.#byRange()];
    for (const condition of this.#conditions) {
      if (condition.kind !== 'call') continue;
      if (isReferences(condition)) found.push(this.#references(condition));
      found.push(...(yield* this.#hierarchy(condition)));
      this.#table.moment.rest();
      yield undefined;
    }
    return [...found, ...this.#byType(), ...(yield* this.#inOrder()), this.#whole()];
  }

  /** Those by values that a column must have: what finds nodes by keys. */
  *byKey(): Generator<undefined, readonly AccessPath[]> {
    return [...this.#byId(), ...this.#byPath(), ...(yield* this.#byParents())];
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

  /** The children of nodes whose paths are known: by `PARENT(path)`. */
  *#byParents(): Generator<undefined, readonly AccessPath[]> {
    const { moment, plan, workspace } = this.#table;
    const equal = this.#equal.find(({ operand }) => parentOf(operand, plan.relation));
    if (equal === undefined) return [];
    const paths = distinctTexts(equal.values).filter(isPath);
    const parents: { readonly id: string; readonly path: string }[] = [];
    for (const [at, path] of paths.entries()) {
      const id = moment.tree.idAt(workspace, path);
      if (id !== undefined) parents.push({ id, path });
      if (at % PARENTS_PER_STEP !== 0) continue;
      moment.rest();
      yield undefined;
    }
    const parts = parents.map(
      ({ id }): ScanPart => ({ source: { kind: 'children', workspace, parentId: id }, reverse: false }),
    );
    const shape = paths.length === 1 ? 'parent=?' : `parent IN (${paths.length} values)`;
    return [
      {
        name: 'ChildrenScan',
        facts: paths.length === 1 ? `parent=${paths[0]}` : shape,
        shape,
        rank: Rank.children,
        source: { kind: 'scans', parts },
        exact: [equal.condition],
        isOrdered: false,
        rows: (most) => this.#countChildren(parents, most),
        nodeWork: PLACE_WORK,
      },
    ];
  }

  *#countChildren(
    parents: readonly { readonly id: string; readonly path: string }[],
    most: number,
  ): Generator<undefined, number> {
    let count = 0;
    for (const { id, path } of parents) {
      if (count >= most) break;
      count += yield* this.#countBelow(id, path, true, most - count);
    }
    return count;
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
      shape: values.length === 1 ? `${column}=?` : `${column} IN (${values.length} values)`,
      rank,
      source,
      exact: [condition],
      // One node is in any order.
      isOrdered: values.length <= 1 && this.#table.locales.length === 1,
      rows: () => known(values.length),
      rowsMax: values.length * this.#table.locales.length,
      nodeWork: LOOK_UP_WORK,
    };
  }

  /** @returns yields where the work may pause */
  *#hierarchy(condition: BoundCall): Generator<undefined, readonly AccessPath[]> {
    const { moment, workspace } = this.#table;
    const hierarchy = this.#hierarchyOf(condition);
    if (hierarchy === undefined) return [];
    const { isChildren, isExact, path } = hierarchy;
    const id = isPath(path) ? moment.tree.idAt(workspace, path) : undefined;
    const place = isChildren ? '__order' : '__tree_order';
    const shared = {
      facts: `parent=${path}`,
      shape: 'parent=?',
      rank: isChildren ? Rank.children : Rank.descendants,
      exact: isExact ? [condition] : [],
      nodeWork: PLACE_WORK,
      rows: (most: number) => (id === undefined ? known(0) : this.#countBelow(id, path, isChildren, most)),
    };
    const name = isChildren ? 'ChildrenScan' : 'SubtreeScan';
    const isOrdered = this.#isSortedBy(place);
    // Whether a node is there must not be seen from what is chosen: the caller may not be able to read it.
    if (id === undefined) return [{ name, ...shared, source: { kind: 'none' }, isOrdered }];
    const source: ScanSource = isChildren
      ? { kind: 'children', workspace, parentId: id }
      : { kind: 'subtree', workspace, topId: id };
    const reverse = this.#reverseFor(place);
    const bound = yield* this.#placeBehind(place, reverse, isChildren ? undefined : path);
    const exact = bound === undefined ? shared.exact : [...shared.exact, bound.condition];
    const part: ScanPart = { source, reverse, after: bound?.after };
    return [
      { name, ...shared, exact, source: { kind: 'scans', parts: [part] }, isOrdered },
      {
        name: 'PathIndexScan',
        ...shared,
        ...this.#scanned({ kind: 'paths', workspace, below: path, isChildren }, 'path'),
      },
    ];
  }

  #hierarchyOf(condition: BoundExpression): Hierarchy | undefined {
    if (condition.kind !== 'call') return undefined;
    const { name } = condition.function;
    if (name !== 'CHILD_OF' && name !== 'DESCENDANT_OF') return undefined;
    const [column, given, levels] = condition.args;
    const path = constantText(given);
    if (column === undefined || path === undefined) return undefined;
    if (comparedColumn(column, this.#table.plan.relation) !== 'path') return undefined;
    const depth = levels?.kind === 'constant' ? levels.value : undefined;
    const isChildren = name === 'CHILD_OF' || depth === 1;
    return { path, isChildren, isExact: isChildren || depth === null };
  }

  /**
   * The position in a list of children or in a tree behind which all rows are by a condition on their place: so the next page
   * of a listing does not read those before it.
   */
  *#placeBehind(
    column: '__order' | '__tree_order',
    reverse: boolean,
    top: string | undefined,
  ): Generator<undefined, PlaceBound | undefined> {
    const { plan } = this.#table;
    const operator = reverse ? '<' : '>';
    for (const condition of this.#conditions) {
      const found = comparisonOf(condition);
      if (found?.operator !== operator || comparedColumn(found.operand, plan.relation) !== column) continue;
      const [token] = found.values;
      if (typeof token !== 'string' || !isPlace(token)) continue;
      if (top === undefined || top === '/') return { condition, after: token.replaceAll('.', END) };
      const record = yield* this.#table.moment.tree.byPathInSteps(this.#table.workspace, top);
      const before = record === undefined ? '' : `${yield* this.#table.treeOrder(record)}.`;
      if (!token.startsWith(before)) return undefined;
      return { condition, after: token.slice(before.length).replaceAll('.', END) };
    }
    return undefined;
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
      shape: 'target=?',
      rank: Rank.references,
      nodeWork: PLACE_WORK,
    };
    if (target === undefined)
      return {
        ...shared,
        exact: [condition],
        source: { kind: 'none' },
        isOrdered: this.#isSortedBy('id'),
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
    const reverse = this.#reverseFor('path');
    const ofParent = this.#conditions.find((each) => {
      const hierarchy = this.#hierarchyOf(each);
      return hierarchy?.isChildren === true && isPath(hierarchy.path);
    });
    const parent = ofParent && this.#hierarchyOf(ofParent)?.path;
    const exact = range.conditions.filter((each) => !isDescendants(each));
    yield {
      name: 'PathIndexScan',
      facts: range.facts,
      shape: range.shape,
      // Among children it is as good as their list.
      rank: parent === undefined ? Rank.pathRange : Rank.children,
      source: range.source(workspace, reverse, parent),
      exact: ofParent === undefined ? exact : [ofParent, ...exact],
      isOrdered: this.#isSortedBy('path'),
      sortedBy: reverse ? undefined : 'path',
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
      shape: types.length === 1 ? 'node_type=?' : `node_type IN (${types.length} values)`,
      rank: Rank.nodeType,
      ...scanned,
      exact: [equal.condition],
      rows: () => (only === undefined ? known(0) : this.#countIndexed(only, () => known(count))),
      nodeWork: PLACE_WORK,
    };
  }

  /** All nodes in the order that is asked for. */
  *#inOrder(): Generator<undefined, readonly AccessPath[]> {
    const { workspace } = this.#table;
    const column = this.#firstKey?.column;
    if (column !== 'path' && column !== '__tree_order') return [];
    const reverse = this.#reverseFor(column);
    const source: ScanSource =
      column === 'path' ? { kind: 'paths', workspace } : { kind: 'subtree', workspace, topId: ROOT_ID };
    const bound = column === 'path' ? undefined : yield* this.#placeBehind(column, reverse, undefined);
    const path: AccessPath = {
      name: column === 'path' ? 'PathIndexScan' : 'SubtreeScan',
      facts: `order by ${column}`,
      shape: `order by ${column}`,
      rank: Rank.order,
      source: { kind: 'scans', parts: [{ source, reverse, after: bound?.after }] },
      isOrdered: true,
      sortedBy: column === 'path' && !reverse ? 'path' : undefined,
      exact: bound === undefined ? [] : [bound.condition],
      rows: () => known(nodesIn(this.#table.head, workspace)),
      nodeWork: PLACE_WORK,
    };
    return [path];
  }

  #whole(): AccessPath {
    const { head, workspace } = this.#table;
    const reverse = this.#reverseFor('id');
    const bound = idBehind(this.#table, reverse);
    // The position of a node is its id as bytes.
    const after = bound && textBytes(bound.after);
    const part: ScanPart = { source: { kind: 'nodes', workspace }, reverse, after };
    return {
      name: 'TableScan',
      facts: bound === undefined ? workspace : `${workspace}, behind id=${bound.after}`,
      shape: bound === undefined ? workspace : `${workspace}, behind id=?`,
      rank: Rank.all,
      source: { kind: 'scans', parts: [part] },
      isOrdered: this.#isSortedBy('id'),
      sortedBy: reverse ? undefined : 'id',
      exact: bound === undefined ? [] : [bound.condition],
      rows: () => known(nodesIn(head, workspace)),
      nodeWork: STORED_WORK,
      handicap: WHOLE_HANDICAP,
    };
  }

  /** A whole source, in the order that is asked for if that is the order of a column. */
  #scanned(source: ScanSource, column: NodeColumn): Pick<AccessPath, 'source' | 'isOrdered' | 'sortedBy'> {
    const reverse = this.#reverseFor(column);
    return {
      source: wholeSource(source, reverse),
      isOrdered: this.#isSortedBy(column),
      sortedBy: reverse ? undefined : column,
    };
  }

  #isSortedBy(column: NodeColumn): boolean {
    return this.#firstKey?.column === column;
  }

  /** Whether a source in the order of a column is to be read backwards. */
  #reverseFor(column: NodeColumn): boolean {
    const first = this.#firstKey;
    return first?.column === column && first.isDescending;
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
}

function isDescendants(condition: BoundExpression): boolean {
  return condition.kind === 'call' && condition.function.name === 'DESCENDANT_OF';
}

function partsOf(sources: readonly ScanSource[]): RowSource {
  return { kind: 'scans', parts: sources.map((source) => ({ source, reverse: false })) };
}

/**
 * Longest text that may be an id, a path or the name of a type, in UTF-16 units. Longer ones find nothing, and are left out
 * before they meet in a set: V8 hashes a text of more than 16,383 by its length alone.
 */
const NAME_LENGTH_MAX = 16_383;

function distinctTexts(values: readonly SqlValue[]): readonly string[] {
  const texts = values.filter((value) => typeof value === 'string' && value.length <= NAME_LENGTH_MAX);
  return [...new Set(texts as readonly string[])];
}

/** Whether a text may be a place among children, or in a tree: only such a text may become part of keys. */
function isPlace(text: string): boolean {
  return text.length <= PLACE_LENGTH_MAX && /^[0-9A-Za-z]{1,200}(?:\.[0-9A-Za-z]{1,200})*$/.test(text);
}

/** Whether a text may be the path of a node: only such a text may become part of a key. */
export function isPath(text: string): boolean {
  return text.startsWith('/') && text.length <= PATH_BYTES_MAX && !control.test(text);
}

// biome-ignore lint/correctness/useYield: the number is known, where others have to be counted
function* known(count: number): Generator<undefined, number> {
  return count;
}
