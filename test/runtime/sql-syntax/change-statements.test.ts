import { describe, expect, test } from 'vitest';
import { parseStatement, parseStatements } from '#runtime/sql-syntax/parse-statements.ts';
import { printStatement } from '#runtime/sql-syntax/print-statement.ts';
import { placed } from './placed-failure.ts';

/** Texts beside how they are printed: the printed form shows what was read. */
type Forms = readonly (readonly [text: string, printed: string])[];
/** Texts beside what is said about them, and the column where. */
type Failures = readonly (readonly [text: string, message: string, column: number])[];

function readsAs(forms: Forms): void {
  test.each(forms)('%s', (text, printed) => {
    expect(printStatement(parseStatement(text))).toBe(printed);
    expect(printStatement(parseStatement(printed))).toBe(printed);
  });
}

function isRefused(failures: Failures): void {
  test.each(failures)('%s is refused', (text, message, column) => {
    expect(placed(text)).toEqual({ message: expect.stringContaining(message), line: 1, column });
  });
}

describe('INSERT and UPSERT', () => {
  readsAs([
    [
      `insert into 'g' (path, node_type) values ('/a', 'x:Y')`,
      `INSERT INTO "g" (path, node_type) VALUES ('/a', 'x:Y')`,
    ],
    [
      `UPSERT INTO g ("path", properties) VALUES ($1, '{}'::jsonb), ($2, NULL) RETURNING *`,
      `UPSERT INTO g (path, properties) VALUES ($1, '{}'::jsonb), ($2, NULL) RETURNING *`,
    ],
    [
      `INSERT INTO "g" (path) SELECT '/x/' || name FROM 'g' WHERE id = 'a' RETURNING id, path AS p`,
      `INSERT INTO "g" (path) SELECT '/x/' || name FROM "g" WHERE id = 'a' RETURNING id, path AS p`,
    ],
    [
      'INSERT INTO g (path) WITH a AS (SELECT 1) SELECT * FROM a ORDER BY 1 LIMIT 2',
      'INSERT INTO g (path) WITH a AS (SELECT 1) SELECT * FROM a ORDER BY 1 LIMIT 2',
    ],
    ['INSERT INTO g (path) (SELECT 1)', 'INSERT INTO g (path) SELECT 1'],
    ['EXPLAIN VERBOSE INSERT INTO g (path) VALUES (1)', 'EXPLAIN VERBOSE INSERT INTO g (path) VALUES (1)'],
  ]);
  isRefused([
    ['INSERT g (path) VALUES (1)', 'Syntax error: expected INTO, found "g"', 8],
    ['INSERT INTO g VALUES (1)', 'INSERT needs a list of columns behind the workspace', 15],
    ['UPSERT INTO g (SELECT 1)', 'UPSERT needs a list of columns behind the workspace', 15],
    ['INSERT INTO g () VALUES (1)', 'Syntax error: expected a name, found ")"', 16],
    ['INSERT INTO g (path) DEFAULT VALUES', 'found "DEFAULT"', 22],
    [
      'INSERT INTO g (path) VALUES (1) ON CONFLICT DO NOTHING',
      'ON CONFLICT is not supported; write UPSERT',
      33,
    ],
    ['INSERT INTO g (path) VALUES (1) RETURNING', 'found the end of the statement', 42],
    ['WITH a AS (SELECT 1) INSERT INTO g (path) SELECT 1', 'found "INSERT"', 22],
  ]);
});

