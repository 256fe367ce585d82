import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareRevisionTexts, expectStatus, revisionOf } from '#test/support/content-client.ts';
import { Garden, type SqlRequest } from '#test/support/garden.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let garden: Garden;

beforeAll(async () => {
  server = await startServer();
  garden = await Garden.on(server);
  await garden.client.branch('dev', { upstream_branch: 'main' });
  const revision = await garden.client.headRevision();
  expectStatus(await garden.client.managed('POST', '/tags', { name: 'v1', revision }), 200, 201);
});

afterAll(() => server.close());

let made = 0;

/** A path that no test has used. */
function newPath(): string {
  made += 1;
  return `/n${made}`;
}

const folder = (path: string) => `INSERT INTO 'g' (path, node_type) VALUES ('${path}', 'svc:Folder')`;

async function isThere(path: string, branch = 'main'): Promise<boolean> {
  const { rows } = await garden.run("SELECT COUNT(*) AS n FROM 'g' WHERE path = $1", {
    params: [path],
    branch,
  });
  return rows[0]?.n === 1;
}

async function revisionCount(): Promise<number> {
  return (await garden.client.revisions('?limit=1&include_system=true')).json.total;
}

async function refusal(sql: string, request: SqlRequest = {}) {
  const { json, status } = await garden.ask(sql, request);
  return { status, code: json.code, message: json.message as string };
}

describe('a statement that writes', () => {
  it('is a revision, and answers how many rows it has written [SQL-008]', async () => {
    const path = newPath();
    const before = await garden.client.headRevision();
    const answer = await garden.ask(folder(path));
    expect(expectStatus(answer, 200).json).toEqual({
      columns: ['affected_rows'],
      rows: [{ affected_rows: 1 }],
      row_count: 1,
      execution_time_ms: expect.any(Number),
    });
    expect(answer.headers['content-type']).toBe('application/json');
    expect(revisionOf(answer)).toBe(await garden.client.headRevision());
    expect(compareRevisionTexts(revisionOf(answer), before)).toBeGreaterThan(0);
    expect(await garden.g.node(path)).toMatchObject({ path, node_type: 'svc:Folder' });
  });

  it('has no revision in its answer when it changes nothing', async () => {
    const answer = await garden.ask("DELETE FROM 'g' WHERE id = 'nobody'");
    expect(answer.json.rows).toEqual([{ affected_rows: 0 }]);
    expect(answer.headers).not.toHaveProperty('x-svc-revision');
  });

  it('answers the schema with a result [SQL-009]', async () => {
    const { columns, rows } = await garden.run("CREATE MIXIN 'grow:Watered'");
    expect([columns, rows]).toEqual([
      ['result', 'success'],
      [{ result: "Mixin 'grow:Watered' created", success: true }],
    ]);
  });

  it('names its table as a text [SQL-005]', async () => {
    const [a, b] = [newPath(), newPath()];
    await garden.run(folder(a));
    await garden.run(`INSERT INTO "g" (path, node_type) VALUES ('${b}', 'svc:Folder')`);
    await garden.run("UPDATE 'g' SET properties = $1 WHERE path = $2", { params: [{ k: 1 }, a] });
    expect(await garden.column("SELECT properties->>'k' AS k FROM 'g' WHERE path = $1", a)).toEqual(['1']);
    await garden.run("DELETE FROM 'g' WHERE path = $1", { params: [a] });
    expect([await isThere(a), await isThere(b)]).toEqual([false, true]);
  });

  it('goes to the branch of the address, of USE BRANCH, or of the statement [SQL-062]', async () => {
    const [a, b, c] = [newPath(), newPath(), newPath()];
    await garden.run(folder(a), { branch: 'dev' });
    await garden.run(`USE BRANCH 'dev'; ${folder(b)}`);
    await garden.run(`USE BRANCH 'dev'; USE LOCAL BRANCH 'main'; ${folder(c)}`);
    for (const [path, branch] of [
      [a, 'dev'],
      [b, 'dev'],
      [c, 'main'],
    ] as const)
      expect([path, await isThere(path, branch)]).toEqual([path, true]);
    for (const [path, branch] of [
      [a, 'main'],
      [b, 'main'],
      [c, 'dev'],
    ] as const)
      expect([path, await isThere(path, branch)]).toEqual([path, false]);
    await garden.run(`UPDATE 'g' SET name = 'moved' WHERE path = '${a}' AND __branch = 'dev'`);
    expect(await isThere('/moved', 'dev')).toBe(true);
    await garden.run(`MOVE 'g' IN BRANCH 'dev' SET path='/moved' TO path='/sheds'`);
    expect(await isThere('/sheds/moved', 'dev')).toBe(true);
    expect(await refusal("DELETE FROM 'g' WHERE id = 'a' AND __branch = 'nope'")).toMatchObject({
      status: 404,
      code: 'BRANCH_NOT_FOUND',
      message: "Branch 'nope' not found",
    });
  });

  it('about users and roles goes to main, whatever the branch is [SQL-063]', async () => {
    await garden.run("CREATE ROLE 'picker'", { branch: 'dev' });
    const names = await garden.client.server.admin(
      'GET',
      `/api/repository/${garden.client.repository}/main/head/svc:access_control/roles/picker`,
    );
    expect(names.status).toBe(200);
    const { rows } = await garden.run("USE BRANCH 'dev'; SHOW ROLES LIKE 'pick%'");
    expect(rows).toMatchObject([{ role_id: 'picker' }]);
  });

  it('is refused on a tag, which can be read [SQL-064]', async () => {
    const branch = 'v1';
    expect((await garden.run('SELECT 1 AS a; SELECT CURRENT_BRANCH() AS b', { branch })).row_count).toBe(1);
    expect((await garden.run('BEGIN; SELECT 1 AS a; COMMIT', { branch })).row_count).toBe(1);
    for (const sql of [
      folder(newPath()),
      "UPDATE 'g' SET name = 'q' WHERE node_type = 'grow:Bed'",
      `BEGIN; ${folder(newPath())}; COMMIT`,
    ])
      expect(await refusal(sql, { branch })).toMatchObject({ status: 405, code: 'READ_ONLY_REVISION' });
    expect(await refusal(`USE BRANCH 'v1'; ${folder(newPath())}`)).toMatchObject({
      status: 405,
      message: "statement 2: 'v1' is a tag; write to a branch",
    });
  });
});

