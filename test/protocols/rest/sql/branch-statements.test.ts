import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Garden } from '#test/support/garden.ts';
import { IdentityClient } from '#test/support/identity-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

let server: TestServer;
let garden: Garden;
let count = 0;

beforeAll(async () => {
  server = await startServer();
  garden = await Garden.on(server);
});

afterAll(() => server.close());

/** A name that no other test uses. */
function freshName(): string {
  count += 1;
  return `b-${count}`;
}

/** A fork of `main` with a name of its own. */
async function fork(): Promise<string> {
  const name = freshName();
  await garden.run(`CREATE BRANCH '${name}' FROM 'main'`);
  return name;
}

/** Sets the area of b1. */
async function write(branch: string, area: number): Promise<void> {
  await garden.run(`UPDATE 'g' SET properties = properties || '{"area":${area}}' WHERE id = 'b1'`, {
    branch,
  });
}

function areaOn(branch: string): Promise<readonly unknown[]> {
  return garden
    .run("SELECT properties->>'area' AS a FROM 'g' WHERE id = 'b1'", { branch })
    .then(({ rows }) => rows.map(({ a }) => a));
}

interface Failure {
  readonly code: string;
  readonly message: string;
  readonly status: number;
}

async function failureOf(sql: string, request: Parameters<Garden['ask']>[1] = {}): Promise<Failure> {
  const { json, status } = await garden.ask(sql, request);
  const { code, message } = json as Failure;
  return { code, message, status };
}

describe('the examples', () => {
  test('of branches, divergence and a merge [SQLEX-081, SQLEX-082, SQLEX-083, SQLEX-084, SQLEX-085, SQLBR-001, SQLBR-008]', async () => {
    const own = await Garden.on(server);
    const created = await own.run("CREATE BRANCH 'dev' FROM 'main'");
    expect(created).toMatchObject({
      columns: ['result', 'success'],
      rows: [{ result: "Branch 'dev' created", success: true }],
    });
    expect(await own.rows("USE BRANCH 'dev'; SHOW CURRENT BRANCH")).toEqual([{ branch: 'dev' }]);
    const edit = `UPDATE 'g' SET properties = properties || '{"area":13}' WHERE id = 'b1'`;
    await own.run(edit, { branch: 'dev' });
    const [divergence] = await own.rows("SHOW DIVERGENCE 'dev' FROM 'main'");
    expect(divergence).toEqual({
      branch: 'dev',
      base: 'main',
      ahead: 1,
      behind: 0,
      common_ancestor: await own.client.headOf('main'),
    });
    const onMain = "SELECT properties->>'area' AS a FROM 'g' WHERE id = 'b1' AND __branch = 'main'";
    expect((await own.run(onMain, { branch: 'dev' })).rows).toEqual([{ a: '12' }]);
    const merged = await own.run("MERGE BRANCH 'dev' INTO 'main'");
    const head = await own.client.headOf('main');
    expect(merged.rows).toEqual([
      {
        result: 'Merge completed',
        revision: Number(head.slice(0, head.indexOf('-'))),
        fast_forward: false,
        nodes_changed: 1,
      },
    ]);
    await own.run(edit.replace('13', '14'));
    await own.run(edit.replace('13', '15'), { branch: 'dev' });
    const { json, status } = await own.ask("MERGE BRANCH 'dev' INTO 'main'");
    expect(status).toBe(409);
    expect(json).toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(
        /^Merge has 1 conflict\(s\)\. Use SHOW CONFLICTS FOR MERGE 'dev' INTO 'main' to view details, /,
      ),
      details: { conflicts: 1 },
    });
  });
});

