import { describe, expect, test } from 'vitest';
import { parseStatement, parseStatements } from '#runtime/sql-syntax/parse-statements.ts';
import { printStatement } from '#runtime/sql-syntax/print-statement.ts';
import { queryOf, selected, withoutSpans } from './syntax-shape.ts';

/** Texts beside how they are printed: the printed form shows what was read. */
const forms: readonly (readonly [string, string])[] = [
  ['select 1', 'SELECT 1'],
  ['VALUES (1, 2), (3, 4)', 'VALUES (1, 2), (3, 4)'],
  [
    'SELECT a b, c AS select, "d" "E" FROM t',
    'SELECT a AS b, c AS "select", d AS "E" FROM t'.replace('"E"', 'E'),
  ],
  ['SELECT *, t.*, count(*) FROM t', 'SELECT *, t.*, COUNT(*) FROM t'],
  ['SELECT * FROM \'a b\' x, "ws" AS y, Bare', 'SELECT * FROM "a b" AS x, "ws" AS y, Bare'],
  ['SELECT * FROM t AS u(a, b)', 'SELECT * FROM t AS u (a, b)'],
  ['SELECT ALL a FROM t', 'SELECT a FROM t'],
  ['SELECT DISTINCT a FROM t', 'SELECT DISTINCT a FROM t'],
  ['SELECT DISTINCT ON (a, b) c FROM t', 'SELECT DISTINCT ON (a, b) c FROM t'],
  [
    'SELECT a FROM t WHERE b GROUP BY a, c + 1 HAVING count(*) > 1 ORDER BY a ASC, b DESC NULLS FIRST',
    'SELECT a FROM t WHERE b GROUP BY a, c + 1 HAVING COUNT(*) > 1 ORDER BY a, b DESC NULLS FIRST',
  ],
  ['SELECT 1 LIMIT 2 OFFSET $1', 'SELECT 1 LIMIT 2 OFFSET $1'],
  ['SELECT 1 OFFSET 3 ROWS LIMIT 2', 'SELECT 1 LIMIT 2 OFFSET 3'],
  ['SELECT 1 LIMIT ALL', 'SELECT 1'],
  ['SELECT 1 FETCH FIRST 3 ROWS ONLY', 'SELECT 1 LIMIT 3'],
  ['SELECT 1 OFFSET 1 ROW FETCH NEXT ROW ONLY', 'SELECT 1 LIMIT 1 OFFSET 1'],
  [
    'SELECT * FROM a JOIN b ON x LEFT OUTER JOIN c ON y RIGHT JOIN d ON z FULL JOIN e ON w CROSS JOIN f INNER JOIN g ON v',
    'SELECT * FROM a JOIN b ON x LEFT JOIN c ON y RIGHT JOIN d ON z FULL JOIN e ON w CROSS JOIN f JOIN g ON v',
  ],
  ['SELECT * FROM a JOIN (b JOIN c ON x) ON y', 'SELECT * FROM a JOIN (b JOIN c ON x) ON y'],
  ['SELECT * FROM (a JOIN b ON x) JOIN c ON y', 'SELECT * FROM a JOIN b ON x JOIN c ON y'],
  [
    'SELECT * FROM (SELECT 1) AS t, (VALUES (1)) u(a)',
    'SELECT * FROM (SELECT 1) AS t, (VALUES (1)) AS u (a)',
  ],
  ['SELECT * FROM (SELECT 1)', 'SELECT * FROM (SELECT 1)'],
  ['SELECT * FROM ((SELECT 1) AS a CROSS JOIN b)', 'SELECT * FROM (SELECT 1) AS a CROSS JOIN b'],
  ["SELECT * FROM f(1, 'x') AS g, LATERAL h(a) i", "SELECT * FROM F(1, 'x') AS g, LATERAL H(a) AS i"],
  ['SELECT * FROM a, LATERAL (SELECT 1) b', 'SELECT * FROM a, LATERAL (SELECT 1) AS b'],
  ['SELECT 1 UNION SELECT 2 INTERSECT SELECT 3', 'SELECT 1 UNION SELECT 2 INTERSECT SELECT 3'],
  ['(SELECT 1 UNION SELECT 2) INTERSECT SELECT 3', '(SELECT 1 UNION SELECT 2) INTERSECT SELECT 3'],
  ['SELECT 1 EXCEPT (SELECT 2 EXCEPT ALL SELECT 3)', 'SELECT 1 EXCEPT (SELECT 2 EXCEPT ALL SELECT 3)'],
  ['SELECT 1 UNION DISTINCT SELECT 2 UNION ALL VALUES (3)', 'SELECT 1 UNION SELECT 2 UNION ALL VALUES (3)'],
  ['((SELECT 1))', 'SELECT 1'],
  [
    '(SELECT 1 LIMIT 1) UNION (SELECT 2 ORDER BY 1) ORDER BY 1',
    '(SELECT 1 LIMIT 1) UNION (SELECT 2 ORDER BY 1) ORDER BY 1',
  ],
  ['SELECT ((SELECT 1) UNION SELECT 2)', 'SELECT (SELECT 1 UNION SELECT 2)'],
  ['SELECT ((SELECT 1) + 2)', 'SELECT (SELECT 1) + 2'],
  ['SELECT ((SELECT 1), 2)', 'SELECT ((SELECT 1), 2)'],
  [
    'WITH a AS (SELECT 1), b (c, d) AS (SELECT 2, 3) SELECT * FROM a',
    'WITH a AS (SELECT 1), b (c, d) AS (SELECT 2, 3) SELECT * FROM a',
  ],
  ['WITH RECURSIVE r AS (SELECT 1) SELECT * FROM r', 'WITH RECURSIVE r AS (SELECT 1) SELECT * FROM r'],
  ['WITH recursive AS (SELECT 1) SELECT 2', 'WITH "recursive" AS (SELECT 1) SELECT 2'],
  ['SELECT count(*) over FROM t', 'SELECT COUNT(*) AS "over" FROM t'],
  [
    'SELECT 1 AS case, 2 AS end FROM ((SELECT 1) UNION SELECT 2) t',
    'SELECT 1 AS "case", 2 AS "end" FROM (SELECT 1 UNION SELECT 2) AS t',
  ],
  ['EXPLAIN SELECT 1', 'EXPLAIN SELECT 1'],
  ['explain analyze verbose (select 1)', 'EXPLAIN ANALYZE VERBOSE SELECT 1'],
];

