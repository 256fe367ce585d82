import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { CommitOperation } from '#actors/branch/messages.ts';
import type { BulkProgress, ChangeSomeBySql, MatchedNodes } from '#actors/branch/sql-messages.ts';
import { SQL_CHANGES_SINCE } from '#runtime/actor/message-version.ts';
import type { Router } from '#runtime/actor/ports.ts';
import { systemRandom, uuidV7 } from '#runtime/base/random.ts';
import { type Clock, systemClock } from '#runtime/base/time/clock.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { jobIdOf } from '#runtime/jobs/job-id.ts';
import type { RunningJob } from '#runtime/jobs/job-handler.ts';
import { BulkSql, type BulkSqlEnvironment } from '#server/jobs/bulk-sql.ts';
import type { StatementPayload } from '#server/jobs/bulk-statement-job.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { callers } from '#test/support/host-fixture.ts';
import { roleCaller } from '#test/support/role-caller.ts';

const NODES = 40;

/** Does not wait between two attempts. */
const clock: Clock = { ...systemClock, after: (_ms, act) => systemClock.after(0, act) };

const INCREMENT = `UPDATE '${WORKSPACE}' SET properties = properties || JSONB_BUILD_OBJECT('count', (properties->>'count')::int + 1)`;

let family: BranchFamily;

beforeAll(async () => {
  family = await BranchFamily.open();
  const properties = ['rank', 'count'].map((name) => ({ name, type: 'Number' }));
  const definition = { name: 'test:Item', properties: [...properties, { name: 'title', type: 'String' }] };
  await family.command('main', { type: 'PutDefinition', kind: 'node_type', definition });
});
afterAll(() => family.close());

beforeEach(async () => {
  for (const path of await paths('main')) {
    if (path.lastIndexOf('/') === 0) await family.delete('main', path);
  }
  await add('', NODES);
});

/** Adds nodes `n0` and so on, of ranks 0 to 9. */
async function add(parent: string, count: number): Promise<void> {
  const operations: CommitOperation[] = Array.from({ length: count }, (_, n) => ({
    type: 'create',
    parentPath: parent === '' ? '/' : parent,
    node: { name: `n${n}`, nodeType: 'test:Item', properties: { rank: n % 10, count: 0 } },
  }));
  const commit = { message: 'many' };
  await family.command('main', { type: 'CommitOperations', workspace: WORKSPACE, commit, operations });
}

async function rows(sql: string): Promise<readonly JsonObject[]> {
  const answer = await family.query<{ readonly rows: readonly JsonObject[] }>('main', {
    type: 'RunSql',
    sql,
    parameters: [],
  });
  return answer.rows;
}

async function paths(_branch: string): Promise<readonly string[]> {
  return (await rows(`SELECT path FROM '${WORKSPACE}' ORDER BY path`)).map(({ path }) => path as string);
}

/** What the nodes count, by name. */
async function counts(): Promise<ReadonlyMap<string, number>> {
  const found = await rows(`SELECT name, properties->>'count' AS count FROM '${WORKSPACE}'`);
  return new Map(found.map(({ count, name }) => [name as string, Number(count)]));
}

/** Messages of the latest revisions, the oldest first. */
async function messages(limit: number): Promise<readonly string[]> {
  const listed = await family.query<{ readonly revisions: readonly { readonly message: string }[] }>('main', {
    type: 'ListRevisions',
    limit,
    offset: 0,
    includeSystem: true,
  });
  return listed.revisions.map(({ message }) => message).reverse();
}

async function submitted(sql: string, parameters: readonly JsonValue[] = []): Promise<StatementPayload> {
  const query = { type: 'MatchBySql', sql, parameters, limit: 0, since: SQL_CHANGES_SINCE } as const;
  const { revision } = await family.query<MatchedNodes>('main', query);
  return {
    kind: sql.startsWith('DELETE') ? 'delete' : 'update',
    branch: family.actor('main'),
    name: 'main',
    sql,
    parameters,
    principal: callers.admin.principal,
    at: revision,
    commit: null,
  };
}

function newId(ageMs = 0): string {
  return jobIdOf(uuidV7(systemClock.wallMs() - ageMs, systemRandom), 'site~0123456789');
}

const host = (): Router => family.fixture.host as unknown as Router;
const always = { callerOf: async (): Promise<Caller> => callers.admin };

interface Run {
  readonly id?: string;
  readonly signal?: AbortSignal;
  readonly environment?: Partial<BulkSqlEnvironment>;
  readonly progress?: (fraction: number) => void;
}