describe('several statements', () => {
  it('answer with the last, and name the last revision that was written [SQL-004]', async () => {
    const [a, b] = [newPath(), newPath()];
    const before = await revisionCount();
    const answer = await garden.ask(`${folder(a)}; ${folder(b)}; SELECT path FROM 'g' WHERE path = '${a}'`);
    expect(answer.json.rows).toEqual([{ path: a }]);
    expect(await revisionCount()).toBe(before + 2);
    expect(revisionOf(answer)).toBe(await garden.client.headRevision());
    const shown = await garden.ask(`${folder(newPath())}; SHOW server_version`);
    expect(shown.json.rows).toEqual([{ server_version: '14.0' }]);
    expect(revisionOf(shown)).toBe(await garden.client.headRevision());
  });

  it('stop at the first error, and what was written before stays [SQL-065]', async () => {
    const [a, b] = [newPath(), newPath()];
    const error = await refusal(`${folder(a)};\n${folder('/no/where')};\n${folder(b)}`);
    expect(error.message).toMatch(/^statement 2: Parent node '\/no' not found/);
    expect([await isThere(a), await isThere(b)]).toEqual([true, false]);
    const placed = await garden.ask(`${folder(newPath())};\n  UPDATE 'g' SET bogus = 1 WHERE id = 'b1'`);
    expect(placed.json).toMatchObject({ code: 'VALIDATION_FAILED', details: { line: 2, column: 18 } });
    expect(placed.json.message).toMatch(
      /^statement 2: Column not found: g\.bogus\. A property [^\n]* \(line 2, column 18\)\n {2}UPDATE 'g' SET bogus = 1/,
    );
  });

  it('are all read before the first one runs [SQL-065]', async () => {
    const a = newPath();
    const error = await refusal(`${folder(a)}; SELEC 1`);
    expect(error).toMatchObject({ status: 400, code: 'VALIDATION_FAILED' });
    expect(await isThere(a)).toBe(false);
  });

  it('that nobody sees may fail at their last row', async () => {
    const a = newPath();
    const late =
      'WITH RECURSIVE t (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t WHERE n < 40000) SELECT 1 / (40000 - n) AS x, $1 AS filler FROM t';
    const error = await refusal(`${folder(newPath())}; ${late}; ${folder(a)}`, { params: ['x'.repeat(50)] });
    expect(error.message).toMatch(/^statement 2: Division by zero/);
    expect(await isThere(a)).toBe(false);
  });

  it('write only so often [SQL-066]', async () => {
    const many = Array(1_001).fill("DELETE FROM 'g' WHERE id = 'a'").join(';');
    expect(await refusal(many)).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^A request has at most 1,000 statements that write/),
    });
  });
});

