import fc from 'fast-check';
import { Jsonb } from '#runtime/sql-values/sql-value.ts';
import type { NodeRow } from '#test/support/memory-tables.ts';

/** The workspaces of random statements. */
export const workspaceNames = ['a', 'b', 'c'] as const;

const small = fc.constantFrom(null, 0, 1, 2, 3);
const word = fc.constantFrom(null, 'x', 'y', 'z');

/** Rows with few different values and many NULLs, so that conditions meet. */
export const randomRows: fc.Arbitrary<readonly NodeRow[]> = fc
  .array(fc.record({ version: small, depth: small, name: word, archetype: word, k: word }), { maxLength: 8 })
  .map((rows) =>
    rows.map(({ k, ...row }, index) => ({
      ...row,
      id: `n${index}`,
      properties: new Jsonb(k === null ? {} : { k }),
    })),
  );

/** Workspaces with random rows. */
export const randomWorkspaces: fc.Arbitrary<Readonly<Record<string, readonly NodeRow[]>>> = fc.record({
  a: randomRows,
  b: randomRows,
  c: randomRows,
});

/** A table of a FROM, by the names of its columns. */
interface Source {
  readonly from: string;
  readonly numbers: readonly string[];
  readonly texts: readonly string[];
}

function workspace(name: string, alias: string): Source {
  return {
    from: `'${name}' ${alias}`,
    numbers: [`${alias}.version`, `${alias}.depth`],
    texts: [`${alias}.name`, `${alias}.archetype`, `${alias}.properties->>'k'`],
  };
}

const comparison = fc.constantFrom('=', '<>', '<', '>=');

function numberOf(sources: readonly Source[]): fc.Arbitrary<string> {
  return fc.constantFrom(...sources.flatMap(({ numbers }) => numbers));
}

function textOf(sources: readonly Source[]): fc.Arbitrary<string> {
  return fc.constantFrom(...sources.flatMap(({ texts }) => texts));
}

/** A condition over some tables. */
function condition(sources: readonly Source[], depth: number): fc.Arbitrary<string> {
  const numbers = numberOf(sources);
  const texts = textOf(sources);
  const table = fc.constantFrom(...workspaceNames);
  const simple = fc.oneof(
    fc.tuple(numbers, comparison, numbers).map(([x, op, y]) => `${x} ${op} ${y}`),
    fc.tuple(texts, texts).map(([x, y]) => `${x} = ${y}`),
    fc.tuple(numbers, comparison, fc.constantFrom('1', '2')).map(([x, op, y]) => `${x} ${op} ${y}`),
    texts.map((x) => `${x} IN ('x', 'y')`),
    texts.map((x) => `${x} NOT IN ('x', NULL)`),
    fc.tuple(numbers, numbers).map(([x, y]) => `${x} IN (1, ${y})`),
    texts.map((x) => `${x} IS NULL`),
    numbers.map((x) => `${x} IS NOT NULL`),
    fc.tuple(texts, texts).map(([x, y]) => `COALESCE(${x}, ${y}) = 'x'`),
    fc.tuple(numbers, numbers).map(([x, y]) => `CASE WHEN ${x} = 1 THEN ${y} > 1 ELSE ${y} IS NULL END`),
    fc.tuple(numbers, numbers).map(([x, y]) => `${x} IS NOT DISTINCT FROM ${y}`),
    fc.tuple(texts, table).map(([x, t]) => `${x} IN (SELECT name FROM '${t}')`),
    fc.tuple(texts, table).map(([x, t]) => `${x} NOT IN (SELECT name FROM '${t}' WHERE version > 0)`),
    fc
      .tuple(numbers, fc.constantFrom('< ANY', '<> ALL', '>= ALL', '> ANY', '= ALL', '<= ALL'), table)
      .map(([x, op, t]) => `${x} ${op} (SELECT version FROM '${t}')`),
    table.map((t) => `EXISTS (SELECT 1 FROM '${t}' WHERE version = 3)`),
    fc.tuple(numbers, table).map(([x, t]) => `${x} = (SELECT MAX(depth) FROM '${t}')`),
    fc.constantFrom('TRUE', 'FALSE', 'NULL::BOOLEAN'),
  );
  if (depth === 0) return simple;
  const inner = condition(sources, depth - 1);
  return fc.oneof(
    { weight: 3, arbitrary: simple },
    { weight: 2, arbitrary: fc.tuple(inner, inner).map(([x, y]) => `(${x} AND ${y})`) },
    { weight: 1, arbitrary: fc.tuple(inner, inner).map(([x, y]) => `(${x} OR ${y})`) },
    { weight: 1, arbitrary: inner.map((x) => `NOT (${x})`) },
  );
}

