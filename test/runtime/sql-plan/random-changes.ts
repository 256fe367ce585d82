import fc from 'fast-check';

/** Texts of statements that write rows of the workspaces `g` and `p`: most of them can be bound. */

/** Operands of conditions, and whether each names one node, or says which branch is written. */
export interface Operand {
  readonly text: string;
  readonly is: 'point' | 'branch' | 'other';
}

const operands: readonly Operand[] = [
  ...[
    `id = 'a'`,
    'id = $1',
    `path = '/a/b'`,
    'path = $1',
    `__id = 'a'`,
    `g.path = '/'`,
    'id = NULL',
    `(id) = ('a')`,
  ].map((text): Operand => ({ text, is: 'point' })),
  ...[`__branch = 'dev'`, `'dev' = __branch`, `g.__branch = 'dev'`, '__branch = $2'].map(
    (text): Operand => ({ text, is: 'branch' }),
  ),
  ...[
    `'a' = id`,
    `id IN ('a')`,
    `id = 'a'::text`,
    `id = name`,
    `id <> 'a'`,
    `NOT id = 'a'`,
    `id = 'a' OR id = 'b'`,
    `name = 'a'`,
    `path LIKE '/a%'`,
    `CHILD_OF('/a')`,
    `properties->>'k' = 'v'`,
    `version BETWEEN 1 AND 2`,
    `__branch <> 'dev'`,
    `id = ANY ($3)`,
    `id = LOWER('A')`,
    'TRUE',
  ].map((text): Operand => ({ text, is: 'other' })),
];

/** Operands of ANDs. */
export const conjunction: fc.Arbitrary<readonly Operand[]> = fc.array(fc.constantFrom(...operands), {
  minLength: 1,
  maxLength: 4,
});

/** Their text, with parentheses around some of them and around some ANDs. */
export function conditionText(parts: readonly Operand[], nesting: readonly boolean[]): string {
  const texts = parts.map(({ text }, at) =>
    text.includes(' OR ') || nesting[at] === true ? `(${text})` : text,
  );
  return texts.reduce((left, right, at) =>
    nesting[at + parts.length] === true ? `(${left} AND ${right})` : `${left} AND ${right}`,
  );
}

export const nestings: fc.Arbitrary<readonly boolean[]> = fc.array(fc.boolean(), {
  minLength: 8,
  maxLength: 8,
});

const atoms = fc.constantFrom(
  `'x'`,
  `'{"a":1}'`,
  `'[1]'`,
  `'/a/b'`,
  `'{}'::jsonb`,
  'NULL',
  '5',
  '1.5',
  'TRUE',
  '$1',
  '$2',
  '$3',
  '$4',
  '$9',
  'name',
  'path',
  'g.name',
  'p.name',
  'properties',
  'created_at',
  `properties->'k'`,
  `properties->>'k'`,
  'bogus',
  'COUNT(*)',
  'ROW_NUMBER() OVER ()',
  '(SELECT 1)',
  'NOW()',
);

const { expression } = fc.letrec<{ readonly expression: string }>((tie) => ({
  expression: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { arbitrary: atoms, weight: 4 },
    { arbitrary: tie('expression').map((inner) => `LOWER(${inner})`), weight: 1 },
    { arbitrary: tie('expression').map((inner) => `${inner}::text`), weight: 1 },
    { arbitrary: tie('expression').map((inner) => `JSONB_SET(properties, '{a,b}', ${inner})`), weight: 1 },
    {
      arbitrary: fc
        .tuple(tie('expression'), fc.constantFrom('||', '-', '=', '->'), tie('expression'))
        .map(([left, operator, right]) => `(${left} ${operator} ${right})`),
      weight: 2,
    },
    {
      arbitrary: fc
        .tuple(tie('expression'), tie('expression'))
        .map(([left, right]) => `CASE WHEN name = 'x' THEN ${left} ELSE COALESCE(${right}, NULL) END`),
      weight: 1,
    },
  ),
}));

const table = fc.constantFrom(`'g'`, 'g', '"p"', 'SvcAccessControl', `'nowhere'`, 'NodeTypes');
const column = fc.constantFrom('name', 'path', 'properties', 'translations', 'archetype', 'owner_id');
const anyColumn = fc.oneof(
  { arbitrary: column, weight: 8 },
  { arbitrary: fc.constantFrom('id', 'version', 'nme', '__path'), weight: 1 },
);

const returning = fc.oneof(
  { arbitrary: fc.constant(''), weight: 3 },
  {
    arbitrary: fc
      .array(fc.oneof(expression, fc.constantFrom('*', 'g.*', 'id AS i')), { minLength: 1, maxLength: 3 })
      .map((items) => ` RETURNING ${items.join(', ')}`),
    weight: 1,
  },
);

const where = fc.oneof(
  {
    arbitrary: fc
      .tuple(conjunction, nestings)
      .map(([parts, nesting]) => ` WHERE ${conditionText(parts, nesting)}`),
    weight: 8,
  },
  { arbitrary: expression.map((text) => ` WHERE ${text}`), weight: 1 },
  { arbitrary: fc.constantFrom('', ` WHERE __revision = 5`, ` WHERE id = 'a' AND locale = 'de'`), weight: 1 },
);

const insert = fc
  .record({
    word: fc.constantFrom('INSERT', 'UPSERT'),
    table,
    columns: fc.uniqueArray(anyColumn, { maxLength: 3 }),
    hasRequired: fc.integer({ min: 0, max: 9 }),
    isQuery: fc.boolean(),
    returning,
  })
  .chain(({ columns, hasRequired, isQuery, returning: list, table: into, word }) => {
    const rest = columns.filter((name) => name !== 'path');
    const all = hasRequired === 0 ? ['path', ...rest] : ['path', 'node_type', ...rest];
    const row = fc.tuple(
      ...all.map((name, at) => (at < 2 && name !== 'name' ? fc.constantFrom(`'/x'`, '$1') : expression)),
    );
    return fc.array(row, { minLength: 1, maxLength: 3 }).map((rows) => {
      const source = isQuery
        ? `SELECT ${rows[0]?.join(', ')} FROM 'g'`
        : `VALUES ${rows.map((values) => `(${values.join(', ')})`).join(', ')}`;
      return `${word} INTO ${into} (${all.join(', ')}) ${source}${list}`;
    });
  });

const update = fc
  .record({
    table,
    values: fc.array(fc.tuple(anyColumn, expression), { minLength: 1, maxLength: 2 }),
    where,
    returning,
  })
  .map(
    ({ returning: list, table: name, values, where: condition }) =>
      `UPDATE ${name} SET ${values.map(([to, value]) => `${to} = ${value}`).join(', ')}${condition}${list}`,
  );

const remove = fc
  .record({ table, where, returning })
  .map(({ returning: list, table: name, where: condition }) => `DELETE FROM ${name}${condition}${list}`);

/** A statement that writes rows, for {@link changeParameters}. */
export const arbitraryChange: fc.Arbitrary<string> = fc.oneof(insert, update, remove);

/** What its parameters are. */
export const changeParameters = ['/a/b', 'dev', ['a', 'b'], { k: 1 }];
