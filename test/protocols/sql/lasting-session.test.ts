import { describe, expect, it } from 'vitest';
import type { StatementResult } from '#protocols/sql/session-ports.ts';
import { SqlSession } from '#protocols/sql/sql-session.ts';
import { readText } from '#protocols/sql/sql-text.ts';
import type { JsonValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { sqlError } from '#runtime/sql-syntax/sql-error.ts';
import { RecordingSurface } from './recording-surface.ts';

/** A session that runs one text after another. */
class Lasting {
  readonly surface = new RecordingSurface();
  readonly #session = new SqlSession(this.surface, 'main');

  /** The results of the statements of a text. */
  async run(sql: string, params: readonly JsonValue[] = []): Promise<readonly StatementResult<string>[]> {
    const steps = readText(sql, params);
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    const results: StatementResult<string>[] = [];
    for await (const result of this.#session.run(step.value)) results.push(result);
    return results;
  }

  async failure(sql: string, params: readonly JsonValue[] = []): Promise<ServiceError> {
    try {
      await this.run(sql, params);
    } catch (error) {
      if (error instanceof ServiceError) return error;
      throw error;
    }
    throw new Error(`this did not fail: ${sql}`);
  }

  /** What was sent since this was asked last. */
  sent() {
    return this.surface.sent
      .splice(0)
      .map(({ kind, message, sql, to }) => [
        kind,
        to,
        sql,
        ...((message as { dryRun?: boolean }).dryRun === true ? ['tried'] : []),
      ]);
  }
}

const insert = "INSERT INTO 'g' (path, node_type) VALUES ($1, $2)";

describe('a session of several texts', () => {
  it('gives the result of each statement', async () => {
    const session = new Lasting();
    const results = await session.run('SELECT 1 AS a; SELECT 2 AS b; SHOW timezone');
    expect(results).toEqual([
      { kind: 'read', answer: 'rows of SELECT 1 AS a' },
      { kind: 'read', answer: 'rows of SELECT 2 AS b' },
      { kind: 'rows', rows: { columns: ['timezone'], rows: [{ timezone: 'UTC' }] } },
    ]);
  });

  it('keeps its branch and its variables', async () => {
    const session = new Lasting();
    await session.run("USE BRANCH 'dev'; SET validate_schema = off");
    expect(await session.run('SHOW CURRENT BRANCH; SHOW validate_schema')).toMatchObject([
      { rows: { rows: [{ branch: 'dev' }] } },
      { rows: { rows: [{ validate_schema: 'false' }] } },
    ]);
  });

  it('tries a transaction up to each statement, and sends it whole, with the values of all texts', async () => {
    const session = new Lasting();
    await session.run('BEGIN');
    await session.run('SELECT $1 AS a', [7]);
    expect(session.sent()).toEqual([['read', 'main', 'SELECT $1 AS a']]);
    await session.run(insert, ['/a', 'svc:Folder']);
    const renumbered = "INSERT INTO 'g' (path, node_type) VALUES ($2, $3)";
    expect(session.sent()).toEqual([['change', 'main', `SELECT $1 AS a;\n${renumbered}`, 'tried']]);
    await session.run("SELECT '$1' AS text, $1 AS b", [true]);
    const last = "SELECT '$1' AS text, $4 AS b";
    expect(session.sent()).toEqual([['change', 'main', `SELECT $1 AS a;\n${renumbered};\n${last}`, 'tried']]);
    const surface = session.surface;
    await session.run('COMMIT');
    expect(surface.sent[0]?.message).toMatchObject({
      parameters: [7, '/a', 'svc:Folder', true],
      isTransaction: true,
    });
    expect(session.sent()).toEqual([['change', 'main', `SELECT $1 AS a;\n${renumbered};\n${last}`]]);
  });

  it('places errors in the present text, and only there', async () => {
    const session = new Lasting();
    await session.run('BEGIN');
    await session.run(insert, Array(9).fill('/a'));
    session.surface.fails = (sql) => {
      const start = sql.indexOf('bogus');
      return start < 0 ? undefined : sqlError('Column not found: bogus', sql, { start });
    };
    const error = await session.failure('SELECT $1 + $2 AS x, bogus AS y', [1, 2]);
    expect(error).toMatchObject({ details: { line: 1, column: 22 } });
    expect(error.message).toMatch(
      /^Column not found: bogus \(line 1, column 22\)\nSELECT \$1 \+ \$2 AS x, bogus/,
    );

    session.surface.fails = () => undefined;
    await session.run('ROLLBACK; BEGIN');
    await session.run(insert, ['/a', 'x']);
    session.surface.fails = (sql) => sqlError('Gone meanwhile', sql, { start: 3 });
    const earlier = await session.failure('SELECT 1 AS a; SELECT 2 AS b');
    expect([earlier.message, earlier.details]).toEqual(['Gone meanwhile', {}]);
  });

  const aborted = 'current transaction is aborted, commands ignored until end of transaction block';

  it('aborts its transaction on an error, up to COMMIT or ROLLBACK, which both undo it', async () => {
    for (const end of ['COMMIT', 'ROLLBACK']) {
      const session = new Lasting();
      await session.run('BEGIN');
      session.surface.fails = () => new ServiceError('NODE_NOT_FOUND', 'gone');
      await session.failure(insert, ['/a', 'x']);
      session.surface.fails = () => undefined;
      session.sent();
      for (const sql of ['SELECT 1 AS a', insert, 'BEGIN', "USE BRANCH 'dev'", 'SHOW timezone'])
        expect(await session.failure(sql, ['/a', 'x'])).toMatchObject({
          code: 'TRANSACTION_ABORTED',
          message: aborted,
          entry: { sqlState: '25P02' },
        });
      const [ended] = await session.run(end);
      expect(ended).toMatchObject({ rows: { rows: [{ message: 'Transaction rolled back' }] } });
      expect(session.sent()).toEqual([]);
      await session.run(insert, ['/a', 'x']);
      expect(session.sent()).toEqual([['change', 'main', insert]]);
    }
  });

  it('goes on within a text that ends the aborted transaction', async () => {
    const session = new Lasting();
    await session.run('BEGIN');
    session.surface.fails = () => new ServiceError('NODE_NOT_FOUND', 'gone');
    await session.failure(insert, ['/a', 'x']);
    session.surface.fails = () => undefined;
    expect((await session.failure('ROLLBACK; SELECT 1 AS a; ROLLBACK')).message).toMatch(
      /^statement 3: No active transaction to roll back/,
    );
    const refused = await (async () => {
      await session.run('BEGIN');
      await session.failure("USE BRANCH 'dev'");
      return await session.failure('SHOW timezone; ROLLBACK');
    })();
    expect(refused.message).toBe(`statement 1: ${aborted}`);
  });

  it('aborts its transaction where a text cannot be read, and nothing outside one', async () => {
    const session = new SqlSession(new RecordingSurface(), 'main');
    const run = async (sql: string) => {
      const steps = readText(sql, []);
      let step = steps.next();
      while (step.done !== true) step = steps.next();
      for await (const _ of session.run(step.value));
    };
    session.abort();
    await run('BEGIN');
    session.abort();
    await expect(run('SELECT 1 AS a')).rejects.toMatchObject({ code: 'TRANSACTION_ABORTED' });
    await run('ROLLBACK; SELECT 1 AS a');
  });

  it('goes on behind an error of COMMIT, which ends the transaction', async () => {
    const session = new Lasting();
    await session.run('BEGIN');
    await session.run(insert, ['/a', 'x']);
    session.surface.fails = () => new ServiceError('NODE_NOT_FOUND', 'gone');
    await session.failure('COMMIT');
    session.surface.fails = () => undefined;
    expect((await session.failure('COMMIT')).message).toMatch(/^No active transaction to commit/);
    await session.run('SELECT 1 AS a');
  });
});
