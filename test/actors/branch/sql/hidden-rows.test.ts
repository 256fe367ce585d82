import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import { Jsonb } from '#runtime/sql-values/sql-value.ts';
import { intType } from '#runtime/sql-values/types/basic-types.ts';
import {
  cast,
  column,
  compare,
  constant,
  isChildOf,
  isDescendantOf,
  isNull,
  not,
  op,
  path,
  property,
  refersTo,
} from '#test/support/bound-expressions.ts';
import { type BranchFixture, callerWith, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { roleCaller } from '#test/support/role-caller.ts';
import { type Asked, by, wanted, withTables } from '#test/support/sql-tables.ts';

const definition = {
  name: 'test:Document',
  properties: [
    { name: 'title', type: 'String', index: ['Property'], is_translatable: true },
    { name: 'secret', type: 'String', index: ['Property'], is_translatable: true },
    { name: 'code', type: 'String', unique: true },
    { name: 'count', type: 'Number', index: ['Property'] },
  ],
};

/** Two branches that differ only in what the callers may not read. */
const worlds = [
  { secrets: ['apple', 'berry', 'cherry'], hidden: ['/hidden', '/hidden/a', '/hidden/b'] },
  { secrets: ['12', '', 'apple'], hidden: [] },
] as const;
const ids = ['one', 'two', 'three'];

let branches: readonly BranchFixture[];

async function open({ hidden, secrets }: (typeof worlds)[number]): Promise<BranchFixture> {
  const branch = await openBranch({ nodeTypes: [definition, { name: 'test:Other' }] });
  const create = (at: string, id: string, properties: object, nodeType = 'test:Document') =>
    branch.command({
      type: 'CreateNode',
      workspace: WORKSPACE,
      parentPath: at.slice(0, at.lastIndexOf('/')) || '/',
      node: { id, name: at.slice(at.lastIndexOf('/') + 1), nodeType, properties: properties as never },
      deep: false,
    });
  for (const [at, id] of ids.entries()) {
    const secret = secrets[at] as string;
    const other = at === 0 ? { other: { 'svc:ref': 'hidden-0', 'svc:workspace': WORKSPACE } } : {};
    const link = { 'svc:ref': secret === 'apple' ? 'one' : 'two', 'svc:workspace': WORKSPACE };
    await create(`/${id}`, id, { title: `Title ${id}`, secret, code: `code of ${secret}`, link, ...other });
    await branch.command({
      type: 'TranslateNode',
      workspace: WORKSPACE,
      place: { path: `/${id}` },
      locale: 'de',
      translations: { '/title': `Titel ${id}`, '/secret': `${secret} auf Deutsch` },
    });
  }
  for (const [at, each] of hidden.entries())
    await create(
      each,
      `hidden-${at}`,
      { title: 'no number', secret: 'no number', code: each, link: 1, ...(at === 0 ? { count: 5 } : {}) },
      at === 0 ? 'test:Document' : 'test:Other',
    );
  if (hidden.length > 0)
    await branch.command({
      type: 'AddRelation',
      workspace: WORKSPACE,
      place: { path: '/one' },
      targetWorkspace: WORKSPACE,
      targetPath: '/hidden',
      relationType: 'likes',
      weight: null,
    });
  return branch;
}

beforeAll(async () => {
  branches = [await open(worlds[0]), await open(worlds[1])];
}, 20_000);
afterAll(async () => {
  for (const branch of branches) await branch.close();
});

/**
 * As the caller of a role, where a row in place never tells which of its properties may be read.
 *
 * @param isReadable whether it tells that it may be read at all
 */
function undecided(caller: Caller, isReadable: boolean): Caller {
  const { policy } = caller;
  return {
    ...caller,
    policy: {
      ...policy,
      unrestricted: false,
      administers: false,
      locks: false,
      needs: (operation, workspace) => policy.needs(operation, workspace),
      allows: (operation, subject) => policy.allows(operation, subject),
      mayAllow: (operation, workspace) => policy.mayAllow(operation, workspace),
      fields: (operation, subject) => policy.fields(operation, subject),
      readScope: (workspace) => {
        const scope = policy.readScope(workspace);
        const told = isReadable ? scope : { isAll: false, isNone: false, allows: () => undefined };
        return { ...told, fields: () => undefined, ...(scope.hides && { hides: scope.hides }) };
      },
    },
  };
}

const byProperty = roleCaller([
  {
    path: '**',
    operations: ['read'],
    except_fields: ['secret', 'code', 'link'],
    condition: "node.title != 'no number'",
  },
]);

const decided: readonly (readonly [string, Caller])[] = [
  [
    'a caller with hidden properties and hidden nodes',
    roleCaller([
      { path: '/one', operations: ['read'], except_fields: ['secret', 'code', 'link'] },
      { path: '/t*', operations: ['read'], fields: ['title'] },
    ]),
  ],
  ['a caller whose permission asks for a property', byProperty],
];

const callers: readonly (readonly [string, Caller])[] = [
  ...decided,
  ['a caller of whom rows in place do not tell', undecided(byProperty, false)],
  ['a caller of whose properties rows in place do not tell', undecided(byProperty, true)],
];

const secretText = property('secret');
const asNumber = cast(property('title'), intType);
/** Fails for a node whose title is that of the hidden ones; nodes that may be read are left out before. */
const failing = op('=', cast(op('||', property('title'), constant('')), intType), constant(1, intType));

const questions: readonly Asked[] = [
  {},
  { conditions: [op('=', secretText, constant('apple'))] },
  { conditions: [isNull(secretText)] },
  { conditions: [isNull(secretText), compare('node_type', '=', 'test:Document')] },
  { conditions: [not(isNull(op('->', column('properties'), constant('secret'))))] },
  {
    conditions: [
      op('=', property('code'), constant('code of apple')),
      compare('node_type', '=', 'test:Document'),
    ],
  },
  {
    conditions: [op('@>', column('properties'), constant(new Jsonb({ secret: 'apple' }), { name: 'jsonb' }))],
  },
  { wanted: [wanted('name'), { kind: 'property', key: 'secret', isText: true }] },
  { conditions: [op('=', property('title'), constant('Title one'))] },
  {
    conditions: [compare('node_type', '=', 'test:Document')],
    order: [by({ kind: 'property', key: 'count', isText: true })],
    limit: 2,
  },
  { order: [by({ kind: 'property', key: 'secret', isText: true })], limit: 2 },
  { order: [by({ kind: 'property', key: 'title', isText: true })], limit: 2 },
  { conditions: [op('>', secretText, constant('a'))], plan: { locales: ['de'] } },
  { plan: { locales: ['de', 'en'] } },
  { conditions: [refersTo(`${WORKSPACE}:/one`)] },
  { conditions: [refersTo(`${WORKSPACE}:/hidden`)] },
  { conditions: [refersTo(`${WORKSPACE}:/hidden`)], order: [by('name')] },
  { conditions: [isChildOf('/hidden')], order: [by('__order')] },
  { conditions: [isDescendantOf('/hidden')], order: [by('name')] },
  { conditions: [path('=', '/hidden')] },
  { conditions: [path('>', '/hidden')], order: [by('path')] },
  { conditions: [compare('node_type', '=', 'test:Other')] },
  { conditions: [compare('node_type', '=', 'test:Document')], order: [by('created_at')], limit: 1 },
  { conditions: [not(isNull(column('relations')))] },
  { conditions: [op('=', property('title'), constant('Title one'))], order: [by('id')], limit: 1 },
  {
    conditions: [
      compare('node_type', '=', 'test:Document'),
      op('=', property('code'), constant('code of apple')),
    ],
    order: [by('id')],
    limit: 1,
  },
];

const shown = nodeColumns.map(({ name }) => name).filter((name) => !/_at$|^__|^version$/.test(name));

function answers(branch: BranchFixture, caller: Caller): unknown {
  return withTables(branch, { caller }, (tables) =>
    questions.map((asked) => {
      const { access, rows } = tables.read({
        wanted: [...shown.map(wanted), { kind: 'property', key: 'secret', isText: true }],
        ...asked,
      });
      const { cost, description, isOrdered, rows: estimate } = access;
      const found = isOrdered ? rows : rows.toSorted(([a], [b]) => ((a as string) < (b as string) ? -1 : 1));
      return { description, cost, estimate, isOrdered, found };
    }),
  );
}

describe.each(callers)('to %s', (_name, caller) => {
  it('two branches look the same that differ in what is hidden', () => {
    const [first, second] = branches as [BranchFixture, BranchFixture];
    const seen = answers(first, caller) as readonly { readonly found: readonly unknown[] }[];
    expect(seen[0]?.found).toHaveLength(3);
    expect(answers(second, caller)).toEqual(seen);
    // What is hidden is absent from every node, whatever an index of it has.
    const isApple = questions.findIndex(({ conditions }) => conditions?.length === 1);
    const isAbsent = questions.findIndex(
      ({ conditions }) => conditions?.length === 2 && conditions[0]?.kind === 'is',
    );
    expect(seen[isAbsent]?.found).toHaveLength(3);
    expect(seen[isApple]?.found).toEqual([]);
  });

  it('indexes of hidden properties are not used', () => {
    const [first] = branches as [BranchFixture, BranchFixture];
    const ofType = compare('node_type', '=', 'test:Document');
    const plans = (setup: { readonly caller?: Caller }): readonly string[] =>
      withTables(first, setup, (tables) =>
        ['secret', 'code', 'title'].map((name) => {
          const paths = tables.every({ conditions: [ofType, op('=', property(name), constant('apple'))] });
          return `${name}: ${paths.some(({ path: { facts } }) => facts === name)}`;
        }),
      );
    expect(plans({})).toEqual(['secret: true', 'code: true', 'title: true']);
    expect(plans({ caller })).toEqual(['secret: false', 'code: false', expect.stringContaining('title')]);
  });

  it('conditions do not look at hidden nodes', () => {
    const [first] = branches as [BranchFixture, BranchFixture];
    withTables(first, { caller }, (tables) => {
      // Every readable title fails as well, so only rows by path are asked about.
      expect(() => tables.read({ conditions: [op('=', asNumber, constant(1, intType))] })).toThrow('Title');
      for (const each of ['/hidden', '/hidden/a'])
        expect(tables.read({ conditions: [failing, path('=', each)] }).rows).toEqual([]);
      for (const { path: how, rows } of tables.every({
        conditions: [op('=', column('name'), constant('hidden')), failing],
      }))
        expect({ how: how.name, rows }).toEqual({ how: how.name, rows: [] });
      // Rows behind one that does not tell in place are asked about again, and conditions still decide about them.
      const found = {
        conditions: [op('=', property('title'), constant('Title two'))],
        wanted: [wanted('id')],
      };
      for (const { path: how, rows } of tables.every(found))
        expect({ how: how.name, rows }).toEqual({ how: how.name, rows: [['two']] });
    });
  });
});

describe('to a caller who may read everything', () => {
  it('the branches differ', () => {
    const [first, second] = branches as [BranchFixture, BranchFixture];
    const all = callerWith(() => true);
    expect(answers(first, all)).not.toEqual(answers(second, all));
  });

  it('relations are shown, and reference found', () => {
    const [first] = branches as [BranchFixture, BranchFixture];
    const rows = withTables(
      first,
      {},
      (tables) =>
        tables.read({ conditions: [not(isNull(column('relations')))], wanted: [wanted('relations')] }).rows,
    );
    expect(rows).toEqual([
      [
        new Jsonb([
          {
            target: 'hidden-0',
            workspace: WORKSPACE,
            target_node_type: 'test:Document',
            relation_type: 'likes',
            weight: null,
          },
        ]),
      ],
    ]);
    const found = withTables(first, {}, (tables) =>
      tables.read({ conditions: [refersTo(`${WORKSPACE}:/two`)], wanted: [wanted('id')] }),
    );
    expect(found.access.description).toBe(`ReferenceScan: target=${WORKSPACE}:/two`);
    expect(found.rows.flat().toSorted()).toEqual(['three', 'two']);
  });
});
