import { describe, expect, test } from 'vitest';
import { parseStatement } from '#runtime/sql-syntax/parse-statements.ts';
import { printStatement } from '#runtime/sql-syntax/print-statement.ts';
import { placed } from './placed-failure.ts';
import { withoutSpans } from './syntax-shape.ts';

describe('statements about the schema', () => {
  test.each([
    [
      "create nodetype 'a:B' (properties (title string required fulltext, weight Number default 1,) publishable)",
      "CREATE NODETYPE 'a:B' PROPERTIES (title string REQUIRED FULLTEXT, weight Number DEFAULT 1) PUBLISHABLE",
    ],
    ["CREATE NODETYPE 'a:B' ()", "CREATE NODETYPE 'a:B'"],
    ['CREATE NODETYPE "a:B" STRICT EXTENDS $1', "CREATE NODETYPE 'a:B' STRICT EXTENDS $1"],
    [
      "CREATE NODETYPE 'a:B' COMPOUND_INDEX 'i' ON (a ASC, 'b' DESC, \"c\") COMPOUND_INDEX 'j' ON (__created_at)",
      "CREATE NODETYPE 'a:B' COMPOUND_INDEX 'i' ON (a, b DESC, c) COMPOUND_INDEX 'j' ON (__created_at)",
    ],
    [
      "CREATE MIXIN 'a:M' PROPERTIES ('a.b' Object { c Array OF Array OF Object { d Array } REQUIRED } UNIQUE VECTOR)",
      "CREATE MIXIN 'a:M' PROPERTIES ('a.b' Object { c Array OF Array OF Object { d Array } REQUIRED } UNIQUE VECTOR)",
    ],
    [
      'CREATE ARCHETYPE \'a\' FIELDS ("x.y" String LABEL "it\'s" DESCRIPTION $$d$$ ORDER -1.5, required Date TRANSLATABLE)',
      "CREATE ARCHETYPE 'a' FIELDS (\"x.y\" String ORDER -1.5 LABEL 'it''s' DESCRIPTION 'd', required Date TRANSLATABLE)",
    ],
    [
      "CREATE ELEMENTTYPE 'e' FIELDS (a String DEFAULT '{}'::jsonb ALLOW_ADDITIONAL_PROPERTIES PROPERTY_INDEX)",
      "CREATE ELEMENTTYPE 'e' FIELDS (a String PROPERTY_INDEX DEFAULT '{}'::jsonb ALLOW_ADDITIONAL_PROPERTIES)",
    ],
    [
      "ALTER NODETYPE 'a:B' ADD PROPERTY a String MODIFY PROPERTY 'b.c' Number DROP PROPERTY d ADD MIXIN 'm' DROP MIXIN 'n'",
      "ALTER NODETYPE 'a:B' ADD PROPERTY a String MODIFY PROPERTY 'b.c' Number DROP PROPERTY d ADD MIXIN 'm' DROP MIXIN 'n'",
    ],
    [
      "ALTER MIXIN 'm' SET DESCRIPTION = 'x' SET EXTENDS = null SET ALLOWED_CHILDREN = () SET STRICT = true",
      "ALTER MIXIN 'm' SET DESCRIPTION = 'x' SET EXTENDS = NULL SET ALLOWED_CHILDREN = () SET STRICT = TRUE",
    ],
    [
      "ALTER ARCHETYPE 'a' ADD FIELD x String DROP FIELD y SET TITLE = 't' SET BASE_NODE_TYPE = 'b'",
      "ALTER ARCHETYPE 'a' ADD FIELD x String DROP FIELD y SET TITLE = 't' SET BASE_NODE_TYPE = 'b'",
    ],
    ["DROP ELEMENTTYPE IF EXISTS 'e' CASCADE", "DROP ELEMENTTYPE IF EXISTS 'e' CASCADE"],
  ])('%s', (text, printed) => {
    const statement = parseStatement(text);
    expect(printStatement(statement)).toBe(printed);
    expect(withoutSpans(parseStatement(printed))).toEqual(withoutSpans(statement));
  });

  test('have properties with all that is written', () => {
    expect(
      withoutSpans(parseStatement("CREATE MIXIN 'm' PROPERTIES ('a.b' Array OF Object { c String UNIQUE })")),
    ).toMatchObject({
      kind: 'create-definition',
      target: 'mixin',
      name: { value: 'm' },
      clauses: [
        {
          kind: 'properties',
          properties: [
            {
              kind: 'property',
              path: ['a', 'b'],
              isRequired: false,
              type: {
                kind: 'array-type',
                of: {
                  kind: 'object-type',
                  properties: [{ path: ['c'], isUnique: true, type: { kind: 'named-type', name: 'String' } }],
                },
              },
            },
          ],
        },
      ],
    });
  });
});