describe('queries', () => {
  test.each(forms)('%s', (text, printed) => {
    expect(printStatement(parseStatement(text))).toBe(printed);
  });
});

describe('a text of several statements', () => {
  test('empty pieces are left out', () => {
    expect(
      parseStatements(';; SELECT 1;\n;SELECT 2; -- end').map(({ statement }) => printStatement(statement)),
    ).toEqual(['SELECT 1', 'SELECT 2']);
  });

  test.each([
    ["SELECT ';' ; SELECT 2", ';'],
    ["SELECT 'it'';s'; SELECT 2", "it';s"],
    ['SELECT $$;$$; SELECT 2', ';'],
    ['SELECT $t$;$$;$t$; SELECT 2', ';$$;'],
  ])('%s: a string is one piece', (text, value) => {
    const statements = parseStatements(text);
    expect(statements).toHaveLength(2);
    expect(selected(statements[0]!.statement)).toMatchObject({ value });
  });

  test.each([
    'SELECT 1 /* ; /* ; */ ; */ ; SELECT 2',
    'SELECT 1 -- ;\n; SELECT 2',
    'SELECT ";" FROM t; SELECT 2',
  ])('%s: comments and names too', (text) => {
    expect(parseStatements(text)).toHaveLength(2);
  });

  test('nothing in it', () => {
    expect(() => parseStatements(' \n\t')).toThrow('Empty statement');
    expect(() => parseStatements('-- nothing\n/* at all */ ; ')).toThrow('No valid statements to execute');
  });

  test('the places of a later statement are places of the text', () => {
    const text = 'SELECT 1;\n  SELECT bb';
    const [, second] = parseStatements(text);
    expect(second!.statement.span).toEqual({ start: 12, end: 21 });
    const { span } = selected(second!.statement);
    expect(text.slice(span.start, span.end)).toBe('bb');
    expect(second!.text).toBe(text);
  });
});

test('every node has the place of its text', () => {
  const text = "SELECT a + (b * c) ->> 'k'::int, d BETWEEN 1 AND (2)";
  const { body } = queryOf(parseStatement(text));
  if (body.kind !== 'select') throw new Error('no select');
  const places = body.items.map((item) =>
    item.kind === 'item' ? text.slice(item.expression.span.start, item.expression.span.end) : '',
  );
  expect(places).toEqual(["a + (b * c) ->> 'k'::int", 'd BETWEEN 1 AND (2)']);
  expect(withoutSpans(body).kind).toBe('select');
});
