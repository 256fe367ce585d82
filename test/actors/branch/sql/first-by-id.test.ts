import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import type { BoundExpression } from '#runtime/sql-plan/bound/bound-statement.ts';
import type { Jsonb } from '#runtime/sql-values/sql-value.ts';
import { nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import { compare, constant, isIn, op, property } from '#test/support/bound-expressions.ts';
import { type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { roleCaller } from '#test/support/role-caller.ts';
import { type Asked, by, wanted, withTables } from '#test/support/sql-tables.ts';
import { stepped } from '#test/support/stepped.ts';

const NODES = 600;
const LIMIT = 4;

/** Texts that an index cuts. */
const long = 'm'.repeat(1_300);
const values = ['a', 'b', '5', 5, `${long}1`, `${long}2`];

/** As `SELECT *`. */
const every = nodeColumns.map(({ name }) => wanted(name));

let branch: BranchFixture;
let past: Revision;

beforeAll(async () => {
  const k = { name: 'k', index: ['Property'] };
  branch = await openBranch({
    nodeTypes: [
      { name: 'test:Text', properties: [{ ...k, type: 'String' }] },
      { name: 'test:Number', properties: [{ ...k, type: 'Number' }] },
      { name: 'test:Plain' },
    ],
  });
  for (const top of ['/one', '/two']) await branch.create(top, {}, 'test:Plain');
  const node = (at: number): object => {
    const value = values[at % values.length];
    const nodeType = typeof value === 'number' ? 'test:Number' : 'test:Text';
    // Nodes without the index may have the property too.
    if (at % 97 === 0) return { name: `n${at}`, nodeType: 'test:Plain', properties: { k: 'a' } };
    return { name: `n${at}`, nodeType, properties: { k: value } };
  };
  await branch.command({
    type: 'CommitOperations',
    workspace: WORKSPACE,
    commit: { message: 'fill' },
    operations: Array.from({ length: NODES }, (_, at) => ({
      type: 'create' as const,
      parentPath: at % 2 === 0 ? '/one' : '/two',
      node: node(at) as never,
    })),
  });
  // Of a type without the index: their paths are in the opposite order of their ids.
  for (const [name, id] of [
    ['p1', 'zz-last'],
    ['p2', '00-first'],
  ] as const)
    await branch.command({
      type: 'CreateNode',
      workspace: WORKSPACE,
      parentPath: '/one',
      node: { id, name, nodeType: 'test:Plain', properties: { k: 'a' } },
      deep: false,
    });
  const { head } = (await branch.query({ type: 'ReadBranchState' })) as { head: string };
  past = parseRevision(head);
  for (let at = 0; at < 60; at += 6) {
    const place = { workspace: WORKSPACE, place: { path: `/one/n${at}` } };
    if (at % 12 === 0) await branch.command({ type: 'UpdateNode', ...place, properties: { k: 'b' } });
    else await branch.command({ type: 'DeleteNode', ...place });
  }
}, 30_000);
afterAll(() => branch.close());

/** Counts the rows that are looked up, which nodes at places of an index are. */
function counting(count: () => void): (reader: TableReader) => TableReader {
  return (reader) =>
    new Proxy(reader, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== 'function') return value;
        return (...args: unknown[]) => {
          if (name === 'get' || name === 'peek' || name === 'stored') count();
          return value.apply(target, args);
        };
      },
    });
}

interface Found {
  readonly ids: readonly unknown[];
  readonly isOrdered: boolean;
  readonly how: string;
  /** Rows that were looked up. */
  readonly looked: number;
}

/** The first rows in the order of ids. */
function first(conditions: readonly BoundExpression[], isDescending = false, at?: Revision): Found {
  let looked = 0;
  const over = counting(() => {
    looked += 1;
  });
  return withTables(branch, { over, ...(at === undefined ? {} : { at }) }, (tables) => {
    const asked = { conditions, wanted: every, order: [by('id', isDescending)], limit: LIMIT };
    const access = tables.access(asked);
    const rows = tables.rows(access, access.isOrdered ? LIMIT : undefined);
    const { description, isOrdered } = access;
    return { ids: idsOf(rows, isDescending).slice(0, LIMIT), isOrdered, how: description, looked };
  });
}

function idsOf(rows: readonly Row[], isDescending: boolean): readonly unknown[] {
  const ids = rows.map(([id]) => id as string).sort();
  return isDescending ? ids.reverse() : ids;
}

