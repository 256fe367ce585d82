import { describe, expect, test } from 'vitest';
import { parseStatement, parseStatements } from '#runtime/sql-syntax/parse-statements.ts';
import { printStatement } from '#runtime/sql-syntax/print-statement.ts';
import { placed } from './placed-failure.ts';
import { withoutSpans } from './syntax-shape.ts';

describe('statements of access', () => {
  test.each([
    [
      "create role 'r' permissions (allow read on 'g' path '/b/**' where node.open == true) inherits ('x', 'y') description \"d\"",
      "CREATE ROLE 'r' DESCRIPTION 'd' INHERITS ('x', 'y') PERMISSIONS (ALLOW READ ON 'g' PATH '/b/**' WHERE node.open == true)",
    ],
    [
      "CREATE ROLE 'r' PERMISSIONS (ALLOW CREATE, update, RELATE BRANCH 'b*' NODE TYPES ('t:A') PATH '/x' ON g FIELDS (a, 'b.c') EXCEPT FIELDS (where, order), ALLOW UNRELATE, DELETE, TRANSLATE PATH $1)",
      "CREATE ROLE 'r' PERMISSIONS (ALLOW CREATE, UPDATE, RELATE ON 'g' PATH '/x' BRANCH 'b*' NODE TYPES ('t:A') FIELDS ('a', 'b.c') EXCEPT FIELDS ('where', 'order'), ALLOW UNRELATE, DELETE, TRANSLATE PATH $1)",
    ],
    ["CREATE ROLE 'r'", "CREATE ROLE 'r'"],
    [
      "ALTER ROLE 'r' ADD PERMISSION ALLOW READ PATH '/x' WHERE a.b.startsWith('q')",
      "ALTER ROLE 'r' ADD PERMISSION ALLOW READ PATH '/x' WHERE a.b.startsWith('q')",
    ],
    ["ALTER ROLE 'r' DROP PERMISSION 2", "ALTER ROLE 'r' DROP PERMISSION 2"],
    ["ALTER ROLE 'r' DROP PERMISSION $1", "ALTER ROLE 'r' DROP PERMISSION $1"],
    ["ALTER ROLE 'r' ADD INHERITS ('a')", "ALTER ROLE 'r' ADD INHERITS ('a')"],
    ["ALTER ROLE 'r' DROP INHERITS ('a', 'b')", "ALTER ROLE 'r' DROP INHERITS ('a', 'b')"],
    ["ALTER ROLE 'r' SET DESCRIPTION = 'x'", "ALTER ROLE 'r' SET DESCRIPTION 'x'"],
    ["CREATE GROUP 'g' ROLES ('r') DESCRIPTION 'd'", "CREATE GROUP 'g' DESCRIPTION 'd' ROLES ('r')"],
    ["ALTER GROUP 'g' DROP ROLES ('r')", "ALTER GROUP 'g' DROP ROLES ('r')"],
    ["ALTER GROUP 'g' SET DESCRIPTION 'x'", "ALTER GROUP 'g' SET DESCRIPTION 'x'"],
    [
      "CREATE USER 'u' IN FOLDER '/p' BIRTH DATE '2000-01-02' CAN LOGIN false GROUPS ('g') ROLES ('r') DISPLAY NAME 'U' EMAIL 'u@x.org'",
      "CREATE USER 'u' EMAIL 'u@x.org' DISPLAY NAME 'U' ROLES ('r') GROUPS ('g') CAN LOGIN FALSE BIRTH DATE '2000-01-02' IN FOLDER '/p'",
    ],
    ["ALTER USER 'u' ADD GROUPS ('g')", "ALTER USER 'u' ADD GROUPS ('g')"],
    ["ALTER USER 'u' SET DISPLAY NAME NULL", "ALTER USER 'u' SET DISPLAY NAME NULL"],
    ["ALTER USER 'u' SET CAN LOGIN = FALSE", "ALTER USER 'u' SET CAN LOGIN FALSE"],
    ["DROP GROUP IF EXISTS 'g'", "DROP GROUP IF EXISTS 'g'"],
    ["DESCRIBE USER 'u'", "DESCRIBE USER 'u'"],
    ["SHOW ROLES LIKE 'a%'", "SHOW ROLES LIKE 'a%'"],
    ["SHOW USERS WITH ROLE 'r' IN GROUP 'g'", "SHOW USERS IN GROUP 'g' WITH ROLE 'r'"],
    ["GRANT ROLES 'a', $1 TO USER 'u'", "GRANT ROLE 'a', $1 TO USER 'u'"],
    ["REVOKE GROUP 'a' FROM GROUP 'g'", "REVOKE GROUP 'a' FROM GROUP 'g'"],
    [
      "ALTER SECURITY CONFIG 'x*' SET DEFAULT POLICY 'deny', ANONYMOUS ENABLED TRUE SET ANONYMOUS ROLE = 'r' INTERFACE rest ANONYMOUS ENABLED FALSE INTERFACE \"a b\" mode 'x'",
      "ALTER SECURITY CONFIG 'x*' SET DEFAULT POLICY 'deny' ANONYMOUS ENABLED TRUE ANONYMOUS ROLE 'r' INTERFACE rest ANONYMOUS ENABLED FALSE INTERFACE \"a b\" mode 'x'",
    ],
    ["SHOW SECURITY CONFIG FOR 'ws'", "SHOW SECURITY CONFIG FOR 'ws'"],
    ["SHOW PERMISSIONS FOR USER 'u' ON ws", "SHOW PERMISSIONS FOR USER 'u' ON 'ws'"],
    ["SHOW EFFECTIVE ROLES FOR USER 'u'", "SHOW EFFECTIVE ROLES FOR USER 'u'"],
  ])('%s', (text, printed) => {
    const statement = parseStatement(text);
    expect(printStatement(statement)).toBe(printed);
    expect(withoutSpans(parseStatement(printed))).toEqual(withoutSpans(statement));
  });
});