describe('UPDATE and DELETE', () => {
  readsAs([
    [
      `UPDATE 'g' SET name = 'q', properties = properties || '{}' WHERE id = 'b1' RETURNING id, updated_at`,
      `UPDATE "g" SET name = 'q', properties = properties || '{}' WHERE id = 'b1' RETURNING id, updated_at`,
    ],
    ["update g set path = '/a'", "UPDATE g SET path = '/a'"],
    ['UPDATE set SET set = set WHERE path', 'UPDATE set SET set = set WHERE path'],
    ["DELETE FROM 'g' WHERE path = '/a'", 'DELETE FROM "g" WHERE path = \'/a\''],
    ['DELETE FROM g WHERE id IN ($1, $2) RETURNING *', 'DELETE FROM g WHERE id IN ($1, $2) RETURNING *'],
    ['delete from g', 'DELETE FROM g'],
    ['EXPLAIN UPDATE g SET a = 1 WHERE b', 'EXPLAIN UPDATE g SET a = 1 WHERE b'],
    ['EXPLAIN DELETE FROM g WHERE b', 'EXPLAIN DELETE FROM g WHERE b'],
  ]);
  isRefused([
    ['UPDATE g SET (a, b) = (1, 2)', 'Tuple assignments in SET clause not yet supported', 14],
    ['UPDATE g SET a = 1, (b) = (1)', 'Tuple assignments in SET clause not yet supported', 21],
    ['UPDATE g, h SET a = 1', 'JOINs in UPDATE/DELETE are not supported', 9],
    ['UPDATE g JOIN h ON a SET a = 1', 'JOINs in UPDATE/DELETE are not supported', 10],
    ['UPDATE g SET a = 1 FROM h WHERE a', 'JOINs in UPDATE/DELETE are not supported', 20],
    ['DELETE FROM g USING h WHERE a', 'JOINs in UPDATE/DELETE are not supported', 15],
    ['DELETE FROM g LEFT JOIN h ON a', 'JOINs in UPDATE/DELETE are not supported', 15],
    ['DELETE g WHERE a', 'Syntax error: expected FROM, found "g"', 8],
    ['UPDATE g a = 1', 'Syntax error: expected SET or FOR, found "a"', 10],
    ['UPDATE g SET a', 'Syntax error: expected =, found the end of the statement', 15],
    ['UPDATE g SET a = 1 WHERE', 'found the end of the statement', 25],
    ['UPDATE g SET a = 1 LIMIT 1', 'unexpected "LIMIT"', 20],
    [
      'EXPLAIN ANALYZE DELETE FROM g WHERE a',
      'EXPLAIN ANALYZE runs the statement, so it is for queries only',
      17,
    ],
    ["EXPLAIN UPDATE g FOR LOCALE 'de' SET a = 1", 'UPDATE … FOR LOCALE cannot be explained', 9],
  ]);
});

describe('MOVE, COPY and ORDER', () => {
  readsAs([
    [`MOVE 'g' SET path='/a' TO id='x'`, `MOVE "g" SET path='/a' TO id='x'`],
    ['move g IN BRANCH dev set PATH = $1 to path = $2', "MOVE g IN BRANCH 'dev' SET path=$1 TO path=$2"],
    [`COPY g SET path='/a' TO path='/b' AS 'herb'`, `COPY g SET path='/a' TO path='/b' AS 'herb'`],
    [`COPY TREE g IN BRANCH 'd' SET id="x" TO id=$$y$$`, `COPY TREE g IN BRANCH 'd' SET id='x' TO id='y'`],
    [`COPY tree SET path='/a' TO path='/b'`, `COPY tree SET path='/a' TO path='/b'`],
    [`ORDER 'g' SET id='b2' ABOVE id='b1'`, `ORDER "g" SET id='b2' ABOVE id='b1'`],
    [
      `ORDER g IN BRANCH 'd' SET path='/a' BELOW path='/b'`,
      `ORDER g IN BRANCH 'd' SET path='/a' BELOW path='/b'`,
    ],
  ]);
  isRefused([
    [`MOVE '/a' TO '/b'`, 'Syntax error: expected SET, found "TO"', 11],
    [`MOVE g SET name='a' TO path='/b'`, 'Syntax error: expected path or id, found "name"', 12],
    [
      `MOVE g SET path=a TO path='/b'`,
      'Syntax error: expected a string, a name or a parameter, found "a"',
      17,
    ],
    [`COPY g SET path='/a' TO path='/b' AS herb`, 'found "herb"', 38],
    [`ORDER 'g' SET id='b2' BEFORE id='b1'`, 'Syntax error: expected ABOVE or BELOW, found "BEFORE"', 23],
    [`ORDER '/a' 2`, 'Syntax error: expected SET, found "2"', 12],
  ]);
});

