import { describe, expect, it } from 'vitest';
import { bound, columns, errorOf, expression, shown, step, steps } from './binding.ts';

const g = `FROM 'g'`;

describe('GROUP BY', () => {
  it('is needed for columns beside aggregates', () => {
    expect(errorOf(`SELECT name, node_type ${g} GROUP BY name`)).toBe(
      'Column node_type must appear in GROUP BY or be used in an aggregate function (line 1, column 14)',
    );
    expect(errorOf(`SELECT g.name, COUNT(*) ${g}`)).toMatch(/^Column g\.name must appear in GROUP BY/);
    expect(errorOf(`SELECT COUNT(*) ${g} ORDER BY name`)).toMatch(/^Column name must appear in GROUP BY/);
    expect(errorOf(`SELECT 1 ${g} HAVING name = 'a'`)).toMatch(/^Column name must appear in GROUP BY/);
    expect(errorOf(`SELECT * ${g} GROUP BY id`)).toMatch(/^Column path must appear in GROUP BY/);
    expect(columns(`SELECT name, COUNT(*) AS n ${g} GROUP BY name`)).toEqual(['name TEXT', 'n BIGINT']);
  });

  it('takes whole expressions, also written in another way', () => {
    const { query } = bound(`SELECT LOWER(g.name) || 'x' AS a ${g} GROUP BY LOWER(name)`);
    expect(shown(query.output[0]!.expression)).toMatch(/^\|\|\(r\d+\.c0, x\)$/);
    expect(errorOf(`SELECT UPPER(name) ${g} GROUP BY LOWER(name)`)).toMatch(/^Column name must appear/);
  });

  it('takes expressions with constants of JSON, unless these are large', () => {
    const select = (json: string) =>
      `SELECT properties @> '${json}' AS a ${g} GROUP BY properties @> '${json}'`;
    for (const json of ['{"a":[1,null,"x",12345678901234567890]}', '"5"', '5']) {
      expect(columns(select(json))).toEqual(['a BOOLEAN']);
    }
    expect(errorOf(select(`"${'x'.repeat(2_000)}"`))).toMatch(/^Column properties must appear/);
    const other = `SELECT properties @> '5' AS a ${g} GROUP BY properties @> '"5"'`;
    expect(errorOf(other)).toMatch(/^Column properties must appear/);
  });

  it('takes numbers and names of the select list', () => {
    for (const key of ['1', 'low']) {
      const { plan } = bound(`SELECT LOWER(name) AS low, COUNT(*) ${g} GROUP BY ${key}`).query;
      expect(step(plan, 'aggregate').keys.map(shown)).toEqual(['LOWER(r0.c2)']);
    }
    expect(errorOf(`SELECT id ${g} GROUP BY 2`)).toBe(
      'GROUP BY position 2 is not in the select list (line 1, column 29)',
    );
    expect(errorOf(`SELECT id ${g} GROUP BY 0`)).toMatch(/^GROUP BY position 0/);
  });

  it('means a column before a name of the select list', () => {
    const { plan } = bound(`SELECT COUNT(*) AS name ${g} GROUP BY name`).query;
    expect(step(plan, 'aggregate').keys.map(shown)).toEqual(['r0.c2']);
    expect(errorOf(`SELECT id AS a, path AS a ${g} GROUP BY a`)).toMatch(/^Ambiguous column reference: a /);
  });

  it('keeps each key once', () => {
    const { plan } = bound(`SELECT name ${g} GROUP BY name, g.name, 1`).query;
    expect(step(plan, 'aggregate').keys).toHaveLength(1);
  });

  it('comes before HAVING, windows and the order', () => {
    const sql = `SELECT name, RANK() OVER (ORDER BY COUNT(*)) AS r ${g} GROUP BY name HAVING COUNT(*) > 1 ORDER BY SUM(version)`;
    const { plan } = bound(sql).query;
    expect(steps(plan)).toEqual(['sort', 'window', 'filter', 'aggregate', 'nodes']);
    expect(step(plan, 'aggregate').aggregates.map((aggregate) => aggregate.function.name)).toEqual([
      'COUNT',
      'SUM',
    ]);
    expect(step(plan, 'aggregate').columns).toHaveLength(3);
  });
});