function run(payload: StatementPayload, { environment = {}, id = newId(), ...rest }: Run = {}) {
  const handler = new BulkSql({
    router: host(),
    callers: always,
    clock,
    random: systemRandom,
    partNodes: 3,
    pageIds: 7,
    ...environment,
  });
  const job: RunningJob = {
    id,
    tenant: 'default',
    payload: payload as unknown as JsonObject,
    signal: new AbortController().signal,
    progress: () => undefined,
    ...rest,
  };
  return handler.run(job) as unknown as Promise<JsonObject>;
}

/** A router that does something else with parts. */
function withParts(
  change: (command: ChangeSomeBySql, send: () => Promise<BulkProgress>) => Promise<unknown>,
): Router {
  return {
    query: (actor, query, caller) => host().query(actor, query, caller),
    command(actor, command, delivery) {
      const send = () => host().command(actor, command, delivery) as Promise<BulkProgress>;
      const { type } = command as { readonly type: string };
      return type === 'ChangeSomeBySql' ? change(command as ChangeSomeBySql, send) : send();
    },
  };
}

describe('a bulk statement', () => {
  it('changes every node that matches once, in revisions that tell their part [JOB-011]', async () => {
    const told: number[] = [];
    const payload = await submitted(`${INCREMENT} WHERE (properties->>'rank')::int < $1`, [5]);
    const result = await run(payload, { progress: (fraction) => told.push(fraction) });
    expect(result).toEqual({ matched: 20, changed: 20, skipped: 0 });
    for (const [name, count] of await counts())
      expect([name, count]).toEqual([name, Number(name.slice(1)) % 10 < 5 ? 1 : 0]);
    const expected = Array.from({ length: 7 }, (_, n) => `SQL UPDATE [svc:sql bucket ${n + 1} of 7]`);
    expect(await messages(7)).toEqual(expected);
    expect(told).toEqual(told.toSorted((a, b) => a - b));
    expect(told.at(-1)).toBe(1);
  });

  it('that matches nothing completes and writes nothing [JOB-014]', async () => {
    const head = await family.head('main');
    for (const sql of [`${INCREMENT} WHERE name = 'none'`, `DELETE FROM '${WORKSPACE}' WHERE name = 'none'`])
      expect(await run(await submitted(sql))).toEqual({ matched: 0, changed: 0, skipped: 0 });
    expect(await family.head('main')).toBe(head);
  });

  it('removes nodes with what is below them, and does not miss those that are gone', async () => {
    await add('/n3', 5);
    const payload = await submitted(
      `DELETE FROM '${WORKSPACE}' WHERE DESCENDANT_OF('/n3') OR name IN ('n3', 'n4')`,
    );
    const { changed, matched, skipped } = await run(payload);
    expect({ matched, skipped }).toEqual({ matched: 7, skipped: 0 });
    expect(changed).toBeGreaterThan(0);
    const left = await paths('main');
    expect(left).toHaveLength(NODES - 2);
    expect(left.filter((path) => /^\/n[34](\/|$)/.test(path))).toEqual([]);
  });

  it.each([
    `(properties->>'rank')::int >= 8`,
    `name LIKE 'n1%'`,
    `name IN ('n1', 'n2', 'none')`,
    `DESCENDANT_OF('/n1')`,
    `CHILD_OF('/n1')`,
    `PATH_STARTS_WITH(path, '/n1/')`,
    `DEPTH(path) = 2`,
    `node_type = 'test:Item'`,
    `created_at > '2020-01-01T00:00:00Z'::timestamptz`,
    `DEPTH(path) = 1 AND (name = 'n1' OR name LIKE '%9')`,
    `path = '/n1' AND properties->>'rank' = '1'`,
  ])('finds the nodes that a query with the same condition finds: %s [SQL-052]', async (condition) => {
    await add('/n1', 3);
    const selected = await rows(`SELECT id FROM '${WORKSPACE}' WHERE ${condition} ORDER BY id`);
    expect(selected.length).toBeGreaterThan(0);
    for (const verb of [`DELETE FROM '${WORKSPACE}'`, `UPDATE '${WORKSPACE}' SET name = 'x'`]) {
      const sql = `${verb} WHERE ${condition}`;
      const query = {
        type: 'MatchBySql',
        sql,
        parameters: [],
        limit: 100,
        since: SQL_CHANGES_SINCE,
      } as const;
      const { ids } = await family.query<MatchedNodes>('main', query);
      expect(ids).toEqual(selected.map(({ id }) => id));
    }
  });

  it('leaves nodes alone that do not match any more, and those that match only since [JOB-013]', async () => {
    const payload = await submitted(`${INCREMENT} WHERE (properties->>'rank')::int = 2`);
    const place = { path: '/n2' };
    const properties = { rank: 3, count: 0 };
    await family.command('main', { type: 'UpdateNode', workspace: WORKSPACE, place, properties });
    await family.command('main', {
      type: 'UpdateNode',
      workspace: WORKSPACE,
      place: { path: '/n1' },
      properties: { rank: 2, count: 0 },
    });
    await family.delete('main', '/n12');
    expect(await run(payload)).toEqual({ matched: 4, changed: 2, skipped: 0 });
    const counted = await counts();
    expect(['n1', 'n2', 'n22', 'n32'].map((name) => counted.get(name))).toEqual([0, 0, 1, 1]);
  });

  it('keeps the message and the author of its request, and shortens a message without end', async () => {
    const payload = await submitted(`${INCREMENT} WHERE name = 'n1' OR name = 'n2'`);
    const commit = { message: 'é'.repeat(40_000), actor: 'importer' };
    await run({ ...payload, commit: { message: 'Mine', actor: 'importer' } });
    expect(await messages(1)).toEqual(['Mine [svc:sql bucket 1 of 1]']);
    await run({ ...payload, commit });
    const [long] = await messages(1);
    expect(long).toMatch(/^é+ \[svc:sql bucket 1 of 1\]$/);
  });

  it('lets others write between its parts', async () => {
    let writes = 0;
    const router = withParts(async (_command, send) => {
      const answer = await send();
      writes += 1;
      await family.rename('main', `/${writes === 1 ? 'n39' : `renamed${writes - 1}`}`, `renamed${writes}`);
      return answer;
    });
    const result = await run(await submitted(`${INCREMENT} WHERE node_type = 'test:Item'`), {
      environment: { router },
    });
    expect(result).toEqual({ matched: NODES, changed: NODES, skipped: 0 });
    expect([...(await counts()).values()]).toEqual(Array.from({ length: NODES }, () => 1));
  });

  it('makes smaller parts where a commit does not hold as many nodes', async () => {
    const sizes: number[] = [];
    const router = withParts(({ ids }, send) => {
      sizes.push(ids.length);
      if (ids.length > 4) return Promise.reject(new ServiceError('COMMIT_TOO_LARGE'));
      return send();
    });
    const payload = await submitted(`${INCREMENT} WHERE (properties->>'rank')::int < 3`);
    const result = await run(payload, { environment: { router, partNodes: 10, pageIds: 100 } });
    expect(result).toEqual({ matched: 12, changed: 12, skipped: 0 });
    expect(sizes).toEqual([10, 5, 3, 3, 3, 3]);
    const alone = withParts(() => Promise.reject(new ServiceError('COMMIT_TOO_LARGE')));
    await expect(run(payload, { environment: { router: alone } })).rejects.toMatchObject({
      code: 'COMMIT_TOO_LARGE',
    });
  });

  it('tells how much was done when a node cannot be changed, and what was done stays [JOB-015]', async () => {
    const ids = (await rows(`SELECT id FROM '${WORKSPACE}' ORDER BY id`)).map(({ id }) => id as string);
    const bad = ids[4] as string;
    const path = (await rows(`SELECT path FROM '${WORKSPACE}' WHERE id = '${bad}'`))[0]?.path as string;
    const place = { path };
    const properties = { rank: 'x', count: 0 };
    // A property of a type that has been changed since is not valid any more.
    const definition = { name: 'test:Item', properties: [{ name: 'count', type: 'Number' }] };
    await family.command('main', { type: 'PutDefinition', kind: 'node_type', definition });
    await family.command('main', { type: 'UpdateNode', workspace: WORKSPACE, place, properties });
    const typed = [...definition.properties, { name: 'rank', type: 'Number' }];
    await family.command('main', {
      type: 'PutDefinition',
      kind: 'node_type',
      definition: { ...definition, properties: typed },
    });
    const payload = await submitted(`${INCREMENT} WHERE node_type = 'test:Item'`);
    const failed = run(payload);
    await expect(failed).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    await expect(failed).rejects.toThrow(path);
    await expect(failed).rejects.toThrow(
      `(3 nodes were changed before that; ${NODES - 3} of ${NODES} were left)`,
    );
    expect([...(await counts()).values()].filter((count) => count === 1)).toHaveLength(3);
  });

  it('stops when it is cancelled, and between two parts only [JOB-016]', async () => {
    const cancelled = new AbortController();
    const router = withParts(async ({ part }, send) => {
      const answer = await send();
      if (part === 2) cancelled.abort();
      return answer;
    });
    const payload = await submitted(`${INCREMENT} WHERE node_type = 'test:Item'`);
    await expect(run(payload, { signal: cancelled.signal, environment: { router } })).rejects.toMatchObject({
      code: 'REQUEST_CANCELLED',
    });
    expect([...(await counts()).values()].filter((count) => count === 1)).toHaveLength(6);
  });

  it('fails when its branch is deleted, or the caller loses access', async () => {
    await family.fork('other', 'main');
    const payload = { ...(await submitted(`${INCREMENT} WHERE name = 'n1' OR name = 'n2'`)) };
    await family.remove('other');
    await expect(run({ ...payload, branch: family.actor('other'), name: 'other' })).rejects.toMatchObject({
      code: 'BRANCH_NOT_FOUND',
      message: expect.stringContaining("Branch 'other' is not there any more"),
    });
    let asked = 0;
    const revoked = {
      callerOf: async (): Promise<Caller> => {
        asked += 1;
        if (asked > 3) throw new ServiceError('ACCOUNT_DISABLED');
        return callers.admin;
      },
    };
    const all = await submitted(`${INCREMENT} WHERE node_type = 'test:Item'`);
    await expect(run(all, { environment: { callers: revoked } })).rejects.toMatchObject({
      code: 'ACCOUNT_DISABLED',
    });
  });

  it('is not begun when it is so old that it may have been done, and its progress was removed', async () => {
    const day = 24 * 3_600_000;
    const payload = await submitted(`${INCREMENT} WHERE node_type = 'test:Item'`);
    await expect(run(payload, { id: newId(31 * day) })).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(await run(payload, { id: newId(29 * day) })).toMatchObject({ changed: NODES });
  });
});

