import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { bindStatement } from '#runtime/sql-plan/bind/bind-statement.ts';
import type { BoundStatement } from '#runtime/sql-plan/bound/bound-statement.ts';
import { KeptStatements } from '#runtime/sql-plan/kept/kept-statements.ts';
import { OtherValueSignal } from '#runtime/sql-plan/kept/with-values.ts';
import type { StatementScope } from '#runtime/sql-plan/ports.ts';
import { parseStatement } from '#runtime/sql-syntax/parse-statements.ts';
import type { Query } from '#runtime/sql-syntax/nodes/syntax-nodes.ts';

const firstTree = {};
const secondTree = {};

interface Setting {
  readonly workspaces?: readonly string[];
  readonly parameters?: readonly JsonValue[];
  readonly now?: bigint;
  readonly user?: string;
  readonly branch?: string;
  readonly version?: string;
  readonly callerId?: string;
}

function scopeOf({
  workspaces = ['g'],
  parameters = [],
  now = 1n,
  user = 'ada',
  branch = 'main',
  version = '1',
  callerId = 'a1',
}: Setting): StatementScope {
  return {
    workspaceNamed: (name) => (workspaces.includes(name) ? name : undefined),
    parameters,
    nowMicroseconds: now,
    user,
    branch,
    version,
    caller: { id: callerId, node: { id: callerId }, may: () => true, resolve: (value) => value },
  };
}

/** Statements with the same text, each of which may be bound for several settings. */
class Kept {
  readonly statements = new KeptStatements<BoundStatement>();
  bindings = 0;
  readonly #trees = new Map<string, Query>();

  /** The statement as it is bound for a setting, or its error, as a text. */
  of(sql: string, setting: Setting): string {
    const scope = scopeOf(setting);
    const tree = this.#treeOf(sql);
    const anew = (): string => shown(() => bindStatement(tree, sql, scope));
    return shown(() => {
      const kept = this.statements.of(tree, sql, scope, (noting) => {
        this.bindings += 1;
        return bindStatement(tree, sql, noting);
      });
      try {
        return kept.bound();
      } catch (error) {
        if (error instanceof OtherValueSignal) return anew();
        throw error;
      }
    });
  }