describe('aggregates', () => {
  it('are not allowed where rows are still chosen or grouped', () => {
    expect(errorOf(`SELECT id ${g} WHERE COUNT(*) > 1`)).toBe(
      'Aggregate function COUNT not allowed in WHERE clause (line 1, column 26)',
    );
    expect(errorOf(`SELECT 1 ${g} GROUP BY SUM(version)`)).toMatch(
      /^Aggregate function SUM not allowed in GROUP BY/,
    );
    expect(errorOf(`SELECT SUM(version) ${g} GROUP BY 1`)).toMatch(
      /^Aggregate function SUM not allowed in GROUP BY/,
    );
    expect(errorOf(`SELECT 1 FROM 'g' a INNER JOIN 'g' b ON COUNT(*) = 1`)).toMatch(
      /^Aggregate function COUNT not allowed in ON clause/,
    );
    expect(errorOf(`SELECT COUNT(*) FILTER (WHERE MAX(version) > 1) ${g}`)).toMatch(
      /^Aggregate function MAX not allowed in FILTER clause/,
    );
    expect(errorOf(`SELECT SUM(MAX(version)) ${g}`)).toMatch(
      /^Aggregate function MAX not allowed in an aggregate/,
    );
    expect(errorOf('VALUES (COUNT(*))')).toMatch(/^Aggregate function COUNT not allowed in VALUES/);
  });

  it('are computed once where they are written twice', () => {
    const sql = `SELECT COUNT(*), COUNT(*) + 1, COUNT(DISTINCT id), SUM(version) FILTER (WHERE id = 'a') ${g}
      HAVING COUNT(*) > 1 AND SUM(version) > 1`;
    expect(step(bound(sql).query.plan, 'aggregate').aggregates).toHaveLength(4);
  });

  it('take DISTINCT, ORDER BY and FILTER', () => {
    const sql = `SELECT ARRAY_AGG(DISTINCT name ORDER BY name DESC) FILTER (WHERE version > 1) ${g}`;
    const [aggregate] = step(bound(sql).query.plan, 'aggregate').aggregates;
    expect(aggregate).toMatchObject({
      isDistinct: true,
      orderBy: [{ isDescending: true, nullsFirst: true }],
    });
    expect(shown(aggregate!.filter!)).toBe('>(r0.c7, 1)');
    expect(errorOf(`SELECT ARRAY_AGG(DISTINCT name ORDER BY id) ${g}`)).toMatch(
      /^In an aggregate with DISTINCT, ORDER BY expressions must appear in its arguments/,
    );
    expect(errorOf(`SELECT COUNT(*) FILTER (WHERE name) ${g}`)).toMatch(
      /^Type mismatch: expected BOOLEAN in FILTER, got TEXT/,
    );
  });

  it('refuse arguments of a wrong type, and * beside COUNT', () => {
    expect(errorOf(`SELECT SUM(properties->>'area') ${g}`)).toBe(
      'SUM() requires numeric argument, got TEXT (line 1, column 8)',
    );
    expect(errorOf(`SELECT SUM(*) ${g}`)).toMatch(/^SUM\(\*\) is not supported/);
    expect(errorOf(`SELECT LOWER(DISTINCT name) ${g}`)).toMatch(
      /^DISTINCT is only supported for aggregates, and LOWER is none/,
    );
    expect(errorOf(`SELECT LOWER(name) FILTER (WHERE TRUE) ${g}`)).toMatch(/^FILTER is only supported/);
  });

  it('make one group of a query without GROUP BY', () => {
    const { plan } = bound(`SELECT MAX(version) ${g}`).query;
    expect(step(plan, 'aggregate').keys).toEqual([]);
    expect(steps(bound(`SELECT 1 ${g} HAVING TRUE`).query.plan)).toContain('aggregate');
  });

  it('are seen in subqueries only by these', () => {
    expect(columns(`SELECT id, (SELECT COUNT(*) ${g}) AS n ${g}`)).toEqual(['id TEXT', 'n BIGINT']);
  });
});