describe('RELATE and UNRELATE', () => {
  readsAs([
    [
      `RELATE FROM path='/b' IN WORKSPACE 'p' TO path='/c' IN WORKSPACE 'g' TYPE 'TENDS' WEIGHT 0.5`,
      `RELATE FROM path='/b' IN WORKSPACE 'p' TO path='/c' IN WORKSPACE 'g' TYPE 'TENDS' WEIGHT 0.5`,
    ],
    [
      `RELATE IN BRANCH 'd' FROM id='a' TO id=$1 WEIGHT -2`,
      `RELATE IN BRANCH 'd' FROM id='a' TO id=$1 WEIGHT -2`,
    ],
    [`RELATE FROM id='a' TO id='b' WEIGHT $3`, `RELATE FROM id='a' TO id='b' WEIGHT $3`],
    [`unrelate from id='a' to id='b' type 'T'`, `UNRELATE FROM id='a' TO id='b' TYPE 'T'`],
  ]);
  const strict = 'Syntax error: expected a non-empty string in single quotes, found ';
  isRefused([
    [`RELATE FROM id="a" TO id='b'`, `${strict}"a"`, 16],
    [`RELATE FROM id='' TO id='b'`, `${strict}''`, 16],
    [`RELATE FROM id=$$a$$ TO id='b'`, `${strict}$$a$$`, 16],
    [`RELATE FROM id='a' IN WORKSPACE "p" TO id='b'`, `${strict}"p"`, 33],
    [`RELATE FROM id='a' TO id='b' TYPE ''`, `${strict}''`, 35],
    [`RELATE IN BRANCH "d" FROM id='a' TO id='b'`, `${strict}"d"`, 18],
    [`RELATE FROM id='a' TO id='b' WEIGHT '1'`, "found '1'", 37],
    [`RELATE '/a' TO '/b'`, "Syntax error: expected FROM, found '/a'", 8],
    [`UNRELATE FROM id='a' TO id='b' WEIGHT 1`, 'unexpected "WEIGHT"', 32],
  ]);
});

describe('RESTORE', () => {
  readsAs([
    [`RESTORE NODE path='/a' TO REVISION HEAD~1`, `RESTORE NODE path='/a' TO REVISION HEAD~1`],
    [`restore tree node id='a' to revision head`, `RESTORE TREE NODE id='a' TO REVISION HEAD~0`],
    [`RESTORE NODE id='a' TO REVISION dev~0`, `RESTORE NODE id='a' TO REVISION "dev"~0`],
    [`RESTORE NODE id='a' TO REVISION 'a/b'~3`, `RESTORE NODE id='a' TO REVISION "a/b"~3`],
    [`RESTORE NODE id='a' TO REVISION '170-2'`, `RESTORE NODE id='a' TO REVISION '170-2'`],
    [
      `RESTORE NODE id='a' TO REVISION 1700000000000_12`,
      `RESTORE NODE id='a' TO REVISION '1700000000000-12'`,
    ],
    [
      `RESTORE NODE id='a' IN BRANCH dev IN WORKSPACE g TO REVISION $1 TRANSLATIONS ('de', 'fr')`,
      `RESTORE NODE id='a' IN WORKSPACE 'g' IN BRANCH 'dev' TO REVISION $1 TRANSLATIONS ('de', 'fr')`,
    ],
  ]);
  isRefused([
    [`RESTORE '/a' AT REVISION 5`, "Syntax error: expected NODE, found '/a'", 9],
    [`RESTORE NODE id='a' TO REVISION 5`, 'found "5"', 33],
    [`RESTORE NODE id='a' TO REVISION HEAD~1.5`, 'expected a number of revisions, found "1.5"', 38],
    [`RESTORE NODE id='a' TO REVISION HEAD~1234567890`, 'expected a number of revisions', 38],
    [`RESTORE NODE id='a' IN BRANCH a IN BRANCH b TO REVISION HEAD`, 'IN BRANCH is written twice', 33],
    [
      `RESTORE NODE id='a' IN WORKSPACE a IN WORKSPACE b TO REVISION HEAD`,
      'IN WORKSPACE is written twice',
      36,
    ],
    [`RESTORE NODE id='a' TO REVISION HEAD TRANSLATIONS ()`, 'found ")"', 52],
    ['SELECT 1_000', 'Syntax error: the number 1 is followed by "_000"', 9],
  ]);
});

describe('UPDATE … FOR LOCALE', () => {
  readsAs([
    [
      `UPDATE 'g' FOR LOCALE 'de' SET title = 'Nord' WHERE path='/beds/north'`,
      `UPDATE "g" FOR LOCALE 'de' SET title = 'Nord' WHERE path='/beds/north'`,
    ],
    [
      `UPDATE g FOR LOCALE $1 IN BRANCH d SET a.b = 1, c[uuid='u'].select = NULL, d = TRUE WHERE node_type='x:Y' AND id='a'`,
      `UPDATE g FOR LOCALE $1 IN BRANCH 'd' SET a.b = 1, c[uuid='u']."select" = NULL, d = TRUE WHERE id='a' AND node_type='x:Y'`,
    ],
    [`UPDATE g FOR LOCALE 'de' SET a = -1.5`, `UPDATE g FOR LOCALE 'de' SET a = -1.5`],
  ]);
  const condition = 'TRANSLATE: the WHERE clause must be path = …, id = … or node_type = …';
  isRefused([
    [`UPDATE g FOR LOCALE 'de' SET a = 1 WHERE name = 'x'`, condition, 42],
    [`UPDATE g FOR LOCALE 'de' SET a = 1 WHERE path LIKE '/x'`, condition, 42],
    [`UPDATE g FOR LOCALE 'de' SET a = 1 WHERE id = 'x' AND path = '/x'`, condition, 55],
    [`UPDATE g FOR LOCALE 'de' SET a = 1 WHERE id = 'x' OR id = 'y'`, condition, 51],
    [`UPDATE g FOR LOCALE 'de' SET a = b WHERE id = 'x'`, 'unexpected "b"', 34],
    [`UPDATE g FOR LOCALE 'de' SET a[key='u'] = 1`, 'Syntax error: expected uuid, found "key"', 32],
    [`UPDATE g FOR LOCALE de SET a = 1`, 'found "de"', 21],
  ]);
});

