import { describe, expect, test } from 'vitest';
import { parseStatement } from '#runtime/sql-syntax/parse-statements.ts';
import { selected, shapeOf, withoutSpans } from './syntax-shape.ts';

describe('precedence', () => {
  test.each([
    ['a + b * c', '(+ a (* b c))'],
    ['a - b - c', '(- (- a b) c)'],
    ['a || b + c', '(|| a (+ b c))'],
    ['a = b || c', '(= a (|| b c))'],
    ["a ->> 'x' || b ->> 'y'", "(|| (->> a 'x') (->> b 'y'))"],
    ["-a -> 'x'", "(- (-> a 'x'))"],
    ['-a::text', '(- (::text a))'],
    ['- - a', '(- (- a))'],
    ['a * -b', '(* a (- b))'],
    ['a[1]::int', '(::int ([] a 1))'],
    ["a -> 'x'[1]", "(-> a ([] 'x' 1))"],
    ['a @> b || c', '(@> a (|| b c))'],
    ['a @> b = c', '(= (@> a b) c)'],
    ['a @@ b @> c', '(@@ a (@> b c))'],
    ['a = b IS NULL', '(is-null (= a b))'],
    ['a < b LIKE c', '(like (< a b) c)'],
    ['NOT a = b', '(NOT (= a b))'],
    ['NOT a IS NULL', '(NOT (is-null a))'],
    ['NOT a AND b', '(AND (NOT a) b)'],
    ['NOT NOT a', '(NOT (NOT a))'],
    ['a = NOT b', '(= a (NOT b))'],
    ['a OR b AND c OR d', '(OR (OR a (AND b c)) d)'],
    ['a AND b AND c', '(AND (AND a b) c)'],
    ['(a OR b) AND c', '(AND (OR a b) c)'],
    ['a AND (b AND c)', '(AND a (AND b c))'],
    ['a != b', '(<> a b)'],
    ['a % b / c', '(/ (% a b) c)'],
    ['a #- b || c', '(#- a (|| b c))'],
    ['a ?| b', '(?| a b)'],
    ['a <@ b', '(<@ a b)'],
  ])('%s', (text, tree) => {
    expect(shapeOf(text)).toBe(tree);
  });
});

describe('predicates', () => {
  test.each([
    ['a BETWEEN 1 AND 2', '(between a 1 2)'],
    ['a NOT BETWEEN 1 AND 2 AND b', '(AND (not-between a 1 2) b)'],
    ['a BETWEEN 1 + 1 AND 2 * 2 OR b', '(OR (between a (+ 1 1) (* 2 2)) b)'],
    ['a BETWEEN (b OR c) AND d', '(between a (OR b c) d)'],
    ['x OR a BETWEEN 1 AND 2 AND c BETWEEN 3 AND 4', '(OR x (AND (between a 1 2) (between c 3 4)))'],
    ['a IN (1, 2)', '(in a 1 2)'],
    ['a NOT IN (1)', '(not-in a 1)'],
    ['a IN (SELECT 1)', '(in-query a)'],
    ['a IN ((SELECT 1))', '(in-query a)'],
    ['a IN ((SELECT 1) + 1)', '(in a (+ subquery 1))'],
    ["a NOT LIKE 'x' || b", "(not-like a (|| 'x' b))"],
    ["a ILIKE 'x'", "(ilike a 'x')"],
    ["a NOT ILIKE 'x' AND b", "(AND (not-ilike a 'x') b)"],
    ['a IS DISTINCT FROM b AND c', '(AND (distinct a b) c)'],
    ['a IS NOT DISTINCT FROM b', '(not-distinct a b)'],
    ['a IS NOT TRUE', '(is-not-true a)'],
    ['a IS FALSE', '(is-false a)'],
    ['a IS UNKNOWN', '(is-unknown a)'],
    ['a = ANY(b)', '(=any a b)'],
    ['a <> SOME (b) AND c', '(AND (<>any a b) c)'],
    ['a + 1 >= ALL (b)', '(>=all (+ a 1) b)'],
    ['a < ANY (SELECT 1)', '(<any-query a)'],
    ['NOT EXISTS (SELECT 1)', '(NOT exists)'],
    ['(a, b) < (c, d)', '(< (row a b) (row c d))'],
  ])('%s', (text, tree) => {
    expect(shapeOf(text)).toBe(tree);
  });
});

