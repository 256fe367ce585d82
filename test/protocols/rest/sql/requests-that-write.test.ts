import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectStatus, revisionOf } from '#test/support/content-client.ts';
import { Garden, type SqlRequest } from '#test/support/garden.ts';
import { LocksClient } from '#test/support/locks-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let garden: Garden;
let locks: LocksClient;

beforeAll(async () => {
  server = await startServer();
  garden = await Garden.on(server);
  await garden.client.branch('dev', { upstream_branch: 'main' });
  locks = new LocksClient(server, server.adminToken, garden.client.repository);
});

afterAll(() => server.close());

let made = 0;

function newPath(): string {
  made += 1;
  return `/n${made}`;
}

const folder = (path: string) => `INSERT INTO 'g' (path, node_type) VALUES ('${path}', 'svc:Folder')`;
const keyed = (key: string): SqlRequest => ({ headers: { 'idempotency-key': key } });

async function pathsBelow(path: string): Promise<readonly unknown[]> {
  return await garden.column("SELECT path FROM 'g' WHERE PATH_STARTS_WITH(path, $1) ORDER BY path", path);
}

async function revisionCount(): Promise<number> {
  return (await garden.client.revisions('?limit=1&include_system=true')).json.total;
}

describe('a request under an Idempotency-Key', () => {
  it('takes effect once, with each of its statements [SQL-069]', async () => {
    const [a, b] = [newPath(), newPath()];
    const sql = `${folder(a)}; ${folder(b)}; BEGIN; ${folder(`${a}/x`)}; ${folder(`${a}/y`)}; COMMIT; UPDATE 'g' SET properties = properties || $1 WHERE path = '${b}' RETURNING path`;
    const request = { ...keyed('all'), params: [{ k: 1 }] };
    const first = expectStatus(await garden.ask(sql, request), 200);
    const before = await revisionCount();
    const second = expectStatus(await garden.ask(sql, request), 200);
    expect(second.json.rows).toEqual(first.json.rows);
    expect(revisionOf(second)).toBe(revisionOf(first));
    expect(await revisionCount()).toBe(before);
    expect(await pathsBelow(a)).toEqual([a, `${a}/x`, `${a}/y`]);
  });

  it('goes on where it had ended, and gives the same error [SQL-069]', async () => {
    const [a, b, late] = [newPath(), newPath(), newPath()];
    const sql = `${folder(a)}; ${folder(`${late}/x`)}; ${folder(b)}`;
    const first = await garden.ask(sql, keyed('partly'));
    expect([first.status, first.json.message]).toEqual([404, `statement 2: Parent node '${late}' not found`]);
    // What is wrong with the request itself stays wrong for its key, as with every other write.
    await garden.run(folder(late));
    const second = await garden.ask(sql, keyed('partly'));
    expect([second.status, second.json.message]).toEqual([first.status, first.json.message]);
    expect(await pathsBelow(a)).toEqual([a]);
    expect(await pathsBelow(b)).toEqual([]);
    expectStatus(await garden.ask(`${folder(`${late}/x`)}; ${folder(b)}`, keyed('again')), 200);
  });

  it('is one request, whatever its first statement is [SQL-069]', async () => {
    const [a, b] = [newPath(), newPath()];
    expectStatus(await garden.ask(folder(a), keyed('mine')), 200);
    for (const [sql, request] of [
      [folder(b), {}],
      [`${folder(a)}; ${folder(b)}`, {}],
      [folder(a), { params: [1] }],
    ] as const) {
      const other = await garden.ask(sql, { ...keyed('mine'), ...request });
      expect([other.status, other.json.code]).toEqual([422, 'IDEMPOTENCY_MISMATCH']);
    }
    expect(await pathsBelow(b)).toEqual([]);
  });

  it('is another request with reads before it, or in a transaction [SQL-069]', async () => {
    const a = newPath();
    expectStatus(await garden.ask(folder(a), keyed('moved')), 200);
    for (const sql of [`SELECT 1 AS a; ${folder(newPath())}`, `BEGIN; ${folder(newPath())}; COMMIT`]) {
      const other = await garden.ask(sql, keyed('moved'));
      expect([sql, other.status, other.json.code]).toEqual([sql, 422, 'IDEMPOTENCY_MISMATCH']);
    }
  });

  it('tries a transaction that is not committed again each time, and keeps nothing of it', async () => {
    const a = newPath();
    for (let n = 0; n < 2; n += 1) {
      const answer = await garden.ask(`BEGIN; ${folder(a)}`, keyed('open'));
      expect(expectStatus(answer, 200).json.rows).toEqual([{ affected_rows: 1 }]);
    }
    expect(await pathsBelow(a)).toEqual([]);
    await garden.run(folder(a));
    expect((await garden.ask(`BEGIN; ${folder(a)}`, keyed('open'))).status).toBe(409);
  });

  it('is refused for a key that is none, and does nothing', async () => {
    const a = newPath();
    const answer = await garden.ask(folder(a), keyed('k'.repeat(256)));
    expect([answer.status, answer.json.field]).toEqual([400, 'Idempotency-Key']);
    expect(await pathsBelow(a)).toEqual([]);
  });

  it('has one job for a statement that is done in the background [SQL-069]', async () => {
    const sql = `${folder(newPath())}; SELECT 1 AS a; UPDATE 'g' SET properties = properties || '{"k":1}' WHERE node_type = 'grow:Plant'`;
    const first = await garden.run(sql, keyed('bulk'));
    const second = await garden.run(sql, keyed('bulk'));
    expect(first.rows).toMatchObject([{ status: 'accepted' }]);
    expect(second.rows).toEqual(first.rows);
  });

  it('answers a repetition with the first job, whatever has changed since [SQL-069]', async () => {
    const [a, tree] = [newPath(), newPath()];
    await garden.client.branch('passing', { upstream_branch: 'main' });
    await garden.run(`${folder(a)}; ${folder(tree)}; ${folder(`${tree}/x`)}`, { branch: 'passing' });
    await garden.run(`UPDATE 'g' SET properties = '{"k":1}' WHERE path = '${tree}'`, { branch: 'passing' });
    const texts = {
      update: "UPDATE 'g' SET name = 'q' WHERE node_type = 'grow:Nothing'",
      delete: "DELETE FROM 'g' WHERE node_type = 'grow:Nothing'",
      restore: `RESTORE TREE NODE path='${tree}' IN WORKSPACE 'g' TO REVISION HEAD~1`,
    };
    const answers = async (): Promise<unknown> =>
      await Promise.all(
        Object.entries(texts).map(
          async ([key, sql]) =>
            expectStatus(await garden.ask(sql, { branch: 'passing', ...keyed(`gone ${key}`) }), 200).json
              .rows,
        ),
      );
    const first = await answers();
    await garden.run(`UPDATE 'g' SET properties = '{"k":2}' WHERE path = '${tree}'`, { branch: 'passing' });
    // `HEAD~1` is another revision now.
    expect(await answers()).toEqual(first);
    await garden.run("DROP BRANCH 'passing'");
    expect(await answers()).toEqual(first);
    const other = await garden.ask("DELETE FROM 'g' WHERE node_type = 'grow:Other'", {
      branch: 'passing',
      ...keyed('gone update'),
    });
    expect([other.status, other.json.code]).toEqual([422, 'IDEMPOTENCY_MISMATCH']);
    // Reads before it are made again.
    const read = await garden.ask(`SELECT 1 AS a; ${texts.delete}`, {
      branch: 'passing',
      ...keyed('gone delete'),
    });
    expect([read.status, read.json.code]).toEqual([404, 'BRANCH_NOT_FOUND']);
    for (const name of ['passing', 'main', 'nope']) {
      const hidden = await server.request('POST', `/api/sql/${garden.client.repository}/${name}`, {
        body: { sql: texts.update },
        headers: { 'idempotency-key': 'gone update' },
      });
      expect([name, hidden.status]).toEqual([name, 401]);
    }
    const fresh = await garden.ask(texts.update, { branch: 'passing', ...keyed('gone fresh') });
    expect([fresh.status, fresh.json.code]).toEqual([404, 'BRANCH_NOT_FOUND']);
  });

  it('gives the same error again for a statement that could not be done in the background', async () => {
    const late = newPath();
    const sql = `DELETE FROM 'late' WHERE path = '${late}' OR name = 'x'`;
    const first = await garden.ask(sql, keyed('refused'));
    expect([first.status, first.json.code]).toEqual([404, 'WORKSPACE_NOT_FOUND']);
    const definition = { allowed_node_types: [], allowed_root_node_types: [] };
    const { repository } = garden.client;
    expectStatus(await server.admin('PUT', `/api/workspaces/${repository}/late`, definition), 204);
    const second = await garden.ask(sql, keyed('refused'));
    expect([second.status, { ...second.json, timestamp: first.json.timestamp }]).toEqual([404, first.json]);
    expectStatus(await garden.ask(sql, keyed('refused no more')), 200);
  });
});

