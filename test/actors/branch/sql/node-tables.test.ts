import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Jsonb } from '#runtime/sql-values/sql-value.ts';
import { intType, jsonbType } from '#runtime/sql-values/types/basic-types.ts';
import { nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import {
  compare,
  isChildOf,
  isDescendantOf,
  isIn,
  column,
  path,
  pathStartsWith,
  property,
  op,
  cast,
  constant,
} from '#test/support/bound-expressions.ts';
import { type BranchFixture, callerWith, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { type Asked, by, type TableSetup, wanted, withTables } from '#test/support/sql-tables.ts';

let branch: BranchFixture;

beforeAll(async () => {
  branch = await openBranch();
  for (const each of ['/a', '/a/x', '/a/x/deep', '/a/y', '/ab', '/b', '/b/x'])
    await branch.create(each, { name: each });
});
afterAll(() => branch.close());

function ask(asked: Asked, setup: TableSetup = {}) {
  return withTables(branch, setup, (tables) => {
    const { access, rows } = tables.read({ wanted: [wanted('path')], ...asked });
    return { how: access.description, paths: rows.map(([path]) => path), isOrdered: access.isOrdered };
  });
}

describe('how a table is read', () => {
  it('looks nodes up by id', async () => {
    const { id } = await branch.read('/a/x');
    expect(ask({ conditions: [compare('id', '=', id)] })).toMatchObject({
      how: `NodeIdScan: id=${id}`,
      paths: ['/a/x'],
    });
    const { how, paths } = ask({ conditions: [isIn(column('id'), id, 'none', null, id, '/', 'a\0b')] });
    expect(how).toBe('NodeIdScan: id IN (4 values)');
    expect(paths).toEqual(['/a/x']);
  });

  it('looks nodes up by path', () => {
    expect(ask({ conditions: [path('=', '/a/x')] })).toMatchObject({
      how: 'PathIndexScan: path=/a/x',
      paths: ['/a/x'],
    });
    expect(ask({ conditions: [path('=', '/')] }).paths).toEqual([]);
    expect(ask({ conditions: [isIn(column('path'), '/b', '/a\0', 'x')] }).paths).toEqual(['/b']);
  });

  it('lists children in editorial order, and by path', () => {
    const conditions = [isChildOf('/a')];
    expect(ask({ conditions, order: [by('__order')] })).toMatchObject({
      how: 'ChildrenScan: parent=/a',
      paths: ['/a/x', '/a/y'],
      isOrdered: true,
    });
    expect(ask({ conditions, order: [by('__order', true)] }).paths).toEqual(['/a/y', '/a/x']);
    expect(ask({ conditions, order: [by('path', true)] })).toMatchObject({
      how: 'PathIndexScan: parent=/a',
      paths: ['/a/y', '/a/x'],
    });
    expect(ask({ conditions: [isChildOf('/')] }).paths).toEqual(['/a', '/ab', '/b']);
    expect(ask({ conditions: [isChildOf('/none')] }).paths).toEqual([]);
  });

  it('lists descendants', () => {
    const conditions = [isDescendantOf('/a')];
    expect(ask({ conditions, order: [by('__tree_order')] })).toMatchObject({
      how: 'SubtreeScan: parent=/a',
      paths: ['/a/x', '/a/x/deep', '/a/y'],
    });
    expect(ask({ conditions: [isDescendantOf('/a', 1)] }).paths).toEqual(['/a/x', '/a/y']);
    expect(ask({ conditions: [isDescendantOf('/')] }).paths).toHaveLength(7);
  });

  it('reads a range of paths from its first one on', () => {
    const conditions = [path('>', '/a/x')];
    expect(ask({ conditions, order: [by('path')], limit: 2 })).toMatchObject({
      how: 'PathIndexScan: path > /a/x',
      paths: ['/a/x/deep', '/a/y'],
    });
    expect(ask({ conditions: [path('>=', '/a/x'), path('<', '/ab')], order: [by('path')] }).paths).toEqual([
      '/a/x',
      '/a/x/deep',
      '/a/y',
    ]);
    expect(ask({ conditions: [path('<=', '/a/x')], order: [by('path', true)], limit: 9 }).paths).toEqual([
      '/a/x',
      '/a',
    ]);
    expect(ask({ conditions: [pathStartsWith('/a')] }).paths).toEqual(['/a', '/a/x', '/a/x/deep', '/a/y']);
    expect(
      ask({ conditions: [op('LIKE', column('path'), constant('/a%'))], order: [by('path')], limit: 9 }).paths,
    ).toEqual(['/a', '/a/x', '/a/x/deep', '/a/y', '/ab']);
    expect(ask({ conditions: [path('>', 'zzz')], order: [by('path')], limit: 9 }).paths).toEqual([]);
    expect(ask({ conditions: [path('<', '')], order: [by('path', true)], limit: 9 }).paths).toEqual([]);
  });

  it('reads the nodes of a type', () => {
    expect(
      ask({ conditions: [compare('node_type', '=', 'svc:Folder')], order: [by('path')], limit: 1 }),
    ).toMatchObject({ paths: ['/a'] });
    expect(ask({ conditions: [compare('node_type', '=', 'svc:Page')] })).toMatchObject({
      how: 'TypeScan: node_type=svc:Page',
      paths: [],
    });
  });

  it('reads everything else from the table', () => {
    const conditions = [op('=', property('name'), constant('/b'))];
    expect(ask({ conditions })).toMatchObject({ how: `TableScan: ${WORKSPACE}`, paths: ['/b'] });
  });
});

describe('rows', () => {
  it('have all columns', async () => {
    const node = await branch.read('/a/x');
    const row = withTables(
      branch,
      {},
      (tables) =>
        tables.read({ conditions: [path('=', '/a/x')], wanted: nodeColumns.map(({ name }) => wanted(name)) })
          .rows[0]!,
    );
    const values = Object.fromEntries(nodeColumns.map(({ name }, at) => [name, row[at]]));
    const micros = (text: string) => BigInt(Date.parse(text)) * 1000n;
    expect(values).toEqual({
      id: node.id,
      path: '/a/x',
      name: 'x',
      node_type: 'svc:Folder',
      archetype: null,
      properties: new Jsonb({ name: '/a/x' }),
      parent_name: 'a',
      version: 1,
      created_at: micros(node.created_at),
      updated_at: micros(node.updated_at),
      published_at: null,
      published_by: null,
      created_by: 'ada',
      updated_by: 'ada',
      translations: null,
      owner_id: null,
      relations: null,
      parent_path: null,
      depth: 2,
      locale: 'en',
      __revision: expect.stringMatching(/^\d+-\d+$/),
      __branch: 'main',
      __workspace: WORKSPACE,
      __order: node.order_key,
      __tree_order: `${(await branch.read('/a')).order_key}.${node.order_key}`,
    });
  });

  it('tell the parent only of a walk over the tree', () => {
    const slots = [wanted('parent_path'), wanted('parent_name')];
    const read = (conditions: Asked['conditions']) =>
      withTables(branch, {}, (tables) => tables.read({ conditions: conditions!, wanted: slots }).rows);
    expect(read([isChildOf('/b')])).toEqual([['/b', 'b']]);
    expect(read([isChildOf('/b'), path('=', '/b/x')])).toEqual([['/b', 'b']]);
    expect(read([path('=', '/b/x')])).toEqual([[null, 'b']]);
  });
});

describe('conditions', () => {
  /** Not checked where a node is stored. */
  const late = op('@>', column('properties'), constant(new Jsonb({ none: 1 }), jsonbType));
  /** Fails for all nodes. */
  const failing = op('=', cast(property('name'), intType), constant(1, intType));

  it('that may fail are not checked for rows that one before them leaves out', () => {
    expect(ask({ conditions: [late, failing] }).paths).toEqual([]);
    expect(() => ask({ conditions: [failing, late] })).toThrow('Cannot cast');
    expect(ask({ conditions: [late, path('=', '/a'), failing] }).paths).toEqual([]);
    expect(() => ask({ conditions: [failing, path('=', '/a'), late] })).toThrow('Cannot cast');
  });
});

describe('a caller who may not read everything', () => {
  const caller = callerWith((_operation, { path }) => !path.split('/').includes('x'));

  it('sees no trace of other nodes', () => {
    expect(ask({}, { caller }).paths.toSorted()).toEqual(['/a', '/a/y', '/ab', '/b']);
    expect(ask({ conditions: [path('=', '/a/x')] }, { caller }).paths).toEqual([]);
    // A condition that fails for a hidden node must not fail.
    const one = constant(1, { name: 'int' });
    const zero = op('-', op('+', constant(0, { name: 'int' }), constant(1, { name: 'int' })), one);
    expect(zero).toBeDefined();
  });

  it('is told nothing of counts', () => {
    withTables(branch, { caller }, (tables) => {
      expect(tables.access({})).toMatchObject({ rows: 1_000, cost: 5_000_000 });
      expect(tables.access({ conditions: [compare('node_type', '=', 'svc:Page')] })).toMatchObject({
        rows: 1_000,
      });
    });
  });
});