describe('branches', () => {
  readsAs([
    [`CREATE BRANCH 'dev' FROM 'main'`, `CREATE BRANCH 'dev' FROM 'main'`],
    [
      `create branch dev with history upstream main protected description 'd' at revision head~2 from "a b"`,
      `CREATE BRANCH 'dev' FROM 'a b' AT REVISION HEAD~2 DESCRIPTION 'd' PROTECTED UPSTREAM 'main'`,
    ],
    ['CREATE BRANCH $1 AT REVISION 12_0', "CREATE BRANCH $1 AT REVISION '12-0'"],
    ['ALTER BRANCH dev SET UPSTREAM main', "ALTER BRANCH 'dev' SET UPSTREAM 'main'"],
    ['ALTER BRANCH dev UNSET UPSTREAM', "ALTER BRANCH 'dev' UNSET UPSTREAM"],
    ['ALTER BRANCH dev SET PROTECTED true', "ALTER BRANCH 'dev' SET PROTECTED TRUE"],
    ['ALTER BRANCH dev SET PROTECTED FALSE', "ALTER BRANCH 'dev' SET PROTECTED FALSE"],
    ["ALTER BRANCH dev SET DESCRIPTION 'x'", "ALTER BRANCH 'dev' SET DESCRIPTION 'x'"],
    ['ALTER BRANCH dev RENAME TO neu', "ALTER BRANCH 'dev' RENAME TO 'neu'"],
    ['DROP BRANCH dev', "DROP BRANCH 'dev'"],
    ['DROP BRANCH IF EXISTS dev', "DROP BRANCH IF EXISTS 'dev'"],
    ['DROP BRANCH if', "DROP BRANCH 'if'"],
    ['SHOW BRANCHES', 'SHOW BRANCHES'],
    ['DESCRIBE BRANCH branch', "DESCRIBE BRANCH 'branch'"],
    ["SHOW DIVERGENCE dev FROM 'main'", "SHOW DIVERGENCE 'dev' FROM 'main'"],
    ['SHOW CONFLICTS FOR MERGE dev INTO main', "SHOW CONFLICTS FOR MERGE 'dev' INTO 'main'"],
    [
      `MERGE BRANCH dev INTO main MESSAGE 'm' USING FAST_FORWARD`,
      `MERGE BRANCH 'dev' INTO 'main' USING FAST_FORWARD MESSAGE 'm'`,
    ],
    [
      `MERGE BRANCH dev INTO main USING three_way RESOLVE CONFLICTS (('a', KEEP_OURS), ('b', 'de', keep_theirs), ($1, DELETE), ('c', USE_VALUE '{}'))`,
      `MERGE BRANCH 'dev' INTO 'main' USING THREE_WAY RESOLVE CONFLICTS (('a', KEEP_OURS), ('b', 'de', KEEP_THEIRS), ($1, DELETE), ('c', USE_VALUE '{}'))`,
    ],
    ['USE BRANCH dev', "USE BRANCH 'dev'"],
    ['USE LOCAL BRANCH dev', "USE LOCAL BRANCH 'dev'"],
    ['CHECKOUT BRANCH dev', "USE BRANCH 'dev'"],
    ['CHECKOUT LOCAL BRANCH local', "USE LOCAL BRANCH 'local'"],
    ["SET app.branch = 'dev'", "USE BRANCH 'dev'"],
    ['SET LOCAL App.Branch TO dev', "USE LOCAL BRANCH 'dev'"],
    ['SHOW CURRENT BRANCH', 'SHOW CURRENT BRANCH'],
    ['SHOW app.branch', 'SHOW CURRENT BRANCH'],
  ]);
  isRefused([
    ['CREATE BRANCH', 'found the end of the statement', 14],
    ['CREATE BRANCH a-b', 'Syntax error: a name with "-" must be quoted', 15],
    ['USE BRANCH feature/x', 'Syntax error: a name with "/" must be quoted', 12],
    ['CREATE BRANCH a PROTECTED PROTECTED', 'PROTECTED is written twice', 27],
    ['CREATE BRANCH a FROM b FROM c', 'FROM is written twice', 24],
    ['CREATE BRANCH a FROM select', 'found "select"', 22],
    [
      'ALTER BRANCH a SET PROTECTED',
      'Syntax error: expected TRUE or FALSE, found the end of the statement',
      29,
    ],
    ['ALTER BRANCH a', 'Syntax error: expected SET, UNSET or RENAME, found the end of the statement', 15],
    [`MERGE BRANCH a INTO b USING 'recursive'`, "expected FAST_FORWARD or THREE_WAY, found 'recursive'", 29],
    ['MERGE BRANCH a INTO b RESOLVE CONFLICTS ()', 'Syntax error: expected (, found ")"', 42],
    [`MERGE BRANCH a INTO b RESOLVE CONFLICTS (('a', MINE))`, 'found "MINE"', 48],
    ["MERGE BRANCH a INTO b MESSAGE 'a' MESSAGE 'b'", 'MESSAGE is written twice', 35],
    ['SET app.branch = 1', 'unexpected "1"', 18],
    ['USE dev', 'found "dev"', 5],
  ]);
});