describe('windows', () => {
  it('have the default frame', () => {
    const sql = `SELECT SUM(version) OVER (PARTITION BY node_type ORDER BY id) ${g}`;
    const [window] = step(bound(sql).query.plan, 'window').windows;
    expect(window).toMatchObject({
      frame: { unit: 'range', start: { kind: 'unbounded-preceding' }, end: { kind: 'current-row' } },
    });
    expect(window!.partitionBy.map(shown)).toEqual(['r0.c3']);
  });

  it('have result types', () => {
    const over = 'OVER (ORDER BY id)';
    expect(
      columns(`SELECT RANK() ${over} a, PERCENT_RANK() ${over} b, NTILE(4) ${over} c, LAG(version) ${over} d,
        LEAD(version, 2, 0.5) ${over} e, FIRST_VALUE(path) ${over} f, NTH_VALUE(name, 2) ${over} h ${g}`),
    ).toEqual(['a BIGINT', 'b DOUBLE', 'c INT', 'd INT', 'e DOUBLE', 'f PATH', 'h TEXT']);
  });

  it('are only allowed in the select list and the order', () => {
    expect(errorOf(`SELECT 1 ${g} WHERE RANK() OVER () = 1`)).toBe(
      'Window function RANK not allowed in WHERE clause (line 1, column 25)',
    );
    expect(errorOf(`SELECT 1 ${g} GROUP BY RANK() OVER ()`)).toMatch(/not allowed in GROUP BY clause/);
    expect(errorOf(`SELECT 1 ${g} HAVING RANK() OVER () = 1`)).toMatch(/not allowed in HAVING clause/);
    expect(errorOf(`SELECT SUM(RANK() OVER ()) ${g}`)).toMatch(/RANK not allowed in an aggregate function/);
    expect(errorOf(`SELECT SUM(RANK() OVER ()) OVER () ${g}`)).toMatch(
      /RANK not allowed in a window function/,
    );
    expect(steps(bound(`SELECT id ${g} ORDER BY RANK() OVER (ORDER BY id)`).query.plan)).toEqual([
      'sort',
      'window',
      'nodes',
    ]);
  });

  it('refuse what they do not take', () => {
    expect(errorOf(`SELECT RANK(1) OVER () ${g}`)).toBe('RANK() does not take arguments (line 1, column 8)');
    expect(errorOf(`SELECT LOWER(id) OVER () ${g}`)).toMatch(/^Window function LOWER is not supported/);
    expect(errorOf(`SELECT RANK() ${g}`)).toMatch(/^Window function RANK requires an OVER clause/);
    expect(errorOf(`SELECT LAG() OVER () ${g}`)).toMatch(
      /^Invalid argument count for LAG: expected 1 to 3, got 0/,
    );
    expect(errorOf(`SELECT COUNT(DISTINCT id) OVER () ${g}`)).toMatch(/^DISTINCT is not supported in window/);
    expect(errorOf(`SELECT RANK() FILTER (WHERE TRUE) OVER () ${g}`)).toMatch(
      /^FILTER is only supported for/,
    );
    expect(errorOf(`SELECT NTILE('x') OVER () ${g}`)).toMatch(/^Cannot cast 'x' to INT/);
  });

  it('have frames with constant bounds in order', () => {
    const framed = (frame: string): string => `SELECT SUM(version) OVER (ORDER BY id ${frame}) ${g}`;
    const frame = (text: string, parameters: readonly number[] = []) =>
      step(bound(framed(text), parameters).query.plan, 'window').windows[0]!.frame;
    expect(frame('ROWS BETWEEN 2 PRECEDING AND $1 FOLLOWING', [3])).toEqual({
      unit: 'rows',
      start: { kind: 'preceding', distance: 2 },
      end: { kind: 'following', distance: 3 },
    });
    expect(errorOf(framed('ROWS BETWEEN version PRECEDING AND CURRENT ROW'))).toMatch(
      /^Frame bound must be a constant integer \(line 1, column 5\d\)/,
    );
    for (const bad of ['-1', '1.5', `'1'`, 'NULL'])
      expect(errorOf(framed(`ROWS BETWEEN ${bad} PRECEDING AND CURRENT ROW`))).toMatch(
        /^Frame bound must be a constant integer/,
      );
    expect(errorOf(framed('RANGE BETWEEN 1 PRECEDING AND CURRENT ROW'))).toMatch(
      /^RANGE with a distance is not supported for TEXT/,
    );
    expect(errorOf(framed('ROWS BETWEEN CURRENT ROW AND 1 PRECEDING'))).toMatch(
      /^A frame cannot start behind/,
    );
    expect(errorOf(framed('ROWS BETWEEN UNBOUNDED FOLLOWING AND UNBOUNDED FOLLOWING'))).toMatch(
      /^A frame cannot start with UNBOUNDED FOLLOWING/,
    );
    expect(errorOf(framed('ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED PRECEDING'))).toMatch(
      /^A frame cannot end with UNBOUNDED PRECEDING/,
    );
    expect(frame('ROWS BETWEEN 1 FOLLOWING AND 2 FOLLOWING').start).toEqual({
      kind: 'following',
      distance: 1,
    });
  });

  it('are computed over groups', () => {
    const sql = `SELECT name, SUM(COUNT(*)) OVER (PARTITION BY name) AS s ${g} GROUP BY name`;
    const [window] = step(bound(sql).query.plan, 'window').windows;
    const aggregate = step(bound(sql).query.plan, 'aggregate');
    expect(window!.partitionBy.map(shown)).toEqual([`r${aggregate.relation}.c0`]);
    expect(window!.function).toMatchObject({
      kind: 'aggregate',
      aggregate: { args: [{ kind: 'column', relation: aggregate.relation, column: 1 }] },
    });
    expect(errorOf(`SELECT name, SUM(version) OVER () ${g} GROUP BY name`)).toBe(
      'Column version must appear in GROUP BY or be used in an aggregate function (line 1, column 18)',
    );
  });
});

it('keeps aggregates of a window out of the groups of the query', () => {
  expect(expression(`COUNT(*) OVER ()`)).toMatch(/^r\d+\.c0$/);
  expect(steps(bound(`SELECT COUNT(*) OVER () ${g}`).query.plan)).toEqual(['window', 'nodes']);
});