/** What happens to one part: done once, refused, done without an answer, done twice, or done before the worker ends. */
const fates = ['done', 'refused', 'unanswered', 'twice', 'ended', 'endedBefore'] as const;

it('a bulk statement changes every node once, whatever happens to its parts and attempts [JOB-012]', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(...fates), { maxLength: 20 }),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 9 }),
      async (script, partNodes, pageIds) => {
        const before = await counts();
        const payload = await submitted(`${INCREMENT} WHERE (properties->>'rank')::int <> 4`);
        const id = newId();
        const fate = script[Symbol.iterator]();
        const router = withParts(async (_command, send) => {
          const what = fate.next().value ?? 'done';
          if (what === 'refused') throw new ServiceError('OVERLOADED');
          if (what === 'endedBefore') throw new Error('the worker has ended');
          const answer = await send();
          if (what === 'unanswered') throw new ServiceError('OVERLOADED');
          if (what === 'ended') throw new Error('the worker has ended');
          return what === 'twice' ? send() : answer;
        });
        const environment = { router, partNodes, pageIds };
        let result: JsonObject | undefined;
        while (result === undefined) result = await run(payload, { id, environment }).catch(unlessEnded);
        expect(result).toEqual({ matched: 36, changed: 36, skipped: 0 });
        for (const [name, count] of await counts())
          expect(count - (before.get(name) as number)).toBe(Number(name.slice(1)) % 10 === 4 ? 0 : 1);
      },
    ),
    { numRuns: 12 },
  );
});