describe('the session', () => {
  readsAs([
    ['BEGIN', 'BEGIN'],
    ['BEGIN TRANSACTION', 'BEGIN'],
    ['start transaction', 'BEGIN'],
    ['COMMIT', 'COMMIT'],
    [`COMMIT WITH MESSAGE 'm' ACTOR 'a'`, `COMMIT WITH MESSAGE 'm' ACTOR 'a'`],
    [`COMMIT MESSAGE $1`, 'COMMIT WITH MESSAGE $1'],
    [`COMMIT WORK ACTOR 'a' MESSAGE 'm'`, `COMMIT WITH MESSAGE 'm' ACTOR 'a'`],
    [`COMMIT ACTOR 'a'`, `COMMIT ACTOR 'a'`],
    ['ROLLBACK', 'ROLLBACK'],
    ['ROLLBACK TRANSACTION', 'ROLLBACK'],
    ['SET validate_schema = on', "SET validate_schema = 'on'"],
    ['SET SESSION Validate_Schema TO FALSE', 'SET validate_schema = FALSE'],
    ['SET LOCAL a.b = 1', 'SET a.b = 1'],
    ['SET local = -1', 'SET "local" = -1'],
    ['SET a = DEFAULT', 'SET a = DEFAULT'],
    ['SET search_path TO "$user", public', "SET search_path = '$user, public'"],
    ['SHOW server_version', 'SHOW server_version'],
    ['SHOW TRANSACTION ISOLATION LEVEL', 'SHOW "transaction" isolation level'],
    ['SHOW all', 'SHOW "all"'],
  ]);
  isRefused([
    ['COMMIT WITH', 'Syntax error: expected MESSAGE or ACTOR, found the end of the statement', 12],
    ["COMMIT MESSAGE 'a' MESSAGE 'b'", 'MESSAGE is written twice', 20],
    ["COMMIT ACTOR 'a' ACTOR 'b'", 'ACTOR is written twice', 18],
    ['ROLLBACK TO a', 'unexpected "TO"', 10],
    ['START', 'expected TRANSACTION', 6],
    ['SET a', 'Syntax error: expected = or TO, found the end of the statement', 6],
    ['SHOW', 'unexpected the end of the statement', 5],
  ]);
});

describe('new words', () => {
  test('are names in queries', () => {
    const text = 'SELECT path, branch AS show, update, set.merge, LOCALE(node) FROM move AS copy, commit';
    expect(printStatement(parseStatement(text))).toBe(text);
  });

  test('RETURNING is reserved', () => {
    expect(placed('SELECT returning FROM g').message).toContain('found "returning"');
    expect(printStatement(parseStatement('SELECT "returning" FROM g'))).toBe('SELECT "returning" FROM g');
  });
});

test('several statements of different kinds are read in order', () => {
  const text = "USE BRANCH dev; BEGIN; UPDATE g SET a = 1 WHERE id = 'x'; SELECT 1; COMMIT";
  expect(parseStatements(text).map(({ statement }) => statement.kind)).toEqual([
    'use-branch',
    'begin',
    'update',
    'query-statement',
    'commit',
  ]);
});