describe('a request with a lock', () => {
  const guarded = (lock: string): SqlRequest => ({ headers: { 'x-svc-lock': lock } });

  it('writes while the lock is held, with each of its statements [SQL-070]', async () => {
    const token = await locks.taken('beds/1');
    const a = newPath();
    const sql = `${folder(a)}; BEGIN; ${folder(`${a}/x`)}; COMMIT`;
    expectStatus(await garden.ask(sql, guarded(`beds%2F1;${token}`)), 200);
    const wrong = await garden.ask(`SELECT 1 AS a; ${folder(`${a}/y`)}`, guarded(`beds%2F1;${token + 1}`));
    expect([wrong.status, wrong.json.code]).toEqual([409, 'LOCK_NOT_HELD']);
    await locks.release('beds/1', token);
    const released = await garden.ask(`BEGIN; ${folder(`${a}/y`)}; COMMIT`, guarded(`beds%2F1;${token}`));
    expect([released.status, released.json.code]).toEqual([409, 'LOCK_NOT_HELD']);
    expect(await pathsBelow(a)).toEqual([a, `${a}/x`]);
    const shape = await garden.ask(folder(newPath()), guarded('beds'));
    expect([shape.status, shape.json.field]).toEqual([400, 'X-Svc-Lock']);
  });

  it('does nothing in the background, where the lock may end [SQL-070]', async () => {
    const token = await locks.taken('bulk');
    const sql = "UPDATE 'g' SET name = 'q' WHERE node_type = 'grow:Nothing'";
    const answer = await garden.ask(sql, guarded(`bulk;${token}`));
    expect([answer.status, answer.json.field]).toEqual([400, 'X-Svc-Lock']);
  });
});

