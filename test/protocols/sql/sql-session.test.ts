import { describe, expect, it } from 'vitest';
import type { StatementResult } from '#protocols/sql/session-ports.ts';
import { COMMANDS_MAX } from '#protocols/sql/session-limits.ts';
import { SqlSession } from '#protocols/sql/sql-session.ts';
import { readText } from '#protocols/sql/sql-text.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';
import { RecordingSurface, type Sent } from './recording-surface.ts';

interface Run {
  readonly surface: RecordingSurface;
  readonly result: StatementResult<string>;
}

async function run(
  sql: string,
  params: readonly JsonValue[] = [],
  surface = new RecordingSurface(),
): Promise<Run> {
  const session = new SqlSession(surface, 'main');
  return { surface, result: await session.runRequest(textOf(sql, params)) };
}

function textOf(sql: string, params: readonly JsonValue[] = []) {
  const steps = readText(sql, params);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

async function failure(sql: string, surface = new RecordingSurface()): Promise<ServiceError> {
  try {
    await run(sql, [], surface);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error(`this did not fail: ${sql}`);
}

const brief = ({ kind, sql, step, to }: Sent) => [kind, to, sql, ...(step === undefined ? [] : [step])];
const sentBy = async (sql: string) => (await run(sql)).surface.sent.map(brief);
const rowOf = ({ result }: Run) => (result.kind === 'rows' ? result.rows.rows[0] : result);
const insert = "INSERT INTO 'g' (path, node_type) VALUES ('/a', 'svc:Folder')";
const update = "UPDATE 'g' SET name = 'q' WHERE id = 'b1'";

describe('reads', () => {
  it('of a text of reads are one message, with the text as it is', async () => {
    const sql = ' SELECT 1 AS a; -- one\n SELECT 2 AS b;';
    const surface = new RecordingSurface();
    const result = new SqlSession(surface, 'dev').runRequest(textOf(sql));
    expect(result).toEqual({ kind: 'read', answer: `rows of ${sql}` });
    expect(surface.sent.map(brief)).toEqual([['read', 'dev', sql]]);
  });

  it('that follow one another are sent together, up to a write', async () => {
    expect(await sentBy(`SELECT 1 AS a; SELECT 2 AS b; ${insert}; SELECT 3 AS c; SELECT 4 AS d`)).toEqual([
      ['read', 'main', 'SELECT 1 AS a;\nSELECT 2 AS b'],
      ['change', 'main', insert, 2],
      ['read', 'main', 'SELECT 3 AS c;\nSELECT 4 AS d'],
    ]);
  });

  it('are shown only where they are the last', async () => {
    const { result } = await run(`SELECT 1 AS a; ${insert}`);
    expect(result).toMatchObject({ kind: 'changed', changed: { revision: '9-0' } });
    expect((await run(`${insert}; SELECT 1 AS a`)).result).toEqual({
      kind: 'read',
      answer: 'rows of SELECT 1 AS a',
    });
  });

  it('of users and roles go to main', async () => {
    expect(await sentBy("USE BRANCH 'dev'; SELECT 1 AS a; SHOW ROLES")).toEqual([
      ['read', 'dev', 'SELECT 1 AS a'],
      ['read', 'main', 'SHOW ROLES'],
    ]);
  });
});

describe('the branch', () => {
  it('is that of USE BRANCH, and of USE LOCAL BRANCH until the transaction ends [SQLEX-082, SQLBR-009]', async () => {
    expect(rowOf(await run("USE BRANCH 'dev'; SHOW CURRENT BRANCH"))).toEqual({ branch: 'dev' });
    expect(rowOf(await run('SHOW CURRENT BRANCH'))).toEqual({ branch: 'main' });
    expect(rowOf(await run("SET app.branch = 'dev'; SHOW app.branch"))).toEqual({ branch: 'dev' });
    expect(rowOf(await run("USE BRANCH 'dev'"))).toEqual({ command: 'SET', branch: 'dev', scope: 'SESSION' });
    expect(rowOf(await run("USE LOCAL BRANCH 'dev'"))).toEqual({
      command: 'SET',
      branch: 'dev',
      scope: 'LOCAL',
    });
    const local = `USE LOCAL BRANCH 'dev'; BEGIN; ${insert}; COMMIT; SHOW CURRENT BRANCH`;
    const { result, surface } = await run(local);
    expect(surface.sent.map(brief)).toEqual([['change', 'dev', insert, 3]]);
    expect(result).toMatchObject({ rows: { rows: [{ branch: 'main' }] } });
  });

  it('has to be there', async () => {
    expect(await failure("USE BRANCH 'nope'")).toMatchObject({
      code: 'BRANCH_NOT_FOUND',
      message: "Branch 'nope' not found",
    });
  });

  it('may be named by a statement', async () => {
    expect(
      await sentBy(
        "UPDATE 'g' SET name = 'q' WHERE id = 'b1' AND __branch = 'dev'; MOVE 'g' IN BRANCH 'dev' SET path='/a' TO path='/b'; CREATE ROLE 'r'",
      ),
    ).toMatchObject([
      ['change', 'dev', expect.stringContaining('UPDATE'), 0],
      ['change', 'dev', expect.stringContaining('MOVE'), 1],
      ['change', 'main', "CREATE ROLE 'r'", 2],
      ['decision', 'tenant', 'role_created r'],
    ]);
  });
});

describe('a transaction', () => {
  it('is one command at its COMMIT [SQLEX-086]', async () => {
    const sql = `BEGIN; ${update}; SELECT 1 AS a; COMMIT WITH MESSAGE 'tidy' ACTOR $1`;
    const done = await run(sql, ['ana']);
    expect(done.surface.sent).toMatchObject([
      {
        kind: 'change',
        to: 'main',
        sql: `${update};\nSELECT 1 AS a`,
        step: 3,
        message: { isTransaction: true, commit: { message: 'tidy', actor: 'ana' }, parameters: ['ana'] },
      },
    ]);
    expect(done.surface.sent[0]?.message).not.toHaveProperty('dryRun');
    expect(rowOf(done)).toEqual({ message: 'Transaction committed' });
  });

  it('starts with BEGIN', async () => {
    expect(rowOf(await run('BEGIN'))).toEqual({ message: 'Transaction started' });
    expect(rowOf(await run('BEGIN; COMMIT'))).toEqual({ message: 'Transaction committed' });
    expect(rowOf(await run('BEGIN; ROLLBACK'))).toEqual({ message: 'Transaction rolled back' });
  });

  it('keeps the branch that it began with [SQL-029]', async () => {
    const other = await failure(`BEGIN; ${insert}; USE BRANCH 'dev'; COMMIT`);
    expect(other.message).toMatch(/^statement 3: The branch of a transaction is fixed at BEGIN/);
    const surface = new RecordingSurface();
    for (const statement of [
      "UPDATE 'g' SET name = 'q' WHERE id = 'b1' AND __branch = 'dev'",
      "MOVE 'g' IN BRANCH 'dev' SET path='/a' TO path='/b'",
    ]) {
      const error = await failure(`BEGIN; ${statement}; COMMIT`, surface);
      expect(error.message).toMatch(/^statement 2: A transaction is of one branch, which is 'main'/);
    }
    const role = await failure("USE BRANCH 'dev'; BEGIN; CREATE ROLE 'r'; COMMIT", surface);
    expect(role.message).toMatch(/^statement 3: A transaction is of one branch, which is 'dev'/);
    expect(surface.sent).toEqual([]);
    const own = "UPDATE 'g' SET name = 'q' WHERE id = 'b1' AND __branch = 'main'";
    expect((await run(`BEGIN; ${own}; COMMIT`)).surface.sent).toHaveLength(1);
  });

  it('that is not committed is tried and undone, and shows its last rows', async () => {
    const open = await run(`BEGIN; ${insert}`);
    expect(open.surface.sent).toMatchObject([
      { sql: insert, message: { dryRun: true, isTransaction: true } },
    ]);
    expect(open.result).toMatchObject({ kind: 'changed' });
    const back = await run(`BEGIN; ${insert}; ROLLBACK`);
    expect(back.surface.sent).toMatchObject([{ message: { dryRun: true } }]);
    expect(rowOf(back)).toEqual({ message: 'Transaction rolled back' });
    const shown = await run(`BEGIN; ${insert}; SHOW server_version`);
    expect(shown.surface.sent).toHaveLength(1);
    expect(rowOf(shown)).toEqual({ server_version: '14.0' });
  });

  it('that only reads is a query', async () => {
    const { result, surface } = await run('BEGIN; SELECT 1 AS a; SELECT 2 AS b');
    expect(surface.sent.map(brief)).toEqual([['read', 'main', 'SELECT 1 AS a;\nSELECT 2 AS b']]);
    expect(result).toEqual({ kind: 'read', answer: 'rows of SELECT 1 AS a;\nSELECT 2 AS b' });
  });

  it('changes many nodes itself, and restores a tree itself', async () => {
    const many = "UPDATE 'g' SET name = 'q' WHERE node_type = 'a:B'";
    const tree = "RESTORE TREE NODE path='/a' TO REVISION HEAD~1";
    expect(await sentBy(`BEGIN; ${many}; ${tree}; COMMIT`)).toEqual([
      ['change', 'main', `${many};\n${tree}`, 3],
    ]);
  });

  it('is not begun twice, and ended only once [SQLEX-087]', async () => {
    expect((await failure('COMMIT')).message).toMatch(
      /^No active transaction to commit\. Use BEGIN to start a transaction first\./,
    );
    expect((await failure('ROLLBACK')).message).toMatch(/^No active transaction to roll back\./);
    expect((await failure('BEGIN; BEGIN')).message).toMatch(
      /^statement 2: Transaction already in progress\. Use COMMIT or ROLLBACK before starting a new transaction\./,
    );
    expect((await failure('BEGIN; COMMIT; COMMIT')).message).toMatch(/^statement 3: No active transaction/);
  });

  it('has no statements that change branches', async () => {
    const surface = new RecordingSurface();
    const error = await failure("BEGIN; create branch 'x' FROM 'main'; COMMIT", surface);
    expect(error.message).toMatch(/^statement 2: CREATE BRANCH cannot be part of a transaction\./);
    expect(surface.sent).toEqual([]);
    expect((await run('BEGIN; SHOW BRANCHES; COMMIT')).surface.sent.map(brief)).toEqual([
      ['branches', 'main', 'show-branches', 1],
    ]);
  });

  it('is discarded by an error', async () => {
    const surface = new RecordingSurface();
    surface.fails = () => new ServiceError('NODE_NOT_FOUND', 'gone');
    await failure(`BEGIN; ${insert}; COMMIT; ${insert}`, surface);
    expect(surface.sent).toHaveLength(1);
  });
});

describe('a statement that is done in the background', () => {
  it('is checked, and then enqueued [SQL-042]', async () => {
    const many = "UPDATE 'g' SET name = 'q' WHERE node_type = 'a:B'";
    const done = await run(`SELECT 1 AS a; ${many}`);
    expect(done.surface.sent.slice(1)).toMatchObject([
      { kind: 'match', to: 'main', sql: many, message: { limit: 0 } },
      { kind: 'enqueue', to: 'main', sql: many, step: 1, message: { kind: 'update', workspace: 'g' } },
    ]);
    expect(done.surface.sent[2]?.message).toMatchObject({ at: parseRevision('7-0') });
    expect(rowOf(done)).toEqual({
      job_id: 'j1',
      status: 'accepted',
      message: 'Bulk operation started. Poll /api/jobs/j1 for status.',
    });
  });

  it('is not enqueued when it is not valid', async () => {
    const surface = new RecordingSurface();
    const many = "DELETE FROM 'g' WHERE x = 1";
    surface.fails = (sql) => sqlError('Column not found: x', sql, { start: sql.indexOf('x =') });
    const error = await failure(`SELECT 1 AS a; ${many}`, surface);
    // The read before it fails too, so nothing else was sent.
    expect(error.message).toMatch(/^statement 1: /);
    surface.fails = (sql) => (sql === many ? sqlError('Column not found: x', sql, { start: 22 }) : undefined);
    surface.sent.length = 0;
    const refused = await failure(`SELECT 1 AS a; ${many}`, surface);
    expect(refused.message).toMatch(/^statement 2: Column not found: x \(line 1, column 38\)/);
    expect(surface.sent.map(({ kind }) => kind)).toEqual(['read', 'match']);
  });

  it('restores a tree to the revision that was meant when it was accepted', async () => {
    const done = await run("RESTORE TREE NODE path='/a' IN WORKSPACE 'g' TO REVISION HEAD~1");
    expect(done.surface.sent).toMatchObject([
      { kind: 'change', sql: expect.stringMatching(/^RESTORE NODE/), message: { dryRun: true } },
      {
        kind: 'enqueue',
        sql: expect.stringMatching(/^RESTORE TREE NODE .*'5-0'/),
        message: { kind: 'restore-tree', workspace: 'g' },
      },
    ]);
    expect(rowOf(done)).toEqual({
      result: expect.any(String),
      job_id: 'j1',
      status: 'queued',
      path: '/a',
      revision: '5-0',
    });
  });

  it('restores a tree to the state of another branch, whose revisions are not those of this one', async () => {
    const done = await run("RESTORE TREE NODE path='/a' TO REVISION dev~1");
    expect(done.surface.sent[1]).toMatchObject({
      kind: 'enqueue',
      sql: expect.stringMatching(/^RESTORE TREE NODE .* dev~1$|^RESTORE TREE NODE .* "dev"~1$/),
    });
  });
});

describe('errors', () => {
  const failing = (at: string) => {
    const surface = new RecordingSurface();
    surface.fails = (sql) => {
      const start = sql.indexOf(at);
      return start < 0 ? undefined : sqlError('Bad', sql, { start });
    };
    return surface;
  };

  it('name the place in the whole text, and the statement', async () => {
    const sql = `${insert};\n  SELECT 1 AS a; SELECT bogus AS b`;
    const error = await failure(sql, failing('bogus'));
    expect(error).toMatchObject({ code: 'VALIDATION_FAILED', details: { line: 2, column: 25 } });
    expect(error.message).toMatch(/^statement 3: Bad \(line 2, column 25\)\n {2}SELECT 1 AS a; SELECT bogus/);
  });

  it('have the number of the whole text where that of a part was named', async () => {
    const surface = new RecordingSurface();
    surface.fails = (sql) =>
      sql.includes('SELECT 2') ? new ServiceError('REVISION_NOT_FOUND', 'statement 2: no') : undefined;
    const error = await failure(`${insert}; SELECT 1 AS a; SELECT 2 AS b`, surface);
    expect(error.message).toBe('statement 3: no');
    const transaction = await failure(`${insert}; BEGIN; SELECT 1 AS a; SELECT 2 AS b; COMMIT`, surface);
    expect(transaction.message).toBe('statement 4: no');
  });

  it('stop a text; what was written before stays', async () => {
    const surface = failing('DELETE');
    await failure(`${insert}; DELETE FROM 'g' WHERE id = 'a'; ${update}`, surface);
    expect(surface.sent).toHaveLength(2);
  });

  it('of a text of one statement have no number', async () => {
    expect((await failure(insert, failing('VALUES'))).message).toMatch(/^Bad \(line 1/);
    const surface = new RecordingSurface();
    surface.fails = () => new ServiceError('NODE_NOT_FOUND', 'gone');
    expect((await failure(insert, surface)).message).toBe('gone');
  });

  it('that are about the request have none', async () => {
    const surface = new RecordingSurface();
    surface.fails = () => new ServiceError('LOCK_NOT_HELD', 'not yours');
    expect((await failure(`${insert}; ${insert}`, surface)).message).toBe('not yours');
  });
});

describe('a caller', () => {
  it('who can never write is refused before anything runs', async () => {
    const surface = new RecordingSurface();
    surface.isReadOnly = true;
    expect(await failure(`SELECT 1 AS a; ${insert}`, surface)).toMatchObject({ code: 'UNAUTHORIZED' });
    expect(surface.sent).toEqual([]);
    await run('BEGIN; SELECT 1 AS a; COMMIT; SHOW server_version', [], surface);
    expect(surface.sent).toHaveLength(1);
  });

  it('who has gone away stops the text', async () => {
    const surface = new RecordingSurface();
    surface.fails = () => {
      surface.isGone = true;
      return undefined;
    };
    await expect(run(`${insert}; ${insert}`, [], surface)).rejects.toMatchObject({
      code: 'REQUEST_CANCELLED',
    });
    expect(surface.sent).toHaveLength(1);
  });

  it('writes so often in one text and not oftener', async () => {
    const many = Array(COMMANDS_MAX).fill("DELETE FROM 'g' WHERE id = 'a'").join(';');
    expect((await run(many)).surface.sent).toHaveLength(COMMANDS_MAX);
    const surface = new RecordingSurface();
    expect((await failure(`${many}; DROP ROLE 'r'`, surface)).message).toMatch(
      /^A request has at most 1,000 statements that write/,
    );
    expect(surface.sent).toEqual([]);
    await run(`BEGIN; ${many}; DROP ROLE 'r'; COMMIT`);
  });
});

describe('variables', () => {
  it('are shown by their names', async () => {
    const shown = [
      ['server_version', '14.0'],
      ['server_encoding', 'UTF8'],
      ['timezone', 'UTC'],
      ['search_path', 'public'],
      ['transaction isolation level', 'read committed'],
      ['validate_schema', 'true'],
    ] as const;
    for (const [name, value] of shown)
      expect(rowOf(await run(`SHOW ${name.toUpperCase()}`))).toEqual({ [name]: value });
    for (const name of ['nonsense', 'constructor', '__proto__'])
      expect((await failure(`SHOW ${name}`)).message).toMatch(
        `unrecognized configuration parameter "${name}"`,
      );
  });

  it('are set, where they are known [SQLEX-088]', async () => {
    expect(rowOf(await run("SET validate_schema = 'off'"))).toEqual({
      command: 'SET',
      variable: 'validate_schema',
      value: 'false',
    });
    for (const off of ['false', 'off', '0', 'no', "'NO'", '$1'])
      expect(rowOf(await run(`SET validate_schema = ${off}; SHOW validate_schema`, [false]))).toEqual({
        validate_schema: 'false',
      });
    for (const on of ['true', 'on', '1', 'yes', 'DEFAULT'])
      expect(rowOf(await run(`SET validate_schema TO ${on}`))).toMatchObject({ value: 'true' });
    expect((await failure("SET colour = 'red'")).message).toMatch(
      /^Unknown session variable: 'colour'\. Supported variables: validate_schema/,
    );
    expect((await failure("SET validate_schema = 'maybe'")).message).toMatch(/^Invalid value for/);
  });
});