it('permissions that change midway hold for what is left, and no node is changed twice [JOB-017, JOB-012]', async () => {
  const permit = (ranks: string, operations: readonly string[]) =>
    ({ path: '**', workspace: WORKSPACE, operations, condition: `node.rank ${ranks}` }) as const;
  const whole = [{ path: '**', workspace: WORKSPACE, operations: ['read', 'update'] }];
  /** Half of the nodes are hidden, and some of the others may not be changed. */
  const narrow = [permit('< 5', ['read']), permit('< 3', ['update'])];
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('whole', 'narrow', 'ended'), { maxLength: 16 }),
      fc.integer({ min: 1, max: 6 }),
      async (script, partNodes) => {
        const before = await counts();
        const payload = await submitted(`${INCREMENT} WHERE node_type = 'test:Item'`);
        const id = newId();
        let permissions: JsonValue = whole;
        const next = script[Symbol.iterator]();
        const router = withParts(async (_command, send) => {
          const what = next.next().value;
          const answer = await send();
          if (what === 'narrow') permissions = narrow;
          if (what === 'whole') permissions = whole;
          if (what === 'ended') throw new Error('the worker has ended');
          return answer;
        });
        const changing = {
          callerOf: async (): Promise<Caller> => roleCaller(permissions, { tenant: 'default' }),
        };
        const environment = { router, callers: changing, partNodes };
        let result: JsonObject | undefined;
        while (result === undefined) result = await run(payload, { id, environment }).catch(unlessEnded);
        const added = [...(await counts())].map(([name, count]) => count - (before.get(name) as number));
        expect(added.every((count) => count === 0 || count === 1)).toBe(true);
        expect(result.changed).toBe(added.filter((count) => count === 1).length);
        expect(result.matched).toBe(NODES);
        // Of the ranks 3 and 4 are seen and not changed, and 5 to 9 are not seen.
        if (script.length === 1 && script[0] === 'narrow') {
          expect(result.changed).toBeLessThan(NODES - 10);
          expect(result.skipped).toBeGreaterThan(0);
        }
      },
    ),
    { numRuns: 8, examples: [[['narrow'], 3]] },
  );
});