describe('a transaction', () => {
  it('is one revision with its message and actor [SQLEX-086, SQL-031, SQL-032]', async () => {
    const before = await revisionCount();
    const answer = await garden.ask(
      "BEGIN; UPDATE 'g' SET name = 'q' WHERE id = 'b2'; COMMIT WITH MESSAGE 'tidy' ACTOR 'ana'",
    );
    expect(answer.json.rows).toEqual([{ message: 'Transaction committed' }]);
    expect(await revisionCount()).toBe(before + 1);
    const revision = await garden.client.revision(revisionOf(answer));
    expect(revision).toMatchObject({ message: 'tidy', actor: 'ana' });
    await garden.run("BEGIN; UPDATE 'g' SET name = 'south' WHERE id = 'b2'; COMMIT");
    expect(await garden.client.revision(await garden.client.headRevision())).toMatchObject({
      message: 'SQL transaction',
      actor: 'sql-client',
    });
  });

  it('reads what it has written, which nobody else sees before COMMIT [SQL-032]', async () => {
    const a = newPath();
    const count = `SELECT COUNT(*) AS n FROM 'g' WHERE path = '${a}'`;
    expect((await garden.run(`BEGIN; ${folder(a)}; ${count}`)).rows).toEqual([{ n: 1 }]);
    expect(await isThere(a)).toBe(false);
    expect((await garden.run(`BEGIN; ${folder(a)}; ROLLBACK`)).rows).toEqual([
      { message: 'Transaction rolled back' },
    ]);
    expect(await isThere(a)).toBe(false);
    await garden.run(`BEGIN; ${folder(a)}; ${folder(`${a}/x`)}; COMMIT; ${count}`);
    expect(await isThere(`${a}/x`)).toBe(true);
  });

  it('leaves nothing when a statement of it fails [SQL-032]', async () => {
    const [a, b] = [newPath(), newPath()];
    const head = await garden.client.headRevision();
    for (const end of ['COMMIT', 'ROLLBACK', 'SELECT 1 AS a']) {
      const error = await refusal(`BEGIN; ${folder(a)}; ${folder('/no/where')}; ${folder(b)}; ${end}`);
      expect(error.message).toMatch(/^statement 3: Parent node '\/no' not found/);
    }
    expect(await garden.client.headRevision()).toBe(head);
  });

  it('changes and deletes many nodes itself [SQL-067]', async () => {
    const a = newPath();
    await garden.run(`BEGIN; ${['', '/1', '/2', '/3'].map((end) => folder(a + end)).join('; ')}; COMMIT`);
    const before = await revisionCount();
    await garden.run(
      `BEGIN; UPDATE 'g' SET properties = '{"k":1}' WHERE CHILD_OF('${a}'); DELETE FROM 'g' WHERE name = '2' AND CHILD_OF('${a}'); COMMIT`,
    );
    expect(await revisionCount()).toBe(before + 1);
    const kept = "SELECT name FROM 'g' WHERE CHILD_OF($1) AND properties->>'k' = '1' ORDER BY name";
    expect(await garden.column(kept, a)).toEqual(['1', '3']);
  });

  it('stays on its branch [SQL-029]', async () => {
    const a = newPath();
    await garden.run(`USE BRANCH 'dev'; BEGIN; ${folder(a)}; COMMIT`);
    expect([await isThere(a, 'dev'), await isThere(a)]).toEqual([true, false]);
    const other = await refusal(`BEGIN; DELETE FROM 'g' WHERE path = '${a}' AND __branch = 'dev'; COMMIT`);
    expect(other.message).toMatch(/^statement 2: A transaction is of one branch, which is 'main'/);
    expect(await isThere(a, 'dev')).toBe(true);
  });
});

describe('a session', () => {
  it('has a branch, and variables [SQLEX-082, SQLEX-087, SQLEX-088, SQL-068]', async () => {
    expect((await garden.run("USE BRANCH 'dev'; SHOW CURRENT BRANCH")).rows).toEqual([{ branch: 'dev' }]);
    expect((await garden.run('SHOW CURRENT BRANCH', { branch: 'dev' })).rows).toEqual([{ branch: 'dev' }]);
    expect((await garden.run('SHOW CURRENT BRANCH')).rows).toEqual([{ branch: 'main' }]);
    expect(await refusal('COMMIT')).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^No active transaction to commit/),
    });
    expect(await refusal("SET colour = 'red'")).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^Unknown session variable: 'colour'/),
    });
    expect(await refusal("USE BRANCH 'nope'")).toMatchObject({
      status: 404,
      message: "Branch 'nope' not found",
    });
  });

  it('ends with its request [SQL-068]', async () => {
    await garden.run("USE BRANCH 'dev'; BEGIN; SET validate_schema = off");
    expect((await garden.run('SHOW CURRENT BRANCH')).rows).toEqual([{ branch: 'main' }]);
    expect((await garden.run('BEGIN; SHOW validate_schema')).rows).toEqual([{ validate_schema: 'true' }]);
  });
});