describe('a caller without a login', () => {
  it('writes nothing, and learns nothing [SQL-071]', async () => {
    const texts = [
      folder(newPath()),
      `SELECT 1 AS a; ${folder(newPath())}`,
      "UPDATE 'g' SET name = 'q' WHERE node_type = 'grow:Bed'",
      "CREATE BRANCH 'mine'",
      'SHOW BRANCHES',
      "CREATE ROLE 'r'",
    ];
    for (const sql of texts) {
      for (const repository of [garden.client.repository, 'nope']) {
        const answer = await server.request('POST', `/api/sql/${repository}`, { body: { sql } });
        expect([sql, answer.status, answer.json.code]).toEqual([sql, 401, 'UNAUTHORIZED']);
      }
    }
  });

  it('gets the same answers whether a branch is there or not [SQL-071]', async () => {
    for (const sql of [
      "USE BRANCH 'dev'; SELECT 1 AS a",
      "USE BRANCH 'nope'; SELECT 1 AS a",
      'SELECT 1 AS a; SELEC 2',
      "BEGIN; SELECT name FROM 'g'; COMMIT; SELECT 2 AS b",
    ]) {
      const answers = await Promise.all(
        [garden.client.repository, 'nope'].map((repository) =>
          server.request('POST', `/api/sql/${repository}`, { body: { sql } }),
        ),
      );
      for (const { json, status } of answers)
        expect([sql, status, json]).toEqual([
          sql,
          200,
          { columns: [], rows: [], row_count: 0, execution_time_ms: 0 },
        ]);
    }
  });
});

describe('reads of a request that writes', () => {
  it('see what it has written, whatever consistency is asked for [SQL-072]', async () => {
    for (const consistency of ['local', 'strict', undefined]) {
      const a = newPath();
      const answer = await garden.ask(`${folder(a)}; SELECT path FROM 'g' WHERE path = '${a}'`, {
        ...(consistency === undefined ? {} : { headers: { 'x-svc-consistency': consistency } }),
      });
      expect(expectStatus(answer, 200).json.rows).toEqual([{ path: a }]);
    }
    const odd = await garden.ask(folder(newPath()), { headers: { 'x-svc-consistency': 'odd' } });
    expect([odd.status, odd.json.field]).toEqual([400, 'X-Svc-Consistency']);
  });

  it('of its revision are asked for with that revision', async () => {
    const a = newPath();
    const revision = revisionOf(await garden.ask(folder(a)));
    for (const consistency of ['local', 'strict'])
      expect(
        await garden.run(`SELECT path FROM 'g' WHERE path = '${a}'`, {
          headers: { 'x-svc-min-revision': revision, 'x-svc-consistency': consistency },
        }),
      ).toMatchObject({ row_count: 1 });
  });
});

describe('a client that goes away', () => {
  it('stops its request between two statements [SQL-073]', async () => {
    const a = newPath();
    await garden.run(folder(a));
    const sql = Array.from({ length: 900 }, (_, n) => folder(`${a}/${n}`)).join(';');
    const sent = httpRequest({
      host: '127.0.0.1',
      port: server.port,
      method: 'POST',
      path: `/api/sql/${garden.client.repository}`,
      headers: { authorization: `Bearer ${server.adminToken}`, 'content-type': 'application/json' },
    });
    sent.on('error', () => {});
    sent.end(JSON.stringify({ sql }));
    const written = () => garden.column("SELECT COUNT(*) AS n FROM 'g' WHERE CHILD_OF($1)", a);
    while ((await written())[0] === 0);
    sent.destroy();
    // Two equal counts that are further apart than a statement takes: nothing is being written any more.
    let count = -1;
    for (;;) {
      const [next] = await written();
      if (next === count) break;
      count = next as number;
      await garden.run(folder(newPath()));
    }
    expect(count).toBeLessThan(900);
  });
});