it.each([7, 100])(
  'goes on behind a part that another attempt has made smaller, with pages of %i ids',
  async (pageIds) => {
    const payload = await submitted(`${INCREMENT} WHERE (properties->>'rank')::int < 9`);
    const router = withParts((command, send) => {
      if (command.part !== 1 || command.ids.length < 3) return send();
      const smaller = { ...command, ids: command.ids.slice(0, 2) };
      return host().command(payload.branch, smaller, { caller: callers.admin }).then(send);
    });
    const result = await run(payload, { environment: { router, pageIds } });
    expect(result).toEqual({ matched: 36, changed: 36, skipped: 0 });
    expect([...(await counts()).values()].filter((count) => count === 1)).toHaveLength(36);
  },
);

it('NOW() is when the statement was submitted, however long its job has waited', async () => {
  const hourMs = 3_600_000;
  const now = `properties || JSONB_BUILD_OBJECT('title', NOW()::TEXT)`;
  const payload = await submitted(`UPDATE '${WORKSPACE}' SET properties = ${now} WHERE created_at > NOW()`);
  expect(await run(payload, { id: newId(hourMs) })).toMatchObject({ matched: NODES, changed: NODES });
  const found = await rows(`SELECT DISTINCT properties->>'title' AS title FROM '${WORKSPACE}'`);
  expect(found).toHaveLength(1);
});

it('two attempts at once change every node once', async () => {
  const payload = await submitted(`${INCREMENT} WHERE node_type = 'test:Item'`);
  const id = newId();
  const results = await Promise.all([
    run(payload, { id, environment: { partNodes: 2, pageIds: 5 } }),
    run(payload, { id, environment: { partNodes: 3, pageIds: 50 } }),
    run(payload, { id, environment: { partNodes: 5, pageIds: 10 } }),
  ]);
  for (const result of results) expect(result).toEqual({ matched: NODES, changed: NODES, skipped: 0 });
  expect([...(await counts()).values()]).toEqual(Array.from({ length: NODES }, () => 1));
});

it('the progress of a job is told to the engine alone, and is gone when the job has ended', async () => {
  const payload = await submitted(`${INCREMENT} WHERE node_type = 'test:Item'`);
  const id = newId();
  await run(payload, { id });
  const query = { type: 'ReadBulkProgress', job: id, since: SQL_CHANGES_SINCE } as const;
  const read = () => family.query<BulkProgress | null>('main', query, callers.engine);
  expect(await read()).toMatchObject({ done: NODES, changed: NODES, total: NODES });
  await expect(family.query('main', query)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  const forget = { type: 'ForgetBulkProgress', job: id, since: SQL_CHANGES_SINCE };
  const actor = family.actor('main');
  await expect(family.fixture.command(actor, forget, callers.admin)).rejects.toMatchObject({
    code: 'FORBIDDEN',
  });
  const handler = new BulkSql({ router: host(), callers: always, clock, random: systemRandom });
  await handler.ended({ id, payload: payload as unknown as JsonObject, tenant: 'default' });
  expect(await read()).toBeNull();
});

function unlessEnded(error: unknown): undefined {
  if (error instanceof ServiceError) throw error;
}
