import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { Execution } from '#runtime/sql-exec/execution.ts';
import { RequestBudget } from '#runtime/budget/request-budget.ts';
import { compileExpression } from '#runtime/sql-exec/expressions/compile-expression.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import type { TableRead, WantedColumn } from '#runtime/sql-exec/ports.ts';
import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import { nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import { comparatorOf } from '#runtime/sql-values/ordering/comparator.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import {
  doubleType,
  intType,
  jsonbType,
  textType,
  timestamptzType,
} from '#runtime/sql-values/types/basic-types.ts';
import {
  cast,
  column,
  compare,
  constant,
  isChildOf,
  isDescendantOf,
  isIn,
  isNull,
  not,
  op,
  or,
  path,
  pathStartsWith,
  property,
  RELATION,
} from '#test/support/bound-expressions.ts';
import {
  administrator,
  type BranchFixture,
  callerWith,
  openBranch,
  WORKSPACE,
} from '#test/support/branch-fixture.ts';
import { roleCaller } from '#test/support/role-caller.ts';
import { by, wanted, withTables } from '#test/support/sql-tables.ts';

const SEED = 20_261_128;

const every: readonly WantedColumn[] = nodeColumns.map(({ name }) => wanted(name));

/** Texts are so long that an index cuts them, and differ behind the cut. */
const long = 'm'.repeat(1_300);
const values: readonly JsonValue[] = [
  'a',
  'b',
  'B',
  '',
  '5',
  '10',
  '9',
  'true',
  'é',
  '\u{1F600}',
  '\uffee',
  `${long}1`,
  `${long}3`,
  `${long}2`,
  5,
  10,
  9.5,
  -3,
  0,
  2 ** 53,
  9_007_199_254_740_993n,
  true,
  false,
  null,
  [1],
  {},
];
const texts = ['a', 'b', 'x', '5', '10', '9.5', 'true', 'false', '', '[1]', `${long}2`, '\uffee', 'm'];
const paths = ['/', '/a', '/b', '/a/c', '/a/c/n3', '/a/z', '/zz', '/a/', '/none'];

let branch: BranchFixture;
let past: Revision;
let times: readonly bigint[];

/** Types whose property `k` has values of one kind. */
const kinds: Readonly<Record<string, string>> = {
  String: 'test:Text',
  Number: 'test:Number',
  Boolean: 'test:Flag',
  Array: 'test:List',
  Object: 'test:Object',
};

function typeFor(value: JsonValue): string {
  if (typeof value === 'boolean') return 'test:Flag';
  if (typeof value === 'number' || typeof value === 'bigint') return 'test:Number';
  if (Array.isArray(value)) return 'test:List';
  return typeof value === 'object' && value !== null ? 'test:Object' : 'test:Text';
}

/** All have the same indexes, so that these have all nodes. */
function definition([type, name]: readonly [string, string]): JsonObject {
  const indexed = ['Property'];
  const ascending = true;
  return {
    name,
    properties: [
      { name: 'k', type, index: indexed },
      { name: 't', type: 'String', index: indexed },
      { name: 'u', type: 'Number', unique: true },
    ],
    compound_indexes: [
      {
        name: 'one',
        columns: [
          { property: 't', ascending },
          { property: '__created_at', ascending: false },
        ],
      },
      {
        name: 'two',
        columns: [
          { property: '__node_type', ascending },
          { property: 'k', ascending },
          { property: '__updated_at', ascending },
        ],
      },
    ],
  };
}

beforeAll(async () => {
  branch = await openBranch({ nodeTypes: Object.entries(kinds).map(definition) });
  for (const top of ['/a', '/b', '/ab', '/a/c']) await branch.create(top, { t: 'a' }, 'test:Text');
  const homes = ['/a', '/b', '/a/c', ''];
  for (const [at, k] of values.entries()) {
    const t = ['a', 'b', `${long}${at % 4}`][at % 3] as string;
    const unique = at % 2 === 0 ? { u: at } : {};
    const properties = { ...(k === null ? {} : { k }), t, secret: k, ...unique };
    await branch.create(`${homes[at % 4]}/n${at}`, properties, typeFor(k));
  }
  past = await head();
  for (const [at, k] of values.entries()) {
    if (at % 3 !== 0) continue;
    const place = { workspace: WORKSPACE, place: { path: `${homes[at % 4]}/n${at}` } };
    const properties = { t: 'b', ...(typeof k === 'string' ? { k: 'b' } : {}) };
    if (at % 2 === 0) await branch.command({ type: 'UpdateNode', ...place, properties });
    else await branch.command({ type: 'DeleteNode', ...place });
  }
  times = withTables(branch, {}, (tables) =>
    tables.read({ wanted: [wanted('created_at')] }).rows.map(([time]) => time as bigint),
  );
}, 20_000);
afterAll(() => branch.close());