const joinWord = fc.constantFrom('INNER', 'LEFT', 'RIGHT', 'FULL');

/** A table that is a query, whose columns have other names than those of a workspace. */
function derived(name: string, alias: string): fc.Arbitrary<Source> {
  const inner = workspace(name, 'i');
  const source = (from: string): Source => ({
    from: `${from} ${alias}`,
    numbers: [`${alias}.v`, `${alias}.d`],
    texts: [`${alias}.t`],
  });
  const columns = `i.version AS v, i.depth AS d, i.properties->>'k' AS t`;
  const where = fc.option(condition([inner], 1)).map((text) => (text === null ? '' : ` WHERE ${text}`));
  return fc.oneof(
    where.map((text) => source(`(SELECT ${columns} FROM '${name}' i${text})`)),
    where.map((text) => source(`(SELECT DISTINCT ${columns} FROM '${name}' i${text})`)),
    where.map((text) =>
      source(
        `(SELECT i.version AS v, MAX(i.depth) AS d, i.name AS t FROM '${name}' i${text} GROUP BY i.version, i.name)`,
      ),
    ),
    where.map((text) => source(`(SELECT ${columns} FROM '${name}' i${text} ORDER BY v, d, t, i.id LIMIT 3)`)),
    fc
      .tuple(where, fc.constantFrom('UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT'))
      .map(([text, operator]) =>
        source(
          `(SELECT ${columns} FROM '${name}' i${text} ${operator} SELECT i.depth, i.version, i.name FROM 'b' i)`,
        ),
      ),
    fc.constant(
      source(
        `(SELECT i.version AS v, j.depth AS d, j.name AS t FROM '${name}' i LEFT JOIN 'c' j ON i.name = j.name)`,
      ),
    ),
  );
}

function source(alias: string): fc.Arbitrary<Source> {
  return fc
    .constantFrom(...workspaceNames)
    .chain((name) =>
      fc.oneof(
        { weight: 3, arbitrary: fc.constant(workspace(name, alias)) },
        { weight: 2, arbitrary: derived(name, alias) },
      ),
    );
}

interface From {
  readonly text: string;
  readonly sources: readonly Source[];
}

/** A FROM of one to three tables, joined in all ways. */
const randomFrom: fc.Arbitrary<From> = fc
  .tuple(source('p'), source('q'), source('r'), fc.nat(3))
  .chain(([p, q, r, shape]): fc.Arbitrary<From> => {
    if (shape === 0) return fc.constant({ text: p.from, sources: [p] });
    const two = fc
      .tuple(joinWord, condition([p, q], 1))
      .map(([type, on]) => `${p.from} ${type} JOIN ${q.from} ON ${on}`);
    if (shape === 1) return two.map((text) => ({ text, sources: [p, q] }));
    if (shape === 2) return fc.constant({ text: `${p.from}, ${q.from}`, sources: [p, q] });
    return fc
      .tuple(two, joinWord, condition([p, q, r], 1))
      .map(([text, type, on]) => ({ text: `${text} ${type} JOIN ${r.from} ON ${on}`, sources: [p, q, r] }));
  });

/** A random SELECT over random workspaces, whose rows do not depend on the order of rows. */
export const randomStatement: fc.Arbitrary<string> = randomFrom.chain(({ text, sources }) =>
  fc
    .tuple(
      fc.array(condition(sources, 2), { maxLength: 2 }),
      numberOf(sources),
      textOf(sources),
      fc.nat(4),
      condition(sources, 0),
    )
    .map(([conditions, number, word, shape, other]) => {
      const where = conditions.length === 0 ? '' : ` WHERE ${conditions.join(' AND ')}`;
      const all = sources.flatMap(({ numbers, texts }) => [...numbers, ...texts]);
      const columns = all.map((column, index) => `${column} AS c${index}`).join(', ');
      if (shape === 0) return `SELECT ${number} AS n, ${word} AS t FROM ${text}${where}`;
      if (shape === 1) return `SELECT DISTINCT ${word} AS t FROM ${text}${where}`;
      if (shape === 2) {
        return `SELECT ${word} AS t, COUNT(*) AS n, SUM(${number}) AS s FROM ${text}${where} GROUP BY ${word} HAVING COUNT(*) > 1 OR ${word} = 'x'`;
      }
      if (shape === 3) {
        return `WITH w AS (SELECT ${columns} FROM ${text}${where}) SELECT x.c0, y.c1, x.c2 FROM w x LEFT JOIN w y ON x.c0 = y.c0`;
      }
      return `SELECT ${columns}, ${other} AS o FROM ${text}${where}`;
    }),
);