describe('the condition of a grant', () => {
  const conditionsOf = (text: string): unknown => {
    const [first] = parseStatements(text);
    const statement = first?.statement;
    if (statement?.kind === 'create-role') return statement.permissions.map((each) => each.condition);
    if (statement?.kind === 'alter-role' && statement.change.kind === 'add-permission')
      return statement.change.grant.condition;
    throw new Error('no grants');
  };

  test('is kept as it was written, up to the end of the grant', () => {
    expect(
      conditionsOf(`CREATE ROLE 'r' PERMISSIONS (
        ALLOW READ PATH 'a' WHERE node.a == 1 && !node.b || (node.c != "x, y)" ),
        ALLOW READ PATH 'b' WHERE [1, 2].contains(node.n) || {a: ')'} == node.o,
        ALLOW READ PATH 'c' WHERE a RELATES b VIA ['X', 'Y'] DEPTH 1..3 DIRECTION ANY
      )`),
    ).toEqual([
      'node.a == 1 && !node.b || (node.c != "x, y)" )',
      "[1, 2].contains(node.n) || {a: ')'} == node.o",
      "a RELATES b VIA ['X', 'Y'] DEPTH 1..3 DIRECTION ANY",
    ]);
  });

  test('is without the comments of SQL, and may have a semicolon in a string', () => {
    expect(
      conditionsOf(
        "ALTER ROLE 'r' ADD PERMISSION ALLOW READ PATH 'a' WHERE a /* x */ == -- y\n ';' -- z\n; SELECT 1",
      ),
    ).toBe("a == ';'");
  });

  test('has signs that stand nowhere else', () => {
    expect(placed('SELECT a && b').message).toContain('unexpected character "&"');
    expect(placed("CREATE ROLE 'r' DESCRIPTION !").message).toContain('unexpected character "!"');
  });

  test('does not begin at a field that is called where', () => {
    const [first] = parseStatements(
      "CREATE ROLE 'r' PERMISSIONS (ALLOW READ PATH 'a' FIELDS (where, b, where) WHERE c == where)",
    );
    expect(first?.statement).toMatchObject({
      permissions: [
        { fields: [{ value: 'where' }, { value: 'b' }, { value: 'where' }], condition: 'c == where' },
      ],
    });
  });
});

describe('what is refused', () => {
  test.each([
    ["CREATE ROLE 'r' PERMISSIONS ()", 'expected ALLOW, found ")"', 30],
    ["CREATE ROLE 'r' PERMISSIONS (ALLOW READ)", 'a permission needs PATH', 30],
    ["CREATE ROLE 'r' PERMISSIONS (ALLOW EAT PATH 'a')", 'unexpected "EAT"', 36],
    ["CREATE ROLE 'r' PERMISSIONS (ALLOW READ PATH 'a' WHERE)", 'expected a condition, found ")"', 55],
    ["CREATE ROLE 'r' PERMISSIONS (ALLOW READ PATH 'a' WHERE a == b", 'expected )', 62],
    ["CREATE ROLE 'r' PERMISSIONS (ALLOW READ PATH 'a' PATH 'b')", 'PATH is written twice', 50],
    [
      "CREATE ROLE 'r' PERMISSIONS (ALLOW READ PATH 'a' NODE TYPES ('a') NODE TYPES ('b'))",
      'NODE TYPES is written twice',
      67,
    ],
    ["CREATE ROLE 'r' DESCRIPTION 'a' DESCRIPTION 'b'", 'DESCRIPTION is written twice', 33],
    ["CREATE ROLE 'r' INHERITS ()", 'found ")"', 27],
    ["CREATE GROUP 'g' ROLES ('a') ROLES ('b')", 'ROLES is written twice', 30],
    ["CREATE USER 'u' EMAIL 'a' EMAIL 'b'", 'EMAIL is written twice', 27],
    ["CREATE USER 'u' CAN LOGIN 'yes'", 'expected TRUE or FALSE', 27],
    ["ALTER USER 'u'", 'expected', 15],
    ["ALTER ROLE 'r' ADD PERMISSION ALLOW READ PATH 'a' WHERE b, c", 'unexpected ","', 58],
    ["GRANT ROLE 'a' FROM USER 'u'", 'found "FROM"', 16],
    ["REVOKE ROLE 'a' TO USER 'u'", 'found "TO"', 17],
    ["GRANT ROLE 'a' TO ROLE 'u'", 'found "ROLE"', 19],
    ["SHOW ROLES IN GROUP 'g'", 'unexpected "IN"', 12],
    ["SHOW USERS LIKE 'a' LIKE 'b'", 'LIKE is written twice', 21],
    ["ALTER SECURITY CONFIG 'x' SET COLOUR 'y'", 'found "COLOUR"', 31],
    ["SHOW PERMISSIONS FOR 'u'", "expected USER, found 'u'", 22],
  ])('%s', (text, message, column) => {
    expect(placed(text)).toEqual({ message: expect.stringContaining(message), line: 1, column });
  });
});
