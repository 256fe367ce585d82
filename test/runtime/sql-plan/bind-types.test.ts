import { describe, expect, it } from 'vitest';
import type { Jsonb } from '#runtime/sql-values/sql-value.ts';
import { bound, columns, errorOf, expression, shown, step } from './binding.ts';

const g = `FROM 'g'`;
const where = (condition: string, parameters: Parameters<typeof bound>[1] = []): string =>
  shown(step(bound(`SELECT id ${g} WHERE ${condition}`, parameters).query.plan, 'filter').predicate);

describe('literals', () => {
  it('are folded, and take the type that their context wants', () => {
    expect(expression('1 + 2 * 3')).toBe('7');
    expect(expression(`'41.9'::INT`)).toBe('41');
    expect(expression(`LENGTH('Grün')`)).toBe('4');
    expect(where(`created_at > '1970-01-01T00:00:01Z'`)).toBe('>(r0.c8, 1000000)');
    expect(where(`properties @> '{"a":1}'`)).toBe('@>(r0.c5, {"a":1})');
    expect(columns(`SELECT 'a', NULL`)).toEqual(['column1 TEXT', 'column2 TEXT']);
  });

  it('show where they cannot be read', () => {
    expect(errorOf(`SELECT id ${g} WHERE created_at > 'soon'`)).toMatch(
      /^Cannot cast 'soon'.* \(line 1, column 2\d\)/,
    );
    expect(errorOf(`SELECT id ${g} WHERE properties @> '{'`)).toMatch(/^Invalid JSON/);
    expect(errorOf(`SELECT 'abc'::INT`)).toMatch(/^Cannot cast 'abc' to INT \(line 1, column 8\)/);
    expect(errorOf(`SELECT INTERVAL '3 moons'`)).toMatch(/^Unsupported INTERVAL unit 'moons'/);
    expect(errorOf(`SELECT '5'::NUMERIC`)).toBe('Unsupported SQL type: NUMERIC (line 1, column 13)');
  });

  it('are not folded where the call fails, because it may never be made', () => {
    expect(expression('CASE WHEN FALSE THEN 1 / 0 END')).toBe('case(false, /(1, 0), null)');
    expect(expression('1 / 0')).toBe('/(1, 0)');
    expect(expression(`CASE WHEN FALSE THEN SUBSTRING('a', 1.5) END`)).toBe(
      'case(false, SUBSTRING(a, 1.5), null)',
    );
  });

  it('are not folded when they are long', () => {
    const long = 'x'.repeat(1_001);
    expect(expression(`UPPER('${long}')`)).toMatch(/^UPPER\(x/);
    expect(expression(`UPPER('${'x'.repeat(100)}')`)).toBe('X'.repeat(100));
    expect(expression(`REPEAT('${'x'.repeat(600)}', 2)`)).toMatch(/^REPEAT\(/);
    expect(expression(`'${long}' || 'a'`)).toMatch(/^\|\|\(/);
  });

  it('are not folded when the call takes long, or doubles JSON', () => {
    expect(expression(`JSON_EXISTS('[1]'::jsonb, '$[0]')`)).toBe('true');
    expect(expression(`JSON_EXISTS('[1]'::jsonb, '$..*')`)).toMatch(/^JSON_EXISTS\(/);
    expect(expression(`'[1]'::jsonb || '[2]'::jsonb`)).toMatch(/^\|\|\(/);
    expect(expression(`JSONB_ARRAY_LENGTH($1)`, [[1, 2]])).toMatch(/^JSONB_ARRAY_LENGTH\(/);
  });
});

describe('operators', () => {
  it('refuse operands of different kinds', () => {
    expect(errorOf(`SELECT id ${g} WHERE properties->>'stock' > 10`)).toBe(
      'Type mismatch: expected TEXT, got INT (line 1, column 26)',
    );
    expect(where(`(properties->>'stock')::INT > 10`)).toBe('>(CAST(->>(r0.c5, stock)), 10)');
    expect(errorOf(`SELECT id ${g} WHERE name`)).toMatch(
      /^Type mismatch: expected BOOLEAN in WHERE, got TEXT/,
    );
    expect(errorOf(`SELECT NOT 1`)).toMatch(/^Type mismatch: expected BOOLEAN in NOT, got INT/);
    expect(errorOf(`SELECT TRUE AND 1`)).toMatch(
      /^Type mismatch: expected BOOLEAN in AND, got INT \(line 1, column 17\)/,
    );
    expect(errorOf(`SELECT 1 IS TRUE`)).toMatch(/^Type mismatch: expected BOOLEAN in IS TRUE, got INT/);
  });

  it('cast what is extracted where the cast is written at the key', () => {
    expect(where(`properties->>'open'::Boolean = TRUE`)).toBe('=(CAST(->>(r0.c5, open)), true)');
    expect(where(`properties->>'open'::String = 'x'`)).toBe('=(->>(r0.c5, open), x)');
  });

  it('are and, or and not of flat lists', () => {
    expect(where(`id = 'a' AND (path = '/b' AND name = 'c') AND version = 1`)).toBe(
      'and(=(r0.c0, a), =(r0.c1, /b), =(r0.c2, c), =(r0.c7, 1))',
    );
    expect(where(`id = 'a' OR id = 'b' OR NOT id = 'c'`)).toBe(
      'or(=(r0.c0, a), =(r0.c0, b), not(=(r0.c0, c)))',
    );
    expect(where(`(id = 'a' OR id = 'b') AND id = 'c'`)).toBe(
      'and(or(=(r0.c0, a), =(r0.c0, b)), =(r0.c0, c))',
    );
  });

  it('refuse row values, and say what to write', () => {
    expect(errorOf(`SELECT id ${g} WHERE (path, id) > ('/beds', 'a')`)).toBe(
      'Row values such as (a, b) are not supported. Compare the columns one by one, ' +
        'for example (a < $1 OR (a = $1 AND b < $2)) (line 1, column 26)',
    );
    expect(errorOf(`SELECT (1, 2)`)).toMatch(/^Row values such as/);
  });

  it('take NULL as any type', () => {
    for (const text of [
      '1 + NULL',
      'NULL < 2.5',
      '1 = NULL',
      'NULL + NULL',
      '-NULL',
      `NULL LIKE 'a'`,
      'NULL = NULL',
    ])
      expect(expression(text)).toBe('null');
    expect(expression('NULL IS NULL')).toBe('null is null');
  });

  it('negate', () => {
    expect(where(`name NOT LIKE 'a%'`)).toBe('not(LIKE(r0.c2, a%))');
    expect(where(`name NOT ILIKE 'a%'`)).toBe('not(ILIKE(r0.c2, a%))');
    expect(where(`version NOT BETWEEN 1 AND 3`)).toBe('not(and(>=(r0.c7, 1), <=(r0.c7, 3)))');
    expect(where(`name IS NOT NULL`)).toBe('not(r0.c2 is null)');
    expect(where(`(name = 'a') IS UNKNOWN`)).toBe('=(r0.c2, a) is null');
    expect(where(`name IS NOT DISTINCT FROM NULL`)).toBe('IS NOT DISTINCT FROM(r0.c2, null)');
    expect(where(`name NOT IN ('a', 'b')`)).toBe('not(in(r0.c2, a, b))');
  });
});

describe('CASE, COALESCE, IN and arrays', () => {
  it('have common types', () => {
    expect(columns(`SELECT CASE WHEN TRUE THEN 1 ELSE 2.5 END, COALESCE(NULL, 'x'), NULLIF(2, 2.5)`)).toEqual(
      ['column1 DOUBLE', 'column2 TEXT', 'column3 INT'],
    );
    expect(errorOf(`SELECT CASE WHEN TRUE THEN 1 ELSE TRUE END`)).toMatch(
      /^Type mismatch: expected INT, got BOOLEAN/,
    );
    expect(errorOf(`SELECT id ${g} WHERE version IN (1, TRUE)`)).toMatch(
      /^Type mismatch: expected INT, got BOOLEAN/,
    );
    expect(where(`path IN ('/a', '/b')`)).toBe('in(r0.c1, /a, /b)');
    expect(errorOf(`SELECT id ${g} WHERE path IN ('a')`)).toMatch(/^Cannot cast 'a' to PATH|must start with/);
    expect(columns(`SELECT ARRAY[1, 2.5]`)).toEqual(['column1 DOUBLE[]']);
  });

  it('compare the operand of a simple CASE with each branch', () => {
    expect(expression(`CASE version WHEN 1 THEN 'a' WHEN 2 THEN 'b' END ${g}`)).toBe(
      'case(=(r0.c7, 1), a, =(r0.c7, 2), b, null)',
    );
    expect(errorOf(`SELECT CASE 1 WHEN TRUE THEN 1 END`)).toMatch(/^Type mismatch/);
  });

  it('take elements of arrays and of JSON', () => {
    expect(where(`'sun' = ANY(properties->'tags')`)).toBe('quantified(sun, JSON_ELEMENTS(->(r0.c5, tags)))');
    expect(where(`name = ANY(ARRAY['a', 'b'])`)).toBe('quantified(r0.c2, [a,b])');
    expect(where(`path = ANY(ARRAY['/a', '/b'])`)).toBe('quantified(r0.c1, [/a,/b])');
    expect(where(`name = ANY('{a,b}')`)).toBe('quantified(r0.c2, [a,b])');
    expect(where(`name = ANY($1)`, [['a', 5, null]])).toBe('quantified(r0.c2, [a,5,])');
    expect(where(`version = ANY($1)`, [[1, 'x', 2.5]])).toBe('quantified(r0.c7, [1,,2.5])');
    expect(where(`(properties->>'open')::BOOLEAN = ANY($1)`, [[true, 'x']])).toMatch(/\[true,\]\)$/);
    expect(errorOf(`SELECT 1 = ANY(2)`)).toMatch(/^ANY needs an array, got INT/);
    expect(errorOf(`SELECT 1 = ALL(ARRAY[TRUE])`)).toMatch(/^Type mismatch/);
    expect(errorOf('SELECT ARRAY[ARRAY[]]')).toMatch(/^Arrays of arrays .* \(line 1, column 8\)$/);
    expect(errorOf(`SELECT ARRAY[1] = ANY('{}')`)).toMatch(/^Arrays of arrays .* \(line 1, column 23\)$/);
  });

  it('are subscripted: JSON from 0, arrays from 1', () => {
    expect(expression(`properties['a'][0] ${g}`)).toBe('->(->(r0.c5, a), 0)');
    expect(expression(`(ARRAY['a', 'b'])[1]`)).toBe('a');
    expect(expression(`$.properties.soil.kind ${g}`)).toBe('->(->(r0.c5, soil), kind)');
    expect(expression(`$.properties.tags[0] ${g}`)).toBe('->(->(r0.c5, tags), 0)');
    expect(errorOf(`SELECT $.nothing.a ${g}`)).toMatch(/^Column not found: nothing/);
  });
});

describe('parameters', () => {
  it('become what they are compared with', () => {
    expect(where('version = $1', ['7'])).toBe('=(r0.c7, 7)');
    expect(where('name = $1', [7])).toBe('=(r0.c2, 7)');
    expect(where(`properties->>'open' = $1`, [true])).toBe('=(->>(r0.c5, open), true)');
    expect(where('properties @> $1', [{ a: 1 }])).toBe('@>(r0.c5, {"a":1})');
    expect(where('name = $1', [null])).toBe('=(r0.c2, null)');
    expect(where('name IN ($1, $2)', ['a', 2])).toBe('in(r0.c2, a, 2)');
    // The same operator for the same types, once for a parameter and once for a literal.
    expect(where('name = $1 OR name = $1', [7])).toBe('or(=(r0.c2, 7), =(r0.c2, 7))');
    expect(errorOf(`SELECT id ${g} WHERE name = $1 OR name = 7`, [7])).toMatch(
      /^Type mismatch: expected TEXT, got INT \(line 1, column 39\)/,
    );
    expect(errorOf(`SELECT id ${g} WHERE version = $1`, ['x'])).toMatch(/^Cannot cast 'x' to INT/);
    expect(errorOf(`SELECT id ${g} WHERE created_at > $1`, ['soon'])).toMatch(/^Cannot cast 'soon'/);
  });

  it('must be there, from $1 on', () => {
    expect(errorOf('SELECT $1 AS a')).toBe(
      'Parameter $1 not provided (only 0 parameters given) (line 1, column 8)',
    );
    expect(errorOf('SELECT $3', [1, 2])).toMatch(/^Parameter \$3 not provided \(only 2 parameters given\)/);
    expect(errorOf('SELECT $0', [1])).toMatch(/^Parameter indices must start at \$1/);
    expect(columns('SELECT $1, $2', [1, 'a'])).toEqual(['column1 INT', 'column2 TEXT']);
  });
});

describe('functions', () => {
  it('are found by name, number and types of arguments', () => {
    expect(errorOf('SELECT FROB(1)')).toBe('Function not found: FROB(INT) (line 1, column 8)');
    expect(errorOf(`SELECT LOWR('a')`)).toMatch(/^Function not found: LOWR\(TEXT\)\. Did you mean .*LOWER/);
    expect(errorOf(`SELECT LOWER()`)).toMatch(/^Invalid argument count for LOWER: expected 1, got 0/);
    expect(errorOf('SELECT NULLIF(1)')).toMatch(/^Invalid argument count for NULLIF: expected 2, got 1/);
    expect(errorOf('SELECT COALESCE()')).toMatch(
      /^Invalid argument count for COALESCE: expected at least 1, got 0|^Syntax/,
    );
  });

  it('of the session are constants', () => {
    expect(expression('NOW()')).toBe('1700000000000000');
    expect(expression('CURRENT_TIMESTAMP')).toBe('1700000000000000');
    expect(expression('CURRENT_DATE')).toBe('19675');
    expect(expression('CURRENT_USER')).toBe('ana');
    for (const schema of ['CURRENT_SCHEMA', 'current_schema', 'CURRENT_SCHEMA()'])
      expect(expression(schema)).toBe('public');
    for (const catalog of ['CURRENT_CATALOG', 'CURRENT_CATALOG()', 'CURRENT_DATABASE()'])
      expect(expression(catalog)).toBe('svc');
    expect(expression('CURRENT_BRANCH()')).toBe('main');
    expect(expression('CURRENT_SCHEMA()')).toBe('public');
    expect(expression('CURRENT_DATABASE()')).toBe('svc');
    expect(expression('VERSION()')).toBe('svc 1');
    expect(errorOf('SELECT NOW(1)')).toMatch(/^Invalid argument count for NOW: expected 0, got 1/);
  });

  it('compute NULLIF without a second evaluation of its operand', () => {
    expect(expression('NULLIF(2, 2)')).toBe('null');
    expect(expression('NULLIF(2, 3)')).toBe('2');
    expect(expression('NULLIF(NULL, 3)')).toBe('null');
    expect(expression(`NULLIF(name, 'a') ${g}`)).toBe('NULLIF(r0.c2, a)');
  });

  it('make an object of a whole row', () => {
    expect(expression(`TO_JSON(t) FROM (VALUES (1, 'x')) AS t(a, __proto__)`)).toBe('TO_JSONB(r1.c0, r1.c1)');
    const { output } = bound(`SELECT TO_JSONB(t) FROM (VALUES (1, 'x')) AS t(a, __proto__)`).query;
    const call = output[0]!.expression;
    const row = call.kind === 'call' ? call.function.evaluate(1, 'x') : null;
    expect(JSON.stringify((row as Jsonb).value)).toBe('{"a":1,"__proto__":"x"}');
    expect(expression(`TO_JSONB(t) FROM (VALUES (1)) AS t(t)`)).toBe('TO_JSONB(r1.c0)');
    expect(errorOf(`SELECT TO_JSON(u) FROM (VALUES (1)) AS t(a)`)).toMatch(/^Column not found: u/);
  });
});