async function head(): Promise<Revision> {
  const { head } = (await branch.query({ type: 'ReadBranchState' })) as { head: string };
  return parseRevision(head);
}

/** Reads columns from a row of all columns. */
function fromRow(expression: BoundExpression): ((row: Row) => SqlValue) | undefined {
  if (expression.kind !== 'column' || expression.relation !== RELATION) return undefined;
  return (row) => row[expression.column] as SqlValue;
}

const operator = fc.constantFrom('=', '<', '<=', '>', '>=');
const text = fc.constantFrom(...texts);
const key = fc.constantFrom('k', 't', 'u', 'secret');
const number = fc.constantFrom(5, 9, 10, -3, 0, 2 ** 53);

function asNumber(inner: BoundExpression): BoundExpression {
  // A text that is no number would fail.
  const isNumber = or(
    op('=', inner, constant('5')),
    op('=', inner, constant('10')),
    op('=', inner, constant('9.5')),
  );
  const type = doubleType;
  return {
    kind: 'case',
    type,
    // biome-ignore lint/suspicious/noThenProperty: the branch of a CASE
    branches: [{ when: isNumber, then: cast(inner, type) }],
    otherwise: constant(null, type),
  };
}

const condition: fc.Arbitrary<BoundExpression> = fc.oneof(
  fc.tuple(operator, fc.constantFrom(...paths)).map(([name, at]) => path(name, at)),
  fc
    .array(fc.constantFrom(...paths), { minLength: 1, maxLength: 3 })
    .map((each) => isIn(column('path'), ...each)),
  fc.constantFrom(...paths).map(isChildOf),
  fc
    .tuple(fc.constantFrom('/', '/a', '/a/c'), fc.constantFrom(null, 1, 2))
    .map(([at, levels]) => isDescendantOf(at, levels)),
  fc.constantFrom('/a', '/a/', '/').map(pathStartsWith),
  fc
    .constantFrom('/a%', '/a/_%', '/a/c/n1', '%n1', '/b\\_%')
    .map((pattern) => op('LIKE', column('path'), constant(pattern))),
  fc
    .constantFrom('test:Item', 'svc:Folder', 'test:None', 'x\0')
    .map((name) => compare('node_type', '=', name)),
  fc.constant(isIn(column('node_type'), 'test:Text', 'test:Flag')),
  fc.tuple(key, operator, text).map(([name, how, value]) => op(how, property(name), constant(value))),
  fc
    .tuple(key, fc.array(text, { minLength: 1, maxLength: 3 }))
    .map(([name, each]) => isIn(property(name), ...each)),
  fc
    .tuple(key, fc.boolean())
    .map(([name, isNot]) => (isNot ? not(isNull(property(name))) : isNull(property(name)))),
  fc
    .tuple(key, fc.constantFrom('m%', 'a', '%a', '1_'))
    .map(([name, pattern]) => op('LIKE', property(name), constant(pattern))),
  fc
    .tuple(key, fc.constantFrom<JsonValue>('a', 5, true, null, [1], {}))
    .map(([name, value]) =>
      op('=', op('->', column('properties'), constant(name)), constant(new Jsonb(value), jsonbType)),
    ),
  fc
    .tuple(operator, number)
    .map(([how, value]) => op(how, asNumber(property('k')), constant(value, doubleType))),
  fc
    .tuple(fc.constantFrom('created_at' as const, 'updated_at' as const), operator, fc.nat(20))
    .map(([name, how, at]) => op(how, column(name), constant(times?.[at] ?? 0n, timestamptzType))),
  fc.constantFrom(1, 2, 3).map((depth) => op('=', column('depth'), constant(depth, intType))),
  fc
    .tuple(operator, fc.constantFrom('4', '8888', 'c', '', '\0', '~', '\ud800'))
    .map(([how, id]) => op(how, column('id'), constant(id))),
);

/** Conditions that leading columns of compound indexes and unique indexes need together. */
const together: fc.Arbitrary<readonly BoundExpression[]> = fc
  .tuple(fc.constantFrom(...Object.values(kinds)), fc.constantFrom('k', 't', 'u'), text)
  .map(([type, name, value]) => [
    compare('node_type', '=', type),
    op('=', property(name), constant(name === 'u' ? '10' : value)),
  ]);

const conditions: fc.Arbitrary<readonly BoundExpression[]> = fc
  .tuple(fc.array(condition, { maxLength: 3 }), fc.option(together, { nil: [], freq: 2 }))
  .map(([some, others]) => [...some, ...others]);

const order: fc.Arbitrary<TableRead['order']> = fc
  .tuple(
    fc.constantFrom(undefined, 'path', 'id', '__order', '__tree_order', 'created_at', 'updated_at', 'k', 't'),
    fc.boolean(),
  )
  .map(([name, isDescending]) => {
    if (name === undefined) return [];
    if (name === 'k' || name === 't')
      return [by({ kind: 'property', key: name, isText: true }, isDescending)];
    return [by(name as 'path', isDescending)];
  });

