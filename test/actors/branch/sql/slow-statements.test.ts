import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { TextStream } from '#actors/branch/messages.ts';
import type { SlowStatement } from '#actors/branch/sql/slow-statements.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { administrator, type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

const NODES = 400;
const THRESHOLD_MS = 1_000;

let nowMs = 0;
/** Milliseconds that pass with each look at the clock. */
let stepMs = 0;
const clock = { ...systemClock, monotonicMs: () => (nowMs += stepMs) };
let sliceMs = 0;
/** The same for slices: they never end unless a test lets them. */
let sliceStepMs = 0;
const slicesClock = { ...systemClock, monotonicMs: () => (sliceMs += sliceStepMs) };

let branch: BranchFixture;
const reports: SlowStatement[] = [];

beforeAll(async () => {
  const report = (statement: SlowStatement): void => void reports.push(statement);
  branch = await openBranch({ clock, slicesClock, slowStatements: { thresholdMs: THRESHOLD_MS, report } });
  await branch.command({
    type: 'CommitOperations',
    workspace: WORKSPACE,
    commit: { message: 'many' },
    operations: Array.from({ length: NODES }, (_, index) => ({
      type: 'create',
      parentPath: '/',
      node: {
        name: `n${index}`,
        nodeType: 'svc:Page',
        properties: { title: `t${index}`, text: 'x'.repeat(1_000) },
      },
    })),
  });
});

afterEach(() => {
  stepMs = 0;
  sliceStepMs = 0;
  reports.length = 0;
});

afterAll(() => branch.close());

function read(sql: string, ...parameters: readonly string[]): Promise<unknown> {
  return branch.query({ type: 'RunSql', sql, parameters });
}

function change(sql: string, isTransaction = false, dryRun = false): Promise<unknown> {
  return branch.command({ type: 'ChangeBySql', sql, parameters: [], isTransaction, dryRun });
}

/** A long answer that is being read. */
function streamed(sql: string, caller: Caller = administrator): AsyncIterator<unknown> {
  const answer = branch.ask({ type: 'RunSql', sql, parameters: [] }, caller) as TextStream;
  return answer.chunks[Symbol.asyncIterator]() as AsyncIterator<unknown>;
}

/** A caller who waits until a time. */
function waitingUntil(deadlineMs: number): Caller {
  return { ...administrator, deadlineMs };
}

describe('a statement that reads', () => {
  it('is reported once each time when it is one look-up that was bound before [SQL-140]', async () => {
    const sql = 'SELECT name FROM content WHERE path = $1';
    await read(sql, '/n7');
    stepMs = THRESHOLD_MS;
    await read(sql, '/n7');
    await read(sql, '/none');
    const plan = 'PathIndexScan: path=? (rows=1)';
    expect(reports).toMatchObject([
      { rows: 1, plan, branch: 'main', principal: 'admin' },
      { rows: 0, plan },
    ]);
  });

  it('is reported when it has taken as long as the threshold, with its plan [SQL-140]', async () => {
    stepMs = THRESHOLD_MS;
    await read("SELECT name FROM content WHERE path = '/n7' AND properties->>'title' = 't7'");
    expect(reports).toHaveLength(1);
    const [report] = reports;
    expect(report).toMatchObject({
      rows: 1,
      tenant: 'acme',
      repository: 'site',
      branch: 'main',
      principal: 'admin',
      statement: 'SELECT name FROM content WHERE path = ? AND properties ->> ? = ?',
      error: undefined,
    });
    expect(report?.durationMs).toBeGreaterThanOrEqual(THRESHOLD_MS);
    expect(report?.workMs).toBeGreaterThanOrEqual(0);
    expect(report?.plan).toContain('PathIndexScan: path=?');
  });

  it('is not reported when it has taken less', async () => {
    await read('SELECT name FROM content');
    expect(reports).toEqual([]);
  });

  it.each([
    ["path = '/secret'"],
    ["id = 'secret'"],
    ["id IN ('secret', 'secret2')"],
    ["node_type = 'secret:Secret'"],
    ["CHILD_OF('/secret')"],
    ["DESCENDANT_OF('/n1') AND name LIKE 'secret%'"],
    ["path >= '/secret' AND path < '/secret2'"],
    ["PATH_STARTS_WITH(path, '/secret')"],
    ["REFERENCES('content:/secret')"],
    ["id > 'secret'"],
    ["properties->>'secret' = 'secret' OR LENGTH(name) > 987654"],
    ["name IN (SELECT name FROM content WHERE name = 'secret')"],
    ["CASE WHEN name = 'secret' THEN 987654 ELSE 3 END = 987654"],
    ["created_at > '1987-06-05T00:00:00Z'::TIMESTAMPTZ"],
  ])('has no value of WHERE %s in its report [SQL-141]', async (where) => {
    stepMs = THRESHOLD_MS;
    await read(`SELECT 'secret', name FROM content WHERE ${where} ORDER BY name || 'secret' LIMIT 987654`);
    await read(
      `WITH t AS (SELECT name || 'secret' AS n FROM content WHERE ${where}) SELECT a.n FROM t a JOIN t b ON a.n = b.n || 'secret'`,
    );
    expect(reports).toHaveLength(2);
    for (const { plan, statement } of reports) {
      expect(plan).toMatch(/\w+(Scan|Join)/);
      expect(`${statement}\n${plan}`).not.toMatch(/secret|987654|1987/i);
    }
  });

  it('has no value of a parameter in its report [SQL-141]', async () => {
    stepMs = THRESHOLD_MS;
    await read('SELECT name FROM content WHERE path = $1 AND name = $2', '/secret', 'secret');
    expect(reports[0]?.statement).toBe('SELECT name FROM content WHERE path = $1 AND name = $2');
    expect(reports[0]?.plan).not.toContain('secret');
  });

  it('is reported without a plan where it has none, and one report for each of several', async () => {
    stepMs = THRESHOLD_MS;
    await read("EXPLAIN SELECT name FROM content WHERE name = 'secret'; SHOW ROLES; VALUES (1), (2)");
    expect(reports.map(({ rows, statement }) => [statement, rows])).toEqual([
      ['EXPLAIN SELECT name FROM content WHERE name = ?', 1],
      ['SHOW ROLES', expect.any(Number)],
      ['VALUES (?), (?)', 2],
    ]);
    expect(reports.map(({ plan }) => plan === undefined)).toEqual([true, true, false]);
  });

  it('is reported with the code of its error when it fails [SQL-142]', async () => {
    stepMs = THRESHOLD_MS;
    await expect(read("SELECT 1 / 0 FROM content WHERE name = 'n7'")).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    });
    await expect(read('SELECT nme FROM content')).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(reports).toMatchObject([
      { error: 'VALIDATION_FAILED', rows: 0, plan: expect.stringContaining('Scan') },
      { error: 'VALIDATION_FAILED', rows: 0, plan: undefined },
    ]);
  });
});