describe('CREATE BRANCH', () => {
  test('without FROM forks the branch of the session [SQLBR-011]', async () => {
    const [base, name] = [await fork(), freshName()];
    await write(base, 21);
    await garden.run(`USE BRANCH '${base}'; CREATE BRANCH '${name}'`);
    expect(await areaOn(name)).toEqual(['21']);
    const [described] = await garden.rows(`DESCRIBE BRANCH '${name}'`);
    expect(described).toMatchObject({
      upstream: base,
      created_by: 'admin',
      description: null,
      protected: false,
    });
  });

  test('takes a description, protection and another upstream, in any order [SQLBR-011, SQLBR-004]', async () => {
    const [base, name] = [await fork(), freshName()];
    await write(base, 22);
    await garden.run(
      `CREATE BRANCH '${name}' PROTECTED UPSTREAM main DESCRIPTION $1 WITH HISTORY FROM '${base}'`,
      {
        params: ['for trials'],
      },
    );
    expect(await areaOn(name)).toEqual(['22']);
    const { columns, rows } = await garden.run(`DESCRIBE BRANCH '${name}'`);
    expect(columns).toEqual([
      'name',
      'head',
      'protected',
      'upstream',
      'created_at',
      'created_by',
      'created_from',
      'description',
    ]);
    const head = await garden.client.headOf(base);
    expect(rows[0]).toMatchObject({
      name,
      head,
      created_from: head,
      protected: true,
      upstream: 'main',
      description: 'for trials',
    });
  });

  test('forks at a revision, named absolutely or counted back [SQLBR-011]', async () => {
    const base = await fork();
    await write(base, 31);
    const before = await garden.client.headOf(base);
    await write(base, 32);
    const forms = [
      `FROM '${base}' AT REVISION '${before}'`,
      `FROM '${base}' AT REVISION ${before.replace('-', '_')}`,
      `AT REVISION '${before}'`,
      `FROM '${base}' AT REVISION HEAD~1`,
      `AT REVISION '${base}'~1`,
    ];
    for (const form of forms) {
      const name = freshName();
      await garden.run(`CREATE BRANCH '${name}' ${form}`);
      expect([form, await areaOn(name)]).toEqual([form, ['31']]);
    }
    const last = freshName();
    await garden.run(`CREATE BRANCH '${last}' AT REVISION HEAD`, { branch: base });
    expect(await areaOn(last)).toEqual(['32']);
  });

  test('refuses what cannot be forked', async () => {
    const name = await fork();
    const free = freshName();
    expect(await failureOf(`CREATE BRANCH '${name}' FROM 'main'`)).toMatchObject({
      status: 409,
      code: 'BRANCH_ALREADY_EXISTS',
    });
    expect(await failureOf(`CREATE BRANCH '${free}' FROM 'nowhere'`)).toMatchObject({
      status: 404,
      message: "Branch 'nowhere' not found",
    });
    expect(await failureOf(`CREATE BRANCH '${free}' FROM main AT REVISION '9-9'`)).toMatchObject({
      status: 404,
      code: 'REVISION_NOT_FOUND',
    });
    expect(await failureOf(`CREATE BRANCH '${free}' FROM main UPSTREAM nowhere`)).toMatchObject({
      status: 404,
    });
    for (const name of ['a b', 'HEAD', 'Head', '__proto__'])
      expect(await failureOf(`CREATE BRANCH '${name}'`)).toMatchObject({
        status: 400,
        code: 'INVALID_BRANCH_NAME',
      });
    const far = await failureOf(`CREATE BRANCH '${free}' AT REVISION HEAD~5000`);
    expect(far).toMatchObject({
      status: 400,
      code: 'VALIDATION_FAILED',
      message: expect.stringMatching(
        /^Branch 'main' only has \d+ revisions, cannot go back 5000 revisions \(HEAD~5000\) \(line 1, column 1\)/,
      ),
    });
    expect(await failureOf(`CREATE BRANCH $1`)).toMatchObject({
      status: 400,
      message: expect.stringContaining('Parameter $1 not provided (only 0 parameters given)'),
    });
    expect(await failureOf(`DESCRIBE BRANCH '${free}'`)).toMatchObject({ status: 404 });
  });
});