  anew(sql: string, setting: Setting): string {
    return shown(() => bindStatement(this.#treeOf(sql), sql, scopeOf(setting)));
  }

  #treeOf(sql: string): Query {
    let tree = this.#trees.get(sql);
    if (tree === undefined) {
      const statement = parseStatement(sql);
      if (statement.kind !== 'query-statement') throw new Error('a query is wanted');
      tree = statement.query;
      this.#trees.set(sql, tree);
    }
    return tree;
  }
}

function shown(make: () => unknown): string {
  try {
    const made = make();
    if (typeof made === 'string') return made;
    // What tells where a value comes from is no part of the statement.
    return JSON.stringify(made, (key, value) =>
      typeof value === 'bigint' ? `${value}n` : key === 'open' ? undefined : value,
    );
  } catch (error) {
    return `${(error as Error).message}`;
  }
}

const texts = [
  "SELECT * FROM 'g' WHERE id = $1",
  "SELECT id, properties->>'a' AS a FROM 'g' WHERE path = $1",
  "SELECT * FROM 'g' WHERE properties->>'a' = $1 AND name LIKE $2 ORDER BY $1 LIMIT $2",
  "SELECT $1 AS a, $2 + 1 AS b, $1 || 'x' AS c FROM 'g'",
  'SELECT $1::INT AS a, $2::JSONB AS b, $1::PATH AS c',
  "SELECT CASE WHEN version = $1 THEN $2 ELSE 'x' END AS a FROM 'g' GROUP BY version",
  "SELECT COUNT(*) AS n FROM 'g' WHERE CHILD_OF($1) AND __branch = $2",
  "SELECT * FROM 'g' WHERE locale = $1 AND __revision = $2",
  "SELECT * FROM 'g' WHERE name = ANY($1) OR version IN ($2, 3) OR properties @> $1",
  "SELECT name FROM 'g' WHERE version BETWEEN $1 AND $2 UNION SELECT $1 FROM 'h'",
  "SELECT COALESCE($1, $2) AS a, NULLIF(name, $1) AS b, $2 IS NULL AS c FROM 'g'",
  'WITH t AS (SELECT $1 AS a) SELECT a FROM t WHERE a = $2',
  "SELECT SUM(version) OVER (ORDER BY name ROWS $1 PRECEDING) AS s FROM 'g' LIMIT 3",
  'SELECT CURRENT_BRANCH() AS b, CURRENT_USER() AS u, VERSION() AS v',
  'SELECT NOW() AS n, SVC_AUTH_CURRENT_USER() AS u',
  "SELECT * FROM 'h' WHERE __branch = 'dev'",
];

const parameter = fc.oneof(
  fc.constantFrom(
    'a',
    '/a',
    '5',
    '0.5',
    'main',
    'dev',
    'en',
    '10-0',
    'true',
    '',
    '{"a":1}',
    'x'.repeat(1_500),
  ),
  fc.constantFrom(0, 5, -1, 0.5, 1e30, 3_000_000_000, true, false, null),
  fc.constantFrom<JsonValue>({ a: 1 }, ['a', 'b'], [], {}),
);

const settings: fc.Arbitrary<Setting> = fc.record({
  workspaces: fc.subarray(['g', 'h']),
  parameters: fc.array(parameter, { minLength: 1, maxLength: 3 }),
  now: fc.constantFrom(1n, 86_400_000_000n),
  user: fc.constantFrom('ada', 'bob'),
  branch: fc.constantFrom('main', 'dev'),
  version: fc.constantFrom('1', '2'),
  callerId: fc.constantFrom('a1', 'b1'),
});

describe('statements that are kept', () => {
  it('are those that binding would give, whatever came before', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...texts),
        fc.array(settings, { minLength: 2, maxLength: 12 }),
        (sql, runs) => {
          const kept = new Kept();
          for (const setting of runs) expect(kept.of(sql, setting)).toBe(kept.anew(sql, setting));
        },
      ),
      { numRuns: 150 },
    );
  });

  it.each([
    [texts[0]!, { parameters: ['a'] }, { parameters: ['b'] }],
    [texts[1]!, { parameters: ['/a'] }, { parameters: ['b/c'] }],
    [texts[0]!, { parameters: ['a'], user: 'ada', now: 1n }, { parameters: ['b'], user: 'bob', now: 2n }],
    ["SELECT * FROM 'g' WHERE version = $1", { parameters: [1] }, { parameters: [2] }],
    ["SELECT * FROM 'g' WHERE properties @> $1", { parameters: [{ a: 1 }] }, { parameters: [{ b: 2 }] }],
  ] as const)('are used for other values: %s', (sql, first, second) => {
    const kept = new Kept();
    kept.of(sql, first);
    expect(kept.of(sql, second)).toBe(kept.anew(sql, second));
    expect(kept.bindings).toBe(1);
  });

  it.each([
    ['the kind of a parameter', texts[0]!, { parameters: ['a'] }, { parameters: [5] }],
    ['whether a parameter is NULL', texts[0]!, { parameters: ['a'] }, { parameters: [null] }],
    ['whether a parameter is there', texts[0]!, { parameters: ['a'] }, { parameters: [] }],
    ['a value that was looked at', texts[7]!, { parameters: ['en', '1-0'] }, { parameters: ['de', '1-0'] }],
    ['a value that the limits are', texts[2]!, { parameters: ['a', '5'] }, { parameters: ['a', '6'] }],
    [
      'the workspaces that there are',
      texts[0]!,
      { parameters: ['a'] },
      { parameters: ['a'], workspaces: [] },
    ],
    ['the branch', texts[13]!, { branch: 'main' }, { branch: 'dev' }],
    ['the branch that is named', texts[15]!, { workspaces: ['h'] }, { workspaces: ['h'], branch: 'dev' }],
    ['the user', texts[13]!, { user: 'ada' }, { user: 'bob' }],
    ['the version', texts[13]!, { version: '1' }, { version: '2' }],
    ['the time', 'SELECT NOW() AS n', { now: 1n }, { now: 2n }],
    ['the caller', 'SELECT SVC_AUTH_CURRENT_USER() AS u', { callerId: 'a' }, { callerId: 'b' }],
  ] as const)('are not used for another one: %s', (_what, sql, first, second) => {
    const kept = new Kept();
    kept.of(sql, first);
    expect(kept.of(sql, second)).toBe(kept.anew(sql, second));
    expect(kept.bindings).toBe(2);
  });

  it('are bound again for a value whose cast takes too long to be made while binding', () => {
    const kept = new Kept();
    const sql = "SELECT id FROM 'g' WHERE properties @> $1";
    for (const length of [1, 2, 2_000, 3]) {
      const parameters = [JSON.stringify({ a: 'x'.repeat(length) })];
      expect(kept.of(sql, { parameters })).toBe(kept.anew(sql, { parameters }));
    }
    expect(kept.bindings).toBe(1);
  });

  it('are none of what the tenant answers about authentication, and compare a list of all parameters', () => {
    const statements = new KeptStatements<{ readonly shown: string }>();
    const run = (setting: Setting, auth: string): string => {
      const scope = { ...scopeOf(setting), auth } as unknown as StatementScope;
      const read = (given: StatementScope): string => String(given.auth);
      return statements.of(firstTree, 'text', scope, (noting) => ({ shown: read(noting) })).bound().shown;
    };
    expect([run({}, 'one'), run({}, 'two')]).toEqual(['one', 'two']);
    const list = (parameters: readonly JsonValue[]): string =>
      statements
        .of(secondTree, 'text', scopeOf({ parameters }), (noting) => ({ shown: noting.parameters.join() }))
        .bound().shown;
    expect([list([1, 2]), list([1, 3])]).toEqual(['1,2', '1,3']);
  });

  it('have nothing of the run in which they were bound but what they are compared by', () => {
    const kept = new KeptStatements<BoundStatement>();
    const sql = texts[0]!;
    const statement = parseStatement(sql);
    if (statement.kind !== 'query-statement') throw new Error('a query is wanted');
    const run = kept.of(statement.query, sql, scopeOf({ parameters: ['secret'] }), (noting) =>
      bindStatement(statement.query, sql, noting),
    );
    expect(() => JSON.stringify(run.template)).toThrow(/was forgotten/);
    let noted: StatementScope | undefined;
    kept.of({}, sql, scopeOf({ parameters: ['secret'] }), (noting) => {
      noted = noting;
      return bindStatement(statement.query, sql, noting);
    });
    expect(() => noted?.user).toThrow(/behind the end of binding/);
  });

  it('are bounded in number, for each text and in all', () => {
    const kept = new Kept();
    for (let n = 0; n < 20; n += 1) kept.of(texts[13]!, { user: `u${n}` });
    expect(kept.statements.size).toBe(4);
    for (let n = 0; n < 1_200; n += 1) kept.of(`SELECT ${n} AS a`, {});
    expect(kept.statements.size).toBe(1_000);
    const before = kept.bindings;
    kept.of('SELECT 1199 AS a', {});
    expect(kept.bindings).toBe(before);
    kept.of('SELECT 1 AS a', {});
    expect(kept.bindings).toBe(before + 1);
  });

  it('are none of long texts, and none with long values or JSON that were looked at', () => {
    for (const [sql, parameters] of [
      [`SELECT 1 AS a /* ${'x'.repeat(8_192)} */`, []],
      [texts[7]!, ['x'.repeat(201), '1-0']],
      ["SELECT 1 AS a FROM 'g' WHERE 'a' = ANY($1)", [['a']]],
    ] as const) {
      const kept = new Kept();
      expect(kept.of(sql, { parameters })).toBe(kept.anew(sql, { parameters }));
      expect(kept.statements.size).toBe(0);
    }
  });
});