describe('a statement with a long answer', () => {
  it('ends when its last row is taken, and is reported once [SQL-140]', async () => {
    const reading = streamed('SELECT name, properties FROM content');
    await reading.next();
    nowMs += 5_000;
    expect(reports).toEqual([]);
    while ((await reading.next()).done !== true);
    expect(reports).toMatchObject([{ durationMs: 5_000, rows: NODES, error: undefined }]);
  });

  it('is reported once, and so is each statement before it, though they begin twice [SQL-140]', async () => {
    stepMs = THRESHOLD_MS;
    const reading = streamed('VALUES (1); SELECT name, properties FROM content');
    expect(reports.map(({ statement }) => statement)).toEqual(['VALUES (?)']);
    while ((await reading.next()).done !== true);
    expect(reports.map(({ error, statement }) => [statement, error])).toEqual([
      ['VALUES (?)', undefined],
      ['SELECT name, properties FROM content', undefined],
    ]);
  });

  it('is not reported when it was fast', async () => {
    const reading = streamed('SELECT name, properties FROM content');
    while ((await reading.next()).done !== true);
    expect(reports).toEqual([]);
  });

  it('is reported when its client goes away [SQL-142]', async () => {
    const reading = streamed('SELECT name, properties FROM content');
    await reading.next();
    nowMs += 5_000;
    await reading.return?.();
    expect(reports).toMatchObject([{ durationMs: 5_000, error: 'REQUEST_CANCELLED' }]);
    expect(reports[0]?.rows).toBeGreaterThan(0);
  });

  it('is reported when its time is over [SQL-142]', async () => {
    sliceStepMs = 100;
    const reading = streamed('SELECT name, properties FROM content', waitingUntil(nowMs + 2_000));
    await reading.next();
    nowMs += 5_000;
    await expect(
      (async () => {
        while ((await reading.next()).done !== true);
      })(),
    ).rejects.toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(reports).toMatchObject([{ error: 'DEADLINE_EXCEEDED' }]);
  });
});

describe('a statement that writes', () => {
  it('is reported with the number of nodes, and how they were found [SQL-140]', async () => {
    stepMs = THRESHOLD_MS;
    await change(
      "UPDATE content SET properties = properties || '{\"title\":\"secret\"}' WHERE path LIKE '/n1%' AND name <> 'secret'",
      true,
    );
    expect(reports).toMatchObject([
      {
        rows: 111,
        principal: 'admin',
        statement: 'UPDATE content SET properties = properties || ? WHERE path LIKE ? AND name <> ?',
        error: undefined,
      },
    ]);
    expect(reports[0]?.plan).toContain('PathIndexScan: path LIKE ?');
    expect(reports[0]?.plan).not.toContain('secret');
  });

  it('is not reported when it was fast', async () => {
    await change("DELETE FROM content WHERE path = '/nowhere'");
    expect(reports).toEqual([]);
  });

  it('has a report of its own in a transaction, and none of the plan of another [SQL-140]', async () => {
    stepMs = THRESHOLD_MS;
    await change(
      "INSERT INTO content (path, node_type) SELECT '/made', 'svc:Folder' RETURNING id; DELETE FROM content WHERE path = '/made'; MOVE content SET path='/n1' TO path='/n2'",
      true,
      true,
    );
    expect(reports.map(({ plan, rows, statement }) => [statement, rows, plan?.split('\n')[0]])).toEqual([
      ['INSERT INTO content (path, node_type) SELECT ?, ? RETURNING id', 1, expect.any(String)],
      ['DELETE FROM content WHERE path = ?', 1, undefined],
      ['MOVE content SET path=? TO path=?', 1, undefined],
    ]);
  });

  it('is reported with the code of its error when it fails [SQL-142]', async () => {
    stepMs = THRESHOLD_MS;
    await expect(change("UPDATE content SET name = 'x' WHERE path = '/nowhere'")).rejects.toMatchObject({
      code: 'NODE_NOT_FOUND',
    });
    expect(reports).toMatchObject([{ error: 'NODE_NOT_FOUND', rows: 0, plan: undefined }]);
  });
});