describe('ALTER BRANCH', () => {
  test('protects, describes and gives another upstream [SQLBR-005]', async () => {
    const name = await fork();
    const alter = (change: string) => garden.rows(`ALTER BRANCH '${name}' ${change}`);
    const altered = [{ result: `Branch '${name}' altered`, success: true }];
    expect(await alter('SET PROTECTED TRUE')).toEqual(altered);
    expect(await alter("SET DESCRIPTION 'd'")).toEqual(altered);
    expect(await alter('UNSET UPSTREAM')).toEqual(altered);
    const described = async () => (await garden.rows(`DESCRIBE BRANCH '${name}'`))[0];
    expect(await described()).toMatchObject({ protected: true, description: 'd', upstream: null });
    await alter('SET PROTECTED FALSE');
    await alter('SET UPSTREAM main');
    expect(await described()).toMatchObject({ protected: false, description: 'd', upstream: 'main' });
  });

  test('refuses another name, a missing branch and a missing upstream [SQLBR-014, SQLBR-015]', async () => {
    const name = await fork();
    expect(await failureOf(`ALTER BRANCH '${name}' RENAME TO other`)).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^RENAME TO is not supported/),
    });
    expect(await failureOf('ALTER BRANCH nowhere SET PROTECTED TRUE')).toMatchObject({
      status: 404,
      message: "Branch 'nowhere' not found",
    });
    expect(await failureOf(`ALTER BRANCH '${name}' SET UPSTREAM nowhere`)).toMatchObject({ status: 404 });
    expect(await failureOf(`ALTER BRANCH '${name}' SET UPSTREAM '${name}'`)).toMatchObject({
      status: 400,
      message: expect.stringContaining('cannot be its own upstream'),
    });
  });
});

describe('DROP BRANCH', () => {
  test('removes a branch [SQLBR-007]', async () => {
    const name = await fork();
    expect(await garden.rows(`DROP BRANCH '${name}'`)).toEqual([
      { result: `Branch '${name}' dropped`, success: true },
    ]);
    expect(await failureOf(`DROP BRANCH '${name}'`)).toMatchObject({
      status: 404,
      message: `Branch '${name}' not found`,
    });
    expect(await garden.rows(`DROP BRANCH IF EXISTS '${name}'`)).toEqual([
      { result: `Branch '${name}' does not exist`, success: true },
    ]);
  });

  test('refuses a protected branch and the default branch, with IF EXISTS too [SQLBR-006]', async () => {
    const name = await fork();
    await garden.run(`ALTER BRANCH '${name}' SET PROTECTED TRUE`);
    expect(await failureOf(`DROP BRANCH '${name}'`)).toMatchObject({ status: 403, code: 'FORBIDDEN' });
    expect(await failureOf(`DROP BRANCH IF EXISTS '${name}'`)).toMatchObject({ status: 403 });
    expect(await failureOf('DROP BRANCH main')).toMatchObject({ status: 403 });
    const head = { revision: await garden.client.headOf('main') };
    const moved = await garden.client.managed('PUT', `/branches/${name}/head`, head);
    expect(moved.status).toBe(403);
  });
});

describe('SHOW BRANCHES', () => {
  test('lists branches by name [SQLBR-003]', async () => {
    const name = await fork();
    const { columns, rows } = await garden.run('SHOW BRANCHES');
    expect(columns).toEqual(['name', 'head', 'protected', 'upstream', 'created_at', 'created_by']);
    const names = rows.map((row) => row.name);
    expect(names).toEqual([...names].sort());
    expect(names).toContain('main');
    expect(rows.find((row) => row.name === name)).toEqual({
      name,
      head: await garden.client.headOf(name),
      protected: false,
      upstream: 'main',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      created_by: 'admin',
    });
  });
});

