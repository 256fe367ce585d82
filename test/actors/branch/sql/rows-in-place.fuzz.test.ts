import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';

const STATEMENTS = workloadCount(160);

/** Values of one property: what is read fast, and all that is not. */
const values: readonly (JsonValue | undefined)[] = [
  ...[0, 1, 7, -7, 2.5, -0.5, 1e-7, 123456789012345, 2147483647, -2147483648, 2147483648],
  ...['7', ' 8 ', '-3', '2.9', '1e2', 'seven', '', 'NaN'],
  ...[
    'plain',
    'Plain',
    'plain ',
    'quo"te',
    'back\\slash',
    'new\nline',
    'ä',
    '日本',
    '😀',
    '\ufffd',
    '\ud800',
  ],
  ...[true, false, null, undefined, [7], { a: 7 }],
];

/** Those of which every cast to a number succeeds. */
const castable: readonly JsonValue[] = [
  0,
  1,
  7,
  -7,
  2.5,
  -0.5,
  1e-7,
  2147483647,
  '7',
  ' 8 ',
  '-3',
  '2.9',
  '1e2',
  null,
];

/** Expressions and conditions. `P` is the object of properties. */
const numbers = [
  "(P->>'i')::INT",
  "(P->>'m')::INT",
  "(P->>'m')::BIGINT",
  "(P->>'m')::DOUBLE",
  "(P->>'n')::INT",
];
const texts = ["P->>'t'", "P->>'n'", "UPPER(P->>'t')", "P->>'none'", 'node_type', 'name'];
const conditions = [
  "(P->>'i')::INT % 3 = 1",
  "(P->>'i')::INT BETWEEN 5 AND 40",
  "(P->>'m')::DOUBLE > 1",
  "(P->>'n')::INT = 7",
  "P->>'t' = 'plain'",
  "P->>'t' = 'quo\"te'",
  "P->>'n' = '7'",
  "P->>'t' <> 'plain'",
  "NOT (P->>'t' = 'ä')",
  "P->>'t' = '\ufffd'",
  "P->>'t' IS NULL",
  "P->>'t' LIKE '%l%'",
  "node_type = 'test:Leaf'",
  "name = 'n7'",
  "P->'n' IS NOT NULL",
];

const number = fc.constantFrom(...numbers);
const text = fc.constantFrom(...texts);
const condition = fc
  .array(fc.constantFrom(...conditions), { minLength: 1, maxLength: 3 })
  .chain((parts) => fc.constantFrom(' AND ', ' OR ').map((between) => `(${parts.join(between)})`));
const where = fc.option(condition).map((holds) => (holds === null ? '' : ` WHERE ${holds}`));
const aggregate = fc.oneof(
  fc.constantFrom('COUNT(*)', "COUNT(P->>'t')", "COUNT(DISTINCT P->>'t')", "MAX(P->>'t')"),
  number.chain((of) => fc.constantFrom('SUM', 'MIN', 'MAX', 'COUNT', 'AVG').map((name) => `${name}(${of})`)),
  condition.map((holds) => `COUNT(*) FILTER (WHERE ${holds})`),
);
const value = fc.oneof(number, text);
const statement = fc.oneof(
  fc
    .tuple(
      fc.array(value, { minLength: 1, maxLength: 2 }),
      fc.array(aggregate, { minLength: 1, maxLength: 3 }),
      where,
    )
    .map(
      ([keys, called, holds]) =>
        `SELECT ${[...keys, ...called].join(', ')} FROM W${holds} GROUP BY ${keys.join(', ')}`,
    ),
  fc.tuple(aggregate, where).map(([called, holds]) => `SELECT ${called} FROM W${holds}`),
  fc.tuple(value, where).map(([shown, holds]) => `SELECT DISTINCT ${shown} FROM W${holds}`),
  fc
    .tuple(
      fc.array(value, { minLength: 1, maxLength: 4 }),
      where,
      value,
      fc.constantFrom('', ' DESC', ' NULLS FIRST'),
      fc.nat(9),
    )
    .map(
      ([shown, holds, key, how, most]) =>
        `SELECT ${shown.join(', ')} FROM W${holds} ORDER BY ${key}${how} LIMIT ${most}`,
    ),
  fc
    .tuple(value, number, text)
    .map(
      ([shown, key, part]) =>
        `SELECT ${shown}, ROW_NUMBER() OVER (PARTITION BY ${part} ORDER BY ${key}, id) FROM W`,
    ),
);

let branch: BranchFixture;

beforeAll(async () => {
  branch = await openBranch({ nodeTypes: [{ name: 'test:Leaf' }, { name: 'test:Other' }] });
  await branch.command({
    type: 'CommitOperations',
    workspace: WORKSPACE,
    commit: { message: 'values' },
    operations: Array.from({ length: 4 * values.length }, (_, index) => {
      const value = values[index % values.length];
      const other = values[(index * 7) % values.length];
      return {
        type: 'create' as const,
        parentPath: '/',
        node: {
          name: `n${index}`,
          nodeType: index % 5 === 0 ? 'test:Other' : 'test:Leaf',
          properties: {
            i: index,
            ...(value === undefined ? {} : { n: value }),
            m: castable[index % castable.length],
            ...(other === undefined ? {} : { t: other }),
          } as never,
        },
      };
    }),
  });
}, 20_000);
afterAll(() => branch.close());

/** What is read of the stored bytes, and what is read of whole properties that an operator has made. */
const ways = ['properties', "(properties || '{}'::JSONB)"] as const;

/** The rows of a statement; of one that fails only that. */
async function rowsOf(pattern: string, properties: string): Promise<unknown> {
  const sql = pattern.replaceAll('P->', `${properties}->`).replace(' FROM W', ` FROM ${WORKSPACE}`);
  try {
    const { rows } = (await branch.query({ type: 'RunSql', sql, parameters: [] })) as { rows: object[] };
    return rows.map((row) => Object.values(row));
  } catch (error) {
    expect(error).toMatchObject({ code: 'VALIDATION_FAILED' });
    return 'refused';
  }
}

it('statements of chance have the same rows from stored bytes as from decoded properties [SQL-148]', async () => {
  let answered = 0;
  await fc.assert(
    fc.asyncProperty(statement, async (pattern) => {
      const [fast, general] = [await rowsOf(pattern, ways[0]), await rowsOf(pattern, ways[1])];
      expect(fast).toEqual(general);
      if (fast !== 'refused') answered += 1;
    }),
    { numRuns: STATEMENTS, seed: 20_261_128 },
  );
  expect(answered).toBeGreaterThan(STATEMENTS / 2);
});