describe('a cast behind the key of an extraction is one of what is extracted', () => {
  test.each([
    ["a->>'k'::int", "(::int (->> a 'k'))"],
    ["a->'k'::jsonb->'l'", "(-> (::jsonb (-> a 'k')) 'l')"],
    ["a->'k'->>'l'::Integer", "(::integer (->> (-> a 'k') 'l'))"],
    ["a->>'k'::text::int = 1", "(= (::int (::text (->> a 'k'))) 1)"],
    ["a->>('k'::text)", "(->> a (::text 'k'))"],
    ['a->>k::text', '(->> a (::text k))'],
    ["(a->>'k')::int", "(::int (->> a 'k'))"],
    ["a @> '{}'::jsonb", "(@> a (::jsonb '{}'))"],
  ])('%s', (text, tree) => {
    expect(shapeOf(text)).toBe(tree);
  });
});

describe('literals', () => {
  test.each([
    ['42', 'int', 42],
    ['2147483647', 'int', 2147483647],
    ['2147483648', 'bigint', 2147483648n],
    ['00000000000000000000000007', 'int', 7],
    ['9223372036854775807', 'bigint', 9223372036854775807n],
    ['9223372036854775808', 'double', 2 ** 63],
    ['-9223372036854775808', 'bigint', -9223372036854775808n],
    ['- 009223372036854775808', 'bigint', -9223372036854775808n],
    ['1.5', 'double', 1.5],
    ['.5', 'double', 0.5],
    ['2.', 'double', 2],
    ['2e3', 'double', 2000],
    ['1E-2', 'double', 0.01],
    ["'it''s'", 'text', "it's"],
    ["''", 'text', ''],
    ['$$it\'s "raw"$$', 'text', 'it\'s "raw"'],
    ['$a$x $$ y$a$', 'text', 'x $$ y'],
    ['tRuE', 'boolean', true],
    ['false', 'boolean', false],
    ['null', 'null', null],
  ] as const)('%s', (text, type, value) => {
    expect(withoutSpans(selected(parseStatement(`SELECT ${text}`)))).toEqual({
      kind: 'literal',
      type,
      value,
    });
  });

  test('the least BIGINT is one only with its sign beside it', () => {
    expect(shapeOf('- -9223372036854775808')).toBe('(- -9223372036854775808)');
    expect(shapeOf('-9223372036854775808.0')).toBe('(- 9223372036854776000)');
    expect(shapeOf('-9223372036854775808::text')).toBe('(- (::text 9223372036854776000))');
    expect(shapeOf('+9223372036854775808')).toBe('(+ 9223372036854776000)');
  });

  test('a number with letters behind it', () => {
    expect(() => parseStatement('SELECT 12ab')).toThrow('the number 12 is followed by "ab"');
    expect(shapeOf('1 ab')).toBe('1');
  });

  test('a number that is too large', () => {
    expect(() => parseStatement('SELECT 1e999')).toThrow('Number out of range: 1e999');
  });
});

