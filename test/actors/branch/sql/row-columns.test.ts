import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseRevision } from '#runtime/content/revision.ts';
import type { Row } from '#runtime/sql-exec/operator.ts';
import { Jsonb } from '#runtime/sql-values/sql-value.ts';
import { column, compare, constant, isIn, op, path, property } from '#test/support/bound-expressions.ts';
import { type BranchFixture, callerWith, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { schemaColumns } from '#runtime/sql-plan/schema-columns.ts';
import type { SchemaPlan } from '#runtime/sql-plan/bound/bound-statement.ts';
import { by, wanted, withTables, type Asked, type TableSetup } from '#test/support/sql-tables.ts';
import { roleCaller } from '#test/support/role-caller.ts';

let branch: BranchFixture;

beforeAll(async () => {
  branch = await openBranch({
    nodeTypes: [
      {
        name: 'test:Text',
        properties: [
          { name: 'title', type: 'String', is_translatable: true, index: ['Property'] },
          { name: 'n', type: 'Number', index: ['Property'] },
        ],
      },
    ],
  });
  await branch.repositoryCommand({
    type: 'UpdateTranslationConfig',
    patch: { supported_languages: ['en', 'de', 'fr'] },
  });
  for (const name of ['one', 'two', 'three'])
    await branch.create(`/${name}`, { title: name, n: 1 }, 'test:Text');
  const place = (at: string) => ({ workspace: WORKSPACE, place: { path: at } });
  await branch.command({
    type: 'TranslateNode',
    ...place('/one'),
    locale: 'de',
    translations: { '/title': 'eins' },
  });
  await branch.command({
    type: 'TranslateNode',
    ...place('/two'),
    locale: 'de',
    translations: { '/title': 'one' },
  });
  await branch.command({ type: 'ChangeLocale', ...place('/three'), locale: 'de', change: 'hide' } as never);
}, 20_000);
afterAll(() => branch.close());

const title = { kind: 'property', key: 'title', isText: true } as const;

function read(asked: Asked, setup: TableSetup = {}): { rows: readonly Row[]; how: string } {
  return withTables(branch, setup, (tables) => {
    const { access, rows } = tables.read({ wanted: [wanted('name'), wanted('locale'), title], ...asked });
    return { rows: rows.toSorted((a, b) => (`${a[0]}` < `${b[0]}` ? -1 : 1)), how: access.description };
  });
}

describe('rows in locales', () => {
  it('are those of the default language where none is asked for', () => {
    expect(read({}).rows).toEqual([
      ['one', 'en', 'one'],
      ['three', 'en', 'three'],
      ['two', 'en', 'two'],
    ]);
  });

  it('have translated values, and leave out what is hidden', () => {
    expect(read({ plan: { locales: ['de'] } }).rows).toEqual([
      ['one', 'de', 'eins'],
      ['two', 'de', 'one'],
    ]);
    expect(read({ plan: { locales: ['de-CH'] } }).rows).toEqual([
      ['one', 'de-CH', 'eins'],
      ['two', 'de-CH', 'one'],
    ]);
  });

  it('are one for each locale', () => {
    const { rows } = read({
      plan: { locales: ['de', 'fr', 'de'] },
      conditions: [isIn(column('name'), 'one', 'three')],
    });
    expect(rows.toSorted()).toEqual([
      ['one', 'de', 'eins'],
      ['one', 'fr', 'one'],
      ['three', 'fr', 'three'],
    ]);
    expect(
      read({ plan: { locales: ['de', 'fr'] }, conditions: [compare('locale', '=', 'fr'), path('=', '/one')] })
        .rows,
    ).toEqual([['one', 'fr', 'one']]);
  });

  it('are found by their translated values, in every way', () => {
    const isOne = op('=', property('title'), constant('one'));
    expect(read({ conditions: [isOne] })).toMatchObject({
      rows: [['one', 'en', 'one']],
      how: 'PropertyIndexScan: title',
    });
    for (const conditions of [[isOne], [isOne, compare('node_type', '=', 'test:Text')]]) {
      const plan = { locales: ['de'] };
      withTables(branch, {}, (tables) => {
        for (const { path: how, rows } of tables.every({
          conditions,
          plan,
          wanted: [wanted('name')],
          order: [by(title)],
          limit: 1,
        }))
          expect({ how: how.name, rows }).toEqual({ how: how.name, rows: [['two']] });
      });
    }
  });

  it('have all translations', () => {
    const { rows } = read({
      wanted: [wanted('name'), wanted('translations'), wanted('properties')],
      plan: { locales: ['de'] },
    });
    expect(rows).toEqual([
      ['one', new Jsonb({ de: { title: 'eins' } }), new Jsonb({ title: 'eins', n: 1 })],
      ['two', new Jsonb({ de: { title: 'one' } }), new Jsonb({ title: 'one', n: 1 })],
    ]);
  });

  it('are refused for what is no locale', () => {
    expect(() => read({ plan: { locales: ['no locale'] } })).toThrow('not a locale');
  });
});

describe('rows at a revision', () => {
  it('are those of that time', async () => {
    const { head } = (await branch.query({ type: 'ReadBranchState' })) as { head: string };
    await branch.command({
      type: 'UpdateNode',
      workspace: WORKSPACE,
      place: { path: '/one' },
      properties: { title: 'later' },
    });
    expect(read({ conditions: [path('=', '/one')] }).rows).toEqual([['one', 'en', 'later']]);
    expect(read({ conditions: [path('=', '/one')], plan: { revision: head } }).rows).toEqual([
      ['one', 'en', 'one'],
    ]);
    expect(read({ conditions: [path('=', '/one')] }, { at: parseRevision(head) }).rows).toEqual([
      ['one', 'en', 'one'],
    ]);
    expect(() => read({ plan: { revision: '1-1' } })).toThrow('no revision');
    expect(() => read({ plan: { revision: 'x' } })).toThrow('not a revision');
    await branch.command({
      type: 'UpdateNode',
      workspace: WORKSPACE,
      place: { path: '/one' },
      properties: { title: 'one' },
    });
  });
});

describe('large nodes', () => {
  it('are read in steps, and conditions look at them', async () => {
    const text = 'x'.repeat(3_000_000);
    await branch.create('/large', { title: `${text}!`, n: 7 }, 'test:Text');
    const isLarge = op('=', property('title'), constant(`${text}!`));
    withTables(branch, {}, (tables) => {
      for (const { path: how, rows } of tables.every({
        conditions: [isLarge],
        wanted: [wanted('name'), { kind: 'property', key: 'n', isText: true }],
      }))
        expect({ how: how.name, rows }).toEqual({ how: how.name, rows: [['large', '7']] });
    });
    await branch.command({ type: 'DeleteNode', workspace: WORKSPACE, place: { path: '/large' } });
  });
});

function schemaPlan(table: SchemaPlan['table']): SchemaPlan {
  return {
    kind: 'schema',
    relation: 3,
    columns: schemaColumns[table],
    table,
    alias: table,
    branch: undefined,
    revision: undefined,
  };
}

describe('tables of the schema', () => {
  const columnOf = (plan: SchemaPlan, name: string): number =>
    plan.columns.findIndex((each) => each.name === name);

  it('have the definitions', () => {
    const plan = schemaPlan('NodeTypes');
    const { rows } = withTables(branch, {}, (tables) => tables.schema(plan));
    const names = rows.map((row) => row[columnOf(plan, 'name')]);
    expect(names).toContain('test:Text');
    expect(names).toContain('svc:Folder');
    const row = rows.find((each) => each[columnOf(plan, 'name')] === 'test:Text')!;
    expect(row[columnOf(plan, 'version')]).toBe(1);
    expect(row[columnOf(plan, '__branch')]).toBe('main');
    expect(row[columnOf(plan, 'created_at')]).toBeTypeOf('bigint');
    expect(row[columnOf(plan, 'properties')]).toBeInstanceOf(Jsonb);
  });

  it('are filtered', () => {
    const plan = schemaPlan('NodeTypes');
    const at = columnOf(plan, 'name');
    const condition = op(
      '=',
      { kind: 'column', relation: 3, column: at, type: plan.columns[at]!.type },
      constant('test:Text'),
    );
    expect(
      withTables(branch, {}, (tables) => tables.schema(plan, { conditions: [condition] }).rows),
    ).toHaveLength(1);
  });

  it('are for whom the listings are', () => {
    const plan = schemaPlan('Workspaces');
    const names = withTables(branch, {}, (tables) => tables.schema(plan).rows).map(
      (row) => row[columnOf(plan, 'name')],
    );
    expect(names).toContain(WORKSPACE);
    const reader = roleCaller([{ path: '**', operations: ['read'] }]);
    expect(() => withTables(branch, { caller: reader }, (tables) => tables.schema(plan))).toThrow(
      'administrator',
    );
    const nobody = { ...callerWith(() => true), principal: { kind: 'anonymous', tenant: 'acme' } as never };
    expect(() =>
      withTables(branch, { caller: nobody }, (tables) => tables.schema(schemaPlan('NodeTypes'))),
    ).toThrow();
    expect(
      withTables(branch, { caller: reader }, (tables) => tables.schema(schemaPlan('Archetypes')).rows),
    ).toBeDefined();
  });
});