const callers: readonly Caller[] = [
  administrator,
  callerWith((_operation, { path: at }) => !at.includes('n1')),
];

function byRoles(): readonly Caller[] {
  return [
    roleCaller([
      { path: '/a/**', workspace: '*', operations: ['read'], except_fields: ['k'] },
      { path: '/b/**', operations: ['read'] },
    ]),
    roleCaller([{ path: '/**', operations: ['read'], except_fields: ['secret'] }]),
    roleCaller([{ path: '/**', operations: ['read'], condition: "node.t == 'a' || node.created_by == 'x'" }]),
  ];
}

function sorted(rows: readonly Row[]): readonly string[] {
  return rows.map(([id]) => id as string).sort();
}

function firstIds(rows: readonly Row[], { isDescending }: TableRead['order'][number]): readonly string[] {
  const ids = sorted(rows);
  return (isDescending ? ids.toReversed() : ids).slice(0, 5);
}

/** Whether rows are in an order, by an independent comparison. */
function isInOrder(rows: readonly Row[], [first]: TableRead['order']): boolean {
  if (first === undefined) return true;
  const { isDescending, wanted: slot } = first;
  const type = slot.kind === 'column' ? slot.type : textType;
  const compareValues = comparatorOf(type);
  const execution = new Execution(new RequestBudget());
  const read = slot.kind === 'column' ? column(nodeColumns[slot.column]!.name) : property(slot.key);
  const evaluate = compileExpression<Row>(read, fromRow, execution);
  const keys = rows.map(evaluate);
  return keys.every((value, at) => {
    const before = keys[at - 1];
    if (at === 0 || before === undefined) return true;
    if (value === null || before === null) return isDescending ? before === null : value === null;
    const compared = compareValues(before, value);
    return isDescending ? compared >= 0 : compared <= 0;
  });
}

const byText = by({ kind: 'property', key: 't', isText: true }, true);

/** What chance rarely finds: repeated values, numbers among texts, texts that an index does not tell apart. */
const known: [readonly BoundExpression[], TableRead['order'], boolean, number][] = [
  [[isIn(property('t'), 'a', 'b', 'a')], [], false, 0],
  [[op('>', property('k'), constant('10'))], [], false, 0],
  [[op('=', column('id'), constant('1'))], [], false, 0],
  [[], [byText], false, 0],
  [[], [byText], true, 0],
];

describe('every access path', () => {
  it('is compared for callers who see different rows', () => {
    const counts = [...callers, ...byRoles()].map((caller) =>
      withTables(branch, { caller }, (tables) => tables.read({}).rows.length),
    );
    expect(counts).toEqual([26, 16, 21, 26, 4]);
  });

  it('gives the rows for which all conditions hold, in the order that it says', () => {
    const used = new Set<string>();
    fc.assert(
      fc.property(conditions, order, fc.boolean(), fc.nat(4), (asked, wantedOrder, isPast, who) => {
        const caller = [...callers, ...byRoles()][who] as Caller;
        const at = isPast ? { at: past } : {};
        withTables(branch, { caller, ...at }, (tables) => {
          const whole = tables.read({ wanted: every }).rows;
          const execution = new Execution(new RequestBudget());
          const holds = asked.map((each) => compileExpression<Row>(each, fromRow, execution));
          const expected = sorted(whole.filter((row) => holds.every((evaluate) => evaluate(row) === true)));
          for (const { first, path: how, rows } of tables.every({
            conditions: asked,
            wanted: every,
            order: wantedOrder,
            limit: 5,
          })) {
            const facts = `${how.name}: ${how.facts}`;
            expect({ facts, ids: sorted(rows) }).toEqual({ facts, ids: expected });
            if (how.isOrdered && wantedOrder.length > 0)
              expect({ facts, isInOrder: isInOrder(rows, wantedOrder) }).toEqual({
                facts,
                isInOrder: true,
              });
            const [key] = wantedOrder;
            const isById = key?.wanted.kind === 'column' && nodeColumns[key.wanted.column]?.name === 'id';
            if (isById && !how.isOrdered) expect(firstIds(first, key)).toEqual(firstIds(rows, key));
            used.add(how.name);
          }
        });
      }),
      // By a seed of its own, because each path has to occur.
      { numRuns: 40, examples: known, seed: SEED },
    );
    expect([...used].sort()).toEqual([
      'ChildrenScan',
      'NodeIdScan',
      'PathIndexScan',
      'PropertyIndexScan',
      'PropertyOrderScan',
      'PropertyRangeScan',
      'SubtreeScan',
      'TableScan',
      'TypeScan',
      'UniqueIndexScan',
    ]);
  }, 20_000);
});