/** All rows, by the scan of all nodes. */
function all(
  conditions: readonly BoundExpression[],
  isDescending = false,
  at?: Revision,
): readonly unknown[] {
  return withTables(branch, at === undefined ? {} : { at }, (tables) => {
    const ways = tables.every({ conditions, wanted: every });
    const whole = ways.find(({ path }) => path.name === 'TableScan');
    return idsOf(whole?.rows ?? [], isDescending);
  });
}

const isText = compare('node_type', '=', 'test:Text');
const has = (value: string): BoundExpression => op('=', property('k'), constant(value));

describe('the first rows of an indexed value in the order of ids', () => {
  it('are the first entries of the index, which is in that order', () => {
    const { how, ids, isOrdered, looked } = first([isText, has('a')]);
    expect(how).toBe('PropertyIndexScan: k');
    expect(isOrdered).toBe(true);
    expect(ids).toEqual(all([isText, has('a')]).slice(0, LIMIT));
    expect(looked).toBeLessThan(80);
  });

  it('go on behind an id without the entries before it', () => {
    const whole = all([isText, has('b')]);
    const behind = compare('id', '>', whole[60] as string);
    const { ids, looked } = first([isText, has('b'), behind]);
    expect(ids).toEqual(whole.slice(61, 61 + LIMIT));
    expect(looked).toBeLessThan(80);
    const before = compare('id', '<', whole[60] as string);
    expect(first([isText, has('b'), before], true).ids).toEqual(whole.slice(60 - LIMIT, 60).reverse());
  });

  it.each<[string, readonly BoundExpression[]]>([
    ['where the type is not known', [has('a')]],
    ['of a text that is a number too', [has('5')]],
    ['of a text that is cut in the index', [has(`${long}2`)]],
    ['of several texts', [isIn(property('k'), 'a', 'b', 'a', 'none')]],
    ['with another condition', [has('b'), compare('name', '>', 'n3')]],
    ['of no node', [has('none')]],
  ])('are all among those that are read, %s', (_name, conditions) => {
    for (const at of [undefined, past])
      for (const isDescending of [false, true])
        expect(first(conditions, isDescending, at).ids).toEqual(
          all(conditions, isDescending, at).slice(0, LIMIT),
        );
  });

  it('are few of those with the value, where nodes of other types are looked at besides', () => {
    const { how, isOrdered, looked } = first([isIn(property('k'), 'a', 'b')]);
    expect(how).toBe('PropertyIndexScan: k, all of test:Plain');
    expect(isOrdered).toBe(false);
    // All that have a value are looked at once: two types share the index, and one has no such nodes.
    expect(looked).toBeLessThan(NODES / 2);
  });
});

describe('the first batch of rows', () => {
  it('has as many as are wanted, so that no further one is looked for', () => {
    withTables(branch, {}, (tables) => {
      const first = (asked: Asked): number | undefined => {
        const operator = tables.access({ wanted: [wanted('id')], limit: 40, ...asked }).open();
        const rows = stepped(operator.next()).value;
        operator.close();
        return rows?.length;
      };
      expect(first({ order: [by('id')] })).toBe(40);
      expect(first({})).toBe(40);
      expect(first({ limit: NODES * 2 })).toBeGreaterThan(NODES / 2);
    });
  });
});

describe('a row that shows whole properties', () => {
  it('has their text as it is stored until somebody reads the value', () => {
    withTables(branch, {}, (tables) => {
      const { rows } = tables.read({ conditions: [has('a')], wanted: [wanted('properties')] });
      const values = rows.map(([value]) => value as Jsonb);
      expect(values.every(({ storedText }) => storedText === '{"k":"a"}')).toBe(true);
      expect(values[0]?.value).toEqual({ k: 'a' });
      expect(values[0]?.storedText).toBeUndefined();
    });
  });

  it('leaves out what is hidden from the caller', () => {
    const caller = roleCaller([{ path: '/**', operations: ['read'], except_fields: ['k'] }]);
    withTables(branch, { caller }, (tables) => {
      const { rows } = tables.read({ wanted: [wanted('properties')], order: [by('id')], limit: 9 });
      expect(rows.map(([value]) => (value as Jsonb).value)).toEqual(Array.from({ length: 9 }, () => ({})));
    });
  });
});