describe('SHOW DIVERGENCE', () => {
  test('takes a tag, and refuses what is missing', async () => {
    const name = await fork();
    await write(name, 41);
    await garden.client.managed('POST', '/tags', {
      name: `t-${name}`,
      revision: await garden.client.headOf('main'),
    });
    expect(await garden.rows(`SHOW DIVERGENCE '${name}' FROM 't-${name}'`)).toMatchObject([
      { branch: name, base: `t-${name}`, ahead: 1, behind: 0 },
    ]);
    expect(await failureOf(`SHOW DIVERGENCE nowhere FROM main`)).toMatchObject({
      status: 404,
      message: "Branch 'nowhere' not found",
    });
    expect(await failureOf(`SHOW DIVERGENCE main FROM nowhere`)).toMatchObject({ status: 404 });
  });
});

/** Two branches that both changed the area of b1. */
async function diverged(): Promise<readonly [source: string, target: string]> {
  const [source, target] = [await fork(), await fork()];
  await write(source, 51);
  await write(target, 52);
  return [source, target];
}

describe('SHOW CONFLICTS', () => {
  test('lists conflicts with the properties of each state as JSON [SQLBR-010]', async () => {
    const [source, target] = await diverged();
    const shown = await garden.run(`SHOW CONFLICTS FOR MERGE '${source}' INTO '${target}'`);
    expect(shown.columns).toEqual([
      'node_id',
      'path',
      'conflict_type',
      'base_properties',
      'target_properties',
      'source_properties',
    ]);
    const [row] = shown.rows;
    expect(row).toMatchObject({ node_id: 'b1', path: '/beds/north', conflict_type: 'BothModified' });
    const areas = ['base', 'target', 'source'].map(
      (side) => JSON.parse(String(row?.[`${side}_properties`])).area as unknown,
    );
    expect(areas).toEqual([expect.any(Number), 52, 51]);
  });

  test('names the locale of a conflict about one, and null for a side without the node', async () => {
    const [source, target] = [await fork(), await fork()];
    for (const [branch, title] of [
      [source, 'Nord'],
      [target, 'Norden'],
    ] as const) {
      await garden.run(`UPDATE 'g' FOR LOCALE 'de' SET title = '${title}' WHERE id = 'b1'`, { branch });
    }
    await garden.run("DELETE FROM 'g' WHERE id = 's0'", { branch: source });
    await garden.run(`UPDATE 'g' SET properties = '{"a":1}' WHERE id = 's0'`, { branch: target });
    const { columns, rows } = await garden.run(`SHOW CONFLICTS FOR MERGE '${source}' INTO '${target}'`);
    expect(columns.at(-1)).toBe('translation_locale');
    expect(rows.map((row) => [row.node_id, row.translation_locale, row.source_properties === null])).toEqual([
      ['b1', 'de', false],
      ['s0', null, true],
    ]);
  });

  test('says that there are none', async () => {
    const name = await fork();
    expect(await garden.rows(`SHOW CONFLICTS FOR MERGE '${name}' INTO main`)).toEqual([
      { result: 'No conflicts detected' },
    ]);
    expect(await failureOf(`SHOW CONFLICTS FOR MERGE nowhere INTO main`)).toMatchObject({ status: 404 });
  });
});

