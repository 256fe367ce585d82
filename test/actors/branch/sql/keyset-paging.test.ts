import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BranchTable } from '#runtime/shard/key-layout.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { visitRows } from '#runtime/shard/visit-rows.ts';
import type { NodeColumn } from '#runtime/sql-plan/node-columns.ts';
import {
  compare,
  constant,
  isChildOf,
  isDescendantOf,
  op,
  path,
  property,
} from '#test/support/bound-expressions.ts';
import { type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { type Asked, by, wanted, withTables } from '#test/support/sql-tables.ts';

const NODES = 400;
const PAGE = 5;

let branch: BranchFixture;

beforeAll(async () => {
  const k = { name: 'k', type: 'String', index: ['Property'] };
  branch = await openBranch({ nodeTypes: [{ name: 'test:Item', properties: [k] }] });
  await branch.create('/list', { k: 'none' }, 'test:Item');
  const nodes = Array.from({ length: NODES }, (_, at) => `n${String(at).padStart(4, '0')}`);
  await branch.command({
    type: 'CommitOperations',
    workspace: WORKSPACE,
    commit: { message: 'fill' },
    operations: nodes.map((name) => ({
      type: 'create',
      parentPath: '/list',
      node: { name, nodeType: 'test:Item', properties: { k: `k${name}` } },
    })),
  });
}, 20_000);
afterAll(() => branch.close());

/** Counts the rows of all tables that are looked at. */
function counting(count: (rows: number) => void): (reader: TableReader) => TableReader {
  return (reader) => ({
    ...reader,
    get: (table, key) => {
      count(1);
      return reader.get(table, key);
    },
    *range(table, range) {
      for (const row of reader.range(table, range)) {
        count(1);
        yield row;
      }
    },
    visit: (table, range, visitor) => {
      visitRows(reader, table, range, (row) => {
        count(1);
        return visitor(row);
      });
    },
  });
}

function page(asked: Asked): {
  readonly names: readonly unknown[];
  readonly rows: number;
  readonly how: string;
} {
  let rows = 0;
  const over = counting((more) => {
    rows += more;
  });
  return withTables(branch, { over }, (tables) => {
    const found = tables.read({ wanted: [wanted('name')], limit: PAGE, ...asked });
    return { names: found.rows.map(([name]) => name), rows, how: found.access.description };
  });
}

/** A column of the node in the middle. */
function middle(column: NodeColumn): string {
  return withTables(branch, {}, (tables) => {
    const conditions = [path('=', '/list/n0200')];
    return tables.read({ conditions, wanted: [wanted(column)] }).rows[0]?.[0] as string;
  });
}

describe('a page in the middle of many rows', () => {
  const next = ['n0201', 'n0202', 'n0203', 'n0204', 'n0205'];
  const before = ['n0199', 'n0198', 'n0197', 'n0196', 'n0195'];

  it.each<[string, () => Asked]>([
    ['by path', () => ({ conditions: [path('>', '/list/n0200')], order: [by('path')] })],
    [
      'by path among children',
      () => ({ conditions: [isChildOf('/list'), path('>', '/list/n0200')], order: [by('path')] }),
    ],
    [
      'by path below a node',
      () => ({ conditions: [isDescendantOf('/list'), path('>', '/list/n0200')], order: [by('path')] }),
    ],
    [
      'in editorial order',
      () => ({
        conditions: [isChildOf('/list'), compare('__order', '>', middle('__order'))],
        order: [by('__order')],
      }),
    ],
    [
      'in document order',
      () => ({
        conditions: [compare('__tree_order', '>', middle('__tree_order'))],
        order: [by('__tree_order')],
      }),
    ],
    [
      'in document order below a node',
      () => ({
        conditions: [isDescendantOf('/list'), compare('__tree_order', '>', middle('__tree_order'))],
        order: [by('__tree_order')],
      }),
    ],
    [
      'by an indexed property',
      () => ({
        conditions: [compare('node_type', '=', 'test:Item'), op('>', property('k'), constant('kn0200'))],
        order: [by({ kind: 'property', key: 'k', isText: true })],
      }),
    ],
  ])('is read alone: %s', (_name, asked) => {
    const { names, rows } = page(asked());
    expect(names).toEqual(next);
    // What is read does not grow with what is before the page.
    expect(rows).toBeLessThan(NODES / 2);
  });

  it.each<[string, () => Asked]>([
    ['by path', () => ({ conditions: [path('<', '/list/n0200')], order: [by('path', true)] })],
    [
      'in editorial order',
      () => ({
        conditions: [isChildOf('/list'), compare('__order', '<', middle('__order'))],
        order: [by('__order', true)],
      }),
    ],
    [
      'in document order',
      () => ({
        conditions: [isDescendantOf('/list'), compare('__tree_order', '<', middle('__tree_order'))],
        order: [by('__tree_order', true)],
      }),
    ],
  ])('is read alone backwards: %s', (_name, asked) => {
    const { names, rows } = page(asked());
    expect(names).toEqual(before);
    expect(rows).toBeLessThan(NODES / 2);
  });

  it.each([
    ['forwards', '>', false],
    ['backwards', '<', true],
  ] as const)('is read alone by id, %s', (_name, operator, isDescending) => {
    const ids = withTables(
      branch,
      {},
      (tables) => tables.read({ wanted: [wanted('id'), wanted('name')] }).rows,
    );
    const sorted = ids.toSorted(([a], [b]) => ((a as string) < (b as string) ? -1 : 1));
    const ordered = isDescending ? sorted.reverse() : sorted;
    const after = ordered[200]?.[0] as string;
    const asked = { conditions: [compare('id', operator, after)], order: [by('id', isDescending)] };
    const { how, names, rows } = page(asked);
    expect(names).toEqual(ordered.slice(201, 201 + PAGE).map(([, name]) => name));
    expect(how).toContain(`behind id=${after}`);
    expect(rows).toBeLessThan(NODES / 2);
  });

  it.each([false, true])('is read by ids of any letters, each once (backwards: %s)', async (isDescending) => {
    const workspace = WORKSPACE;
    const ids = ['a1', 'é1', 'ü1', '中1', '日1', '\uffee1', '😀1', '😁1'];
    if (!isDescending)
      for (const id of ids)
        await branch.command({
          type: 'CreateNode',
          workspace,
          parentPath: '/',
          node: { id, name: `by-${id.codePointAt(0)}`, nodeType: 'test:Item', properties: {} },
          deep: false,
        });
    const all = withTables(branch, {}, (tables) => tables.read({ wanted: [wanted('id')] }).rows.flat());
    const bytes = (id: unknown): Buffer => Buffer.from(String(id));
    const sorted = all.toSorted((a, b) => Buffer.compare(bytes(a), bytes(b)));
    if (isDescending) sorted.reverse();
    for (const [at, id] of sorted.entries()) {
      if (!ids.includes(id as string)) continue;
      const found = withTables(branch, {}, (tables) =>
        tables.read({
          wanted: [wanted('id')],
          conditions: [compare('id', isDescending ? '<' : '>', id as string)],
          order: [by('id', isDescending)],
          limit: PAGE,
        }),
      );
      expect(found.access.description).toContain('behind id=');
      expect(found.rows.flat()).toEqual(sorted.slice(at + 1, at + 1 + PAGE));
    }
  });

  it.each(['\ud83d', '日'.repeat(100), ''])('takes no text for a place that no id can be: %s', (after) => {
    const found = withTables(branch, {}, (tables) =>
      tables.read({
        wanted: [wanted('id')],
        conditions: [compare('id', '>', after)],
        order: [by('id')],
        limit: NODES * 2,
      }),
    );
    // Explanations would show it, however long it is.
    expect(found.access.description).not.toContain('behind');
    const all = withTables(branch, {}, (tables) => tables.read({ wanted: [wanted('id')] }).rows.flat());
    const isBehind = (id: unknown): boolean =>
      Buffer.compare(Buffer.from(id as string), Buffer.from(after)) > 0;
    expect(found.rows.flat().toSorted()).toEqual(all.filter(isBehind).toSorted());
  });

  it('needs no place that is one', () => {
    const conditions = [compare('__tree_order', '>', `${'x'.repeat(300)}.\0`), isDescendantOf('/list')];
    expect(page({ conditions, order: [by('__tree_order')] }).names).toEqual([]);
    expect(
      page({
        conditions: [compare('__tree_order', '>', '!'), isDescendantOf('/list')],
        order: [by('__tree_order')],
      }).names,
    ).toHaveLength(PAGE);
  });

  it('counts the rows that it reads', () => {
    const { rows } = page({ order: [by('name')], limit: undefined as never });
    expect(rows).toBeGreaterThan(NODES);
    expect(BranchTable.nodes).toBeDefined();
  });
});