describe('what is refused', () => {
  test.each([
    ['CREATE NODETYPE', 'found the end of the statement', 16],
    ['CREATE NODETYPE a', 'found "a"', 17],
    ["CREATE NODETYPE 'a' STRICT PUBLISHABLE STRICT", 'STRICT is written twice', 40],
    ["CREATE NODETYPE 'a' (ICON 'x') ICON 'y'", 'unexpected "ICON"', 32],
    ["CREATE NODETYPE 'a' (ICON 'x'", 'expected )', 30],
    ["CREATE NODETYPE 'a' ICON", 'found the end of the statement', 25],
    ["CREATE NODETYPE 'a' PROPERTIES (a String) PROPERTIES (b String)", 'PROPERTIES is written twice', 43],
    ["CREATE NODETYPE 'a' PROPERTIES ()", 'found ")"', 33],
    ["CREATE NODETYPE 'a' PROPERTIES (,)", 'found ","', 33],
    ["CREATE NODETYPE 'a' PROPERTIES (a)", 'found ")"', 34],
    ["CREATE NODETYPE 'a' PROPERTIES (a String, , b String)", 'found ","', 43],
    ["CREATE NODETYPE 'a' PROPERTIES (a String NOT NULL)", 'expected ), found "NOT"', 42],
    ["CREATE NODETYPE 'a' PROPERTIES ('' String)", 'a name of a property must not be empty', 33],
    ["CREATE NODETYPE 'a' PROPERTIES ('a..b' String)", 'a name of a property must not be empty', 33],
    ["CREATE NODETYPE 'a' PROPERTIES (a String UNIQUE REQUIRED UNIQUE)", 'UNIQUE is written twice', 58],
    ["CREATE NODETYPE 'a' PROPERTIES (a String DEFAULT 1 DEFAULT 2)", 'DEFAULT is written twice', 52],
    ["CREATE NODETYPE 'a' PROPERTIES (a String { b String })", 'only Object may have properties', 35],
    ["CREATE NODETYPE 'a' PROPERTIES (a Object { })", 'found "}"', 44],
    ["CREATE NODETYPE 'a' PROPERTIES (a Object { b String)", 'expected }', 52],
    ["CREATE NODETYPE 'a' PROPERTIES (a Array OF)", 'found ")"', 43],
    ["CREATE NODETYPE 'a' FIELDS (a String)", 'FIELDS cannot stand in CREATE NODETYPE', 21],
    ["CREATE ARCHETYPE 'a' PROPERTIES (a String)", 'PROPERTIES cannot stand in CREATE ARCHETYPE', 22],
    ["CREATE MIXIN 'a' EXTENDS 'b'", 'EXTENDS cannot stand in CREATE MIXIN', 18],
    ["CREATE ELEMENTTYPE 'a' BASE_NODE_TYPE 'b'", 'BASE_NODE_TYPE cannot stand in CREATE ELEMENTTYPE', 24],
    ["ALTER NODETYPE 'a'", 'expected ADD, MODIFY, DROP or SET', 19],
    ["ALTER NODETYPE 'a' ADD FIELD b String", 'FIELD cannot stand in ALTER NODETYPE', 24],
    ["ALTER NODETYPE 'a' SET TITLE = 'x'", 'TITLE cannot stand in ALTER NODETYPE', 24],
    ["ALTER ARCHETYPE 'a' ADD MIXIN 'b'", 'MIXIN cannot stand in ALTER ARCHETYPE', 25],
    ["ALTER NODETYPE 'a' SET ICON 'x'", 'expected =', 29],
    ["ALTER NODETYPE 'a' SET STRICT = 1", 'expected TRUE or FALSE', 33],
    ["ALTER NODETYPE 'a' ADD COLUMN b text", 'found "COLUMN"', 24],
    ["DROP NODETYPE 'a' 'b'", "unexpected 'b'", 19],
  ])('%s', (text, message, column) => {
    expect(placed(text)).toEqual({ message: expect.stringContaining(message), line: 1, column });
  });

  test.each([
    ['braces', `CREATE NODETYPE 'a' PROPERTIES (a ${'Object { a '.repeat(110)}String${' }'.repeat(110)})`],
    ['types', `CREATE NODETYPE 'a' PROPERTIES (a ${'Object { a '.repeat(200)}String${' }'.repeat(200)})`],
    ['arrays', `CREATE NODETYPE 'a' PROPERTIES (a ${'Array OF '.repeat(900)}String)`],
  ])('%s that nest too deeply', (_what, text) => {
    expect(placed(text).message).toContain('Statement nests too deeply');
  });
});

test('the words of these statements stay names of columns', () => {
  const words =
    'nodetype, mixin, archetype, title, icon, properties, field, required, strict, vector, label, role, path, email, date';
  expect(printStatement(parseStatement(`SELECT ${words} FROM 'g' role`))).toBe(
    `SELECT ${words} FROM "g" AS role`,
  );
});