describe('MERGE BRANCH', () => {
  const conflicting = { status: 409, message: expect.stringMatching(/^Merge has 1 conflict\(s\)\./) };

  test('writes nothing when there are conflicts [SQLBR-012]', async () => {
    const [source, target] = await diverged();
    const head = await garden.client.headOf(target);
    expect(await failureOf(`MERGE BRANCH '${source}' INTO '${target}'`)).toMatchObject(conflicting);
    expect(await garden.client.headOf(target)).toBe(head);
    expect(await areaOn(target)).toEqual(['52']);
  });

  test.each([
    ['KEEP_OURS', ['52']],
    ['KEEP_THEIRS', ['51']],
    [`USE_VALUE '{"title":"North","area":53}'`, ['53']],
    ['DELETE', []],
  ])('settles a conflict with %s [SQLBR-012]', async (decision, area) => {
    const [source, target] = await diverged();
    const merge = `MERGE BRANCH '${source}' INTO '${target}' MESSAGE 'settled' RESOLVE CONFLICTS (('b1', ${decision}))`;
    const { headers, json } = await garden.ask(merge);
    expect(json).toMatchObject({ rows: [{ result: 'Merge completed', fast_forward: false }] });
    const head = await garden.client.headOf(target);
    expect(headers['x-svc-revision']).toBe(head);
    expect(await garden.client.revision(head)).toMatchObject({
      message: 'settled',
      merge_parent: await garden.client.headOf(source),
      actor: 'admin',
    });
    expect(await areaOn(target)).toEqual(area);
  });

  test('settles a conflict about a locale [SQLBR-012]', async () => {
    const [source, target] = [await fork(), await fork()];
    const translate = (title: string) => `UPDATE 'g' FOR LOCALE 'de' SET title = '${title}' WHERE id = 'b1'`;
    await garden.run(translate('Nord'), { branch: source });
    await garden.run(translate('Norden'), { branch: target });
    await garden.run(
      `MERGE BRANCH '${source}' INTO '${target}' RESOLVE CONFLICTS (('b1', 'de', KEEP_THEIRS))`,
    );
    const title = "SELECT properties->>'title' AS t FROM 'g' WHERE id = 'b1' AND locale = 'de'";
    expect((await garden.run(title, { branch: target })).rows).toEqual([{ t: 'Nord' }]);
  });

  test('refuses a resolution that is none', async () => {
    const [source, target] = await diverged();
    const merge = (rest: string) => failureOf(`MERGE BRANCH '${source}' INTO '${target}' ${rest}`);
    expect(await merge("RESOLVE CONFLICTS (('b2', KEEP_OURS))")).toMatchObject({ status: 400 });
    expect(await merge("RESOLVE CONFLICTS (('b1', USE_VALUE '[1]'))")).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^USE_VALUE takes a JSON object/),
    });
    expect(await merge("RESOLVE CONFLICTS (('b1', USE_VALUE '{'))")).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^Invalid JSON literal: /),
    });
    expect(await merge("RESOLVE CONFLICTS (('b1', '!', KEEP_OURS))")).toMatchObject({ status: 400 });
    expect(await merge("USING FAST_FORWARD RESOLVE CONFLICTS (('b1', KEEP_OURS))")).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^RESOLVE CONFLICTS is for a three-way merge/),
    });
    expect(await areaOn(target)).toEqual(['52']);
  });

  test('fast-forwards where the target has no revisions of its own [SQLBR-013]', async () => {
    const [source, target] = [await fork(), await fork()];
    await write(source, 61);
    const merge = `MERGE BRANCH '${source}' INTO '${target}' USING FAST_FORWARD`;
    expect(await garden.rows(merge)).toMatchObject([{ result: 'Merge completed', fast_forward: true }]);
    expect(await garden.client.headOf(target)).toBe(await garden.client.headOf(source));
    await write(source, 62);
    await write(target, 63);
    expect(await failureOf(merge)).toMatchObject({
      status: 400,
      message: expect.stringContaining('Fast-forward merge not possible: branches have diverged'),
    });
  });

  test('refuses a protected target, a tag and what is missing [SQLBR-006]', async () => {
    const [source, target] = [await fork(), await fork()];
    await write(source, 71);
    await garden.run(`ALTER BRANCH '${target}' SET PROTECTED TRUE`);
    const head = await garden.client.headOf(target);
    expect(await failureOf(`MERGE BRANCH '${source}' INTO '${target}'`)).toMatchObject({
      status: 403,
      message: `Branch '${target}' is protected`,
    });
    expect(await garden.client.headOf(target)).toBe(head);
    await garden.client.managed('POST', '/tags', { name: `t-${source}`, revision: head });
    expect(await failureOf(`MERGE BRANCH 't-${source}' INTO '${source}'`)).toMatchObject({ status: 404 });
    expect(await failureOf(`MERGE BRANCH '${source}' INTO nowhere`)).toMatchObject({
      status: 404,
      message: "Branch 'nowhere' not found",
    });
    expect(await failureOf(`MERGE BRANCH nowhere INTO '${source}'`)).toMatchObject({ status: 404 });
  });

  test('answers what it did, under the message it was given [SQLBR-002]', async () => {
    const [source, target] = [await fork(), await fork()];
    await write(source, 91);
    const { columns, rows } = await garden.run(`MERGE BRANCH '${source}' INTO '${target}' MESSAGE 'grown'`);
    expect(columns).toEqual(['result', 'revision', 'fast_forward', 'nodes_changed']);
    const head = await garden.client.headOf(target);
    const revision = Number(head.split('-')[0]);
    expect(rows).toEqual([{ result: 'Merge completed', revision, fast_forward: false, nodes_changed: 1 }]);
    expect(await garden.client.revision(head)).toMatchObject({ message: 'grown', actor: 'admin' });
  });

  test('happens only while the lock of the request is held', async () => {
    const [source, target] = [await fork(), await fork()];
    await write(source, 85);
    const head = await garden.client.headOf(target);
    const lost = { headers: { 'x-svc-lock': 'beds;1' } };
    expect(await failureOf(`MERGE BRANCH '${source}' INTO '${target}'`, lost)).toMatchObject({
      status: 409,
      code: 'LOCK_NOT_HELD',
    });
    expect(await garden.client.headOf(target)).toBe(head);
  });

  test('is done once under one idempotency key', async () => {
    const [source, target] = [await fork(), await fork()];
    await write(source, 81);
    const request = { headers: { 'idempotency-key': `merge-${source}` } };
    const merge = `MERGE BRANCH '${source}' INTO '${target}'`;
    const first = await garden.run(merge, request);
    await write(source, 82);
    expect((await garden.run(merge, request)).rows).toEqual(first.rows);
    expect(await areaOn(target)).toEqual(['81']);
  });
});

