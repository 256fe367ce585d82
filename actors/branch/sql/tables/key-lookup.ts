import type { LookupKey, TableLookup, TableRead } from '#runtime/sql-exec/ports.ts';
import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { SqlType } from '#runtime/sql-values/sql-type.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import { booleanType } from '#runtime/sql-values/types/basic-types.ts';
import { type AccessPath, Rank } from './access-path.ts';
import { TreePaths } from './find-paths.ts';
import { IndexPaths } from './index-paths.ts';
import { comparedColumn, parentOf, propertyOf } from './known-conditions.ts';
import { NodeScan } from './node-scan.ts';
import type { NodeTable } from './node-table.ts';

/** Makes the table of a read once more, with one more condition. */
export type OpenTable = (conditions: readonly BoundExpression[]) => Generator<undefined, NodeTable>;

/** How well a kind of access path finds the nodes of a key. */
interface KeyCosts {
  /** Keys of a batch. */
  readonly keysMax: number;
  /** About how many nodes a key has. */
  readonly nodes: number;
  /** Estimated nanoseconds of a key, without its nodes. */
  readonly work: number;
}

/** How many nodes have one value of an index is not counted: this many are taken to. */
const INDEXED_NODES = 4;

/** The kinds of access paths that find the nodes of a key, by rank. */
const keyCosts: ReadonlyMap<number, KeyCosts> = new Map([
  [Rank.id, { keysMax: 512, nodes: 1, work: 4_000 }],
  [Rank.path, { keysMax: 512, nodes: 1, work: 8_000 }],
  [Rank.unique, { keysMax: 128, nodes: 1, work: 8_000 }],
  [Rank.compound, { keysMax: 128, nodes: INDEXED_NODES, work: 8_000 }],
  [Rank.children, { keysMax: 128, nodes: INDEXED_NODES, work: 12_000 }],
  [Rank.propertyEqual, { keysMax: 128, nodes: INDEXED_NODES, work: 8_000 }],
]);

/** Estimated nanoseconds to read a node and to make a row of it. */
const NODE_WORK = 8_000;

/** Most values of an index that the keys of a batch may stand for: a text may also be a number. */
const VALUES_MAX = 512;

/** Stands for the keys of a look-up before they are known. */
const samples: Partial<Record<SqlType['name'], SqlValue>> = {
  text: 'key',
  path: '/key',
  jsonb: new Jsonb('key'),
};

/**
 * How the nodes of a table are found by a key: what {@link TableAccess.lookUp} answers. The keys are one more condition of the
 * table, so whatever holds for its rows holds for these.
 *
 * @param read what is read of the table
 * @param openTable is called for each batch of keys: what is compiled for a condition has its constants in it
 * @returns undefined: no access path finds nodes by this key
 */
export function* findLookup(
  read: TableRead,
  key: LookupKey,
  openTable: OpenTable,
): Generator<undefined, TableLookup | undefined> {
  const sample = samples[key.expression.type.name];
  if (sample === undefined || !isLookedUp(key.expression, read)) return undefined;
  const tried = yield* keyed(read, key, [sample], openTable);
  const costs = tried && keyCosts.get(tried.path.rank);
  if (tried === undefined || costs === undefined) return undefined;
  const { condition, path, table } = tried;
  const facts = `${fieldOf(key.expression, read)}=<key>`;
  return {
    description: `${path.name}: ${facts}`,
    shape: `${path.name}: ${facts}`,
    indexed: path.exact.filter((each) => each !== condition),
    keysMax: costs.keysMax,
    keyCost: costs.work + costs.nodes * NODE_WORK,
    keyRows: costs.nodes,
    isMeasured: table.seesAll,
    *open(keys, costMax) {
      const found = yield* keyed(read, key, keys, openTable);
      if (found === undefined) return undefined;
      // One folder may have most nodes of a workspace.
      const nodesMax = Math.ceil(costMax / NODE_WORK);
      const isCounted = costs.nodes > 1 && found.table.seesAll;
      if (isCounted && (yield* found.path.rows(nodesMax)) > nodesMax) return undefined;
      return new NodeScan(found.table, found.path.source, found.table.conditions, read.wanted);
    },
  };
}

interface KeyedPath {
  readonly condition: BoundExpression;
  readonly path: AccessPath;
  readonly table: NodeTable;
}

/** The best access path that makes use of the keys. */
function* keyed(
  read: TableRead,
  key: LookupKey,
  keys: readonly SqlValue[],
  openTable: OpenTable,
): Generator<undefined, KeyedPath | undefined> {
  const condition = equalsAny(key, keys);
  // Behind the others: a condition may rely on those before it.
  const table = yield* openTable([...read.conditions, condition]);
  const order = { order: [], limit: undefined };
  const paths: AccessPath[] = [...(yield* new TreePaths(table, order.order).byKey())];
  // At an earlier revision every part of an index would look at all that has changed since.
  if (table.moment.at === undefined) paths.push(...(yield* new IndexPaths(table, order, VALUES_MAX).all()));
  let best: AccessPath | undefined;
  for (const path of paths) {
    const isUsable = (path.partial ?? path.exact).includes(condition) && keyCosts.has(path.rank);
    if (isUsable && (best === undefined || path.rank < best.rank)) best = path;
  }
  return best && { condition, path: best, table };
}

function equalsAny({ equals, expression }: LookupKey, keys: readonly SqlValue[]): BoundExpression {
  const [, type = expression.type] = equals.parameters;
  return {
    kind: 'quantified',
    type: booleanType,
    quantifier: 'any',
    function: equals,
    left: expression,
    array: { kind: 'constant', type: { name: 'array', element: type }, value: keys },
  };
}

/** Whether an access path may find nodes by an expression; a look at the tables tells. */
function isLookedUp(expression: BoundExpression, read: TableRead): boolean {
  return fieldOf(expression, read) !== undefined;
}

/** What keys are compared with, for explanations. */
function fieldOf(expression: BoundExpression, { table }: TableRead): string | undefined {
  const column = comparedColumn(expression, table.relation);
  if (column === 'id' || column === 'path') return column;
  if (parentOf(expression, table.relation)) return 'parent';
  return propertyOf(expression, table.relation)?.key;
}