describe('other operands', () => {
  test.each([
    ['$12', '$12'],
    ['$.properties.a."b c"[0].from', '$.properties/a/b c/0/from'],
    ["ARRAY['a', b]", "(array 'a' b)"],
    ['ARRAY[]', '(array)'],
    ['a[1][2]', '([] ([] a 1) 2)'],
    ['t.name', 't.name'],
    ['t."A b"', 't.A b'],
    ['"select"', 'select'],
    ['"a""b"', 'a"b'],
    ['Path', 'Path'],
    ['CAST(a AS double precision)', '(::double precision a)'],
    ['a::timestamp with time zone', '(::timestamp with time zone a)'],
    ['a::text[]', '(::text[] a)'],
    ['a::vector(3)', '(::vector(3) a)'],
    ["DATE '2020-01-01'", "(::date '2020-01-01')"],
    ['current_date', '(CURRENT_DATE)'],
    ['"current_date"', 'current_date'],
    ['now()', '(NOW)'],
    ['left(a, 2)', '(LEFT a 2)'],
    ['extract(year FROM a)', "(EXTRACT 'year' a)"],
    ['substring(a FROM 2 FOR 3)', '(SUBSTRING a 2 3)'],
    ['substring(a FOR 3)', '(SUBSTRING a 1 3)'],
    ['substring(a, 2)', '(SUBSTRING a 2)'],
    ["trim(LEADING 'x' FROM a)", "(LTRIM a 'x')"],
    ['trim(TRAILING FROM a)', '(RTRIM a)'],
    ["trim(BOTH 'x' FROM a)", "(TRIM a 'x')"],
    ["trim('x' FROM a)", "(TRIM a 'x')"],
    ['trim(a)', '(TRIM a)'],
    ["position('a' IN b)", "(POSITION 'a' b)"],
    ["position('a' IN b) IN (1)", "(in (POSITION 'a' b) 1)"],
  ])('%s', (text, tree) => {
    expect(shapeOf(text)).toBe(tree);
  });

  test.each([
    'name',
    'path',
    'version',
    'locale',
    'depth',
    'id',
    'values',
    'first',
    'position',
    'interval',
    'exists',
    'row',
    'filter',
    'over',
    'range',
    'only',
    'current',
  ])('the column %s', (column) => {
    expect(shapeOf(`${column} FROM x`)).toBe(column);
  });

  test('an interval', () => {
    expect(withoutSpans(selected(parseStatement("SELECT INTERVAL '2 days'")))).toEqual({
      kind: 'interval',
      text: '2 days',
    });
  });

  test('a simple and a searched CASE', () => {
    const literal = (value: number) => ({ kind: 'literal', type: 'int', value });
    const column = { kind: 'column', name: 'a' };
    expect(withoutSpans(selected(parseStatement('SELECT CASE a WHEN 1 THEN 2 ELSE 3 END')))).toEqual({
      kind: 'case',
      operand: column,
      branches: [
        Object.fromEntries([
          ['when', literal(1)],
          ['then', literal(2)],
        ]),
      ],
      otherwise: literal(3),
    });
    expect(withoutSpans(selected(parseStatement('SELECT CASE WHEN a THEN 2 END')))).toEqual({
      kind: 'case',
      branches: [
        Object.fromEntries([
          ['when', column],
          ['then', literal(2)],
        ]),
      ],
    });
  });
});

describe('calls', () => {
  const call = (text: string) => withoutSpans(selected(parseStatement(`SELECT ${text}`)));
  const column = (name: string) => ({ kind: 'column', name });
  const plain = { kind: 'call', args: [], isStar: false, isDistinct: false, orderBy: [] };

  test('COUNT(*) and DISTINCT', () => {
    expect(call('count(*)')).toEqual({ ...plain, name: 'COUNT', isStar: true });
    expect(call('Count(DISTINCT a)')).toEqual({
      ...plain,
      name: 'COUNT',
      isDistinct: true,
      args: [column('a')],
    });
    expect(call('count(ALL a)')).toEqual({ ...plain, name: 'COUNT', args: [column('a')] });
  });

  test('an order of the arguments and a filter', () => {
    expect(call("string_agg(a, ',' ORDER BY b DESC NULLS LAST, c) FILTER (WHERE d)")).toEqual({
      ...plain,
      name: 'STRING_AGG',
      args: [column('a'), { kind: 'literal', type: 'text', value: ',' }],
      orderBy: [
        { expression: column('b'), isDescending: true, nullsFirst: false },
        { expression: column('c'), isDescending: false },
      ],
      filter: column('d'),
    });
  });

  test.each([
    [
      'ROWS 2 PRECEDING',
      'rows',
      { kind: 'preceding', distance: { kind: 'literal', type: 'int', value: 2 } },
      { kind: 'current-row' },
    ],
    ['ROWS UNBOUNDED PRECEDING', 'rows', { kind: 'unbounded-preceding' }, { kind: 'current-row' }],
    [
      'RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING',
      'range',
      { kind: 'current-row' },
      { kind: 'unbounded-following' },
    ],
    [
      'ROWS BETWEEN a PRECEDING AND $1 FOLLOWING',
      'rows',
      { kind: 'preceding', distance: column('a') },
      { kind: 'following', distance: { kind: 'parameter', index: 1 } },
    ],
  ])('a window with the frame %s', (text, unit, start, end) => {
    expect(call(`sum(a) OVER (PARTITION BY b, c ORDER BY d ${text})`)).toEqual({
      ...plain,
      name: 'SUM',
      args: [column('a')],
      over: {
        partitionBy: [column('b'), column('c')],
        orderBy: [{ expression: column('d'), isDescending: false }],
        frame: { unit, start, end },
      },
    });
  });

  test('an empty window', () => {
    expect(call('row_number() OVER ()')).toEqual({
      ...plain,
      name: 'ROW_NUMBER',
      over: { partitionBy: [], orderBy: [] },
    });
  });
});