describe('the branch of the session', () => {
  test('USE, CHECKOUT and SET change it [SQLBR-009]', async () => {
    const name = await fork();
    const set = (scope: string) => [{ command: 'SET', branch: name, scope }];
    expect(await garden.rows(`USE BRANCH '${name}'`)).toEqual(set('SESSION'));
    expect(await garden.rows(`CHECKOUT BRANCH '${name}'`)).toEqual(set('SESSION'));
    expect(await garden.rows(`USE LOCAL BRANCH '${name}'`)).toEqual(set('LOCAL'));
    expect(await garden.rows(`SET app.branch = '${name}'`)).toEqual(set('SESSION'));
    expect(await garden.rows(`SET LOCAL app.branch TO '${name}'; SHOW app.branch`)).toEqual([
      { branch: name },
    ]);
    expect(await garden.rows('SHOW CURRENT BRANCH')).toEqual([{ branch: 'main' }]);
    expect(await failureOf('USE BRANCH nowhere')).toMatchObject({
      status: 404,
      message: "Branch 'nowhere' not found",
    });
  });
});

describe('who may', () => {
  const statements = [
    'CREATE BRANCH other FROM main',
    'ALTER BRANCH main SET PROTECTED TRUE',
    'DROP BRANCH IF EXISTS nowhere',
    'MERGE BRANCH main INTO main',
    'SHOW BRANCHES',
    'DESCRIBE BRANCH main',
    'SHOW CONFLICTS FOR MERGE main INTO main',
  ];

  test('only administrators manage branches [SQLBR-015]', async () => {
    const identities = new IdentityClient(server);
    const { access: token } = await identities.person(`/auth/${garden.client.repository}`);
    for (const sql of statements) {
      expect([sql, (await failureOf(sql, { token })).status]).toEqual([sql, 403]);
    }
    expect((await garden.ask('SHOW DIVERGENCE main FROM main', { token })).status).toBe(200);
  });

  test('nobody without a login [SQLBR-015]', async () => {
    for (const sql of [...statements, 'SHOW DIVERGENCE main FROM main']) {
      expect([sql, (await failureOf(sql, { token: null })).status]).toEqual([sql, 401]);
    }
  });
});
