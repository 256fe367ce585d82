import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BulkProgress, MatchedNodes } from '#actors/branch/sql-messages.ts';
import { engineCaller } from '#runtime/actor/engine-caller.ts';
import { systemRandom, uuidV7 } from '#runtime/base/random.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { jobIdOf } from '#runtime/jobs/job-id.ts';
import { administrator, type BranchFixture, openBranch } from '#test/support/branch-fixture.ts';
import { roleCaller } from '#test/support/role-caller.ts';

const nodeTypes: readonly JsonObject[] = [
  {
    name: 't:Item',
    properties: [
      { name: 'title', type: 'String', required: true },
      { name: 'code', type: 'String', unique: true },
    ],
  },
];

let branch: BranchFixture;
let made = 0;

beforeAll(async () => {
  branch = await openBranch({ nodeTypes });
});

afterAll(() => branch.close());

/** A folder with nodes of some names that no test has used. */
async function folder(...names: readonly string[]): Promise<string> {
  made += 1;
  await branch.create(`/f${made}`);
  for (const name of names) await branch.create(`/f${made}/${name}`, { title: name }, 't:Item');
  return `/f${made}`;
}

async function matched(
  sql: string,
  limit = 100,
  after?: string,
  caller = administrator,
): Promise<MatchedNodes> {
  const query = {
    type: 'MatchBySql',
    sql,
    parameters: [],
    limit,
    ...(after === undefined ? {} : { after }),
  } as const;
  return (await branch.query(query, caller)) as MatchedNodes;
}

const newJob = (): string => jobIdOf(uuidV7(Date.now(), systemRandom), 'site~0123456789');

async function some(
  sql: string,
  ids: readonly string[],
  { caller = administrator, job = newJob(), part = 1 }: { caller?: Caller; job?: string; part?: number } = {},
): Promise<BulkProgress> {
  const command = {
    type: 'ChangeSomeBySql',
    sql,
    parameters: [],
    ids,
    job,
    part,
    total: ids.length,
  } as const;
  return (await branch.command(command, caller)) as unknown as BulkProgress;
}

const head = async (): Promise<string> =>
  ((await branch.query({ type: 'ReadBranchState' })) as { head: string }).head;

describe('the ids that a bulk statement matches', () => {
  it('come in their order, some at a time [SQL-135]', async () => {
    const at = await folder('a', 'b', 'c', 'd');
    const sql = `UPDATE 'content' SET owner_id = 'u' WHERE CHILD_OF('${at}') AND name <> 'c'`;
    const { ids, revision } = await matched(sql);
    expect(ids).toHaveLength(3);
    expect([...ids].sort()).toEqual(ids);
    expect(`${revision.ms}-${revision.counter}`).toBe(await head());
    expect((await matched(sql, 2)).ids).toEqual(ids.slice(0, 2));
    expect((await matched(sql, 2, ids[1])).ids).toEqual(ids.slice(2));
    expect((await matched(sql, 2, ids[2])).ids).toEqual([]);
  });

  it('are those of nodes that the caller may read', async () => {
    const at = await folder('a', 'b');
    const caller = roleCaller([{ path: `${at}/a`, operations: ['read'] }]);
    const { id } = await branch.read(`${at}/a`);
    expect(
      (await matched(`DELETE FROM 'content' WHERE CHILD_OF('${at}')`, 9, undefined, caller)).ids,
    ).toEqual([id]);
  });

  it('are not looked for with a limit of 0, but the statement is checked', async () => {
    expect((await matched(`DELETE FROM 'content' WHERE name = 'a'`, 0)).ids).toEqual([]);
    await expect(matched(`DELETE FROM 'content' WHERE bogus = 'a'`, 0)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
    });
  });

  it.each([
    'SELECT 1',
    `DELETE FROM 'content' WHERE name = 'a'; DELETE FROM 'content' WHERE name = 'b'`,
    `INSERT INTO 'content' (path, node_type) VALUES ('/x', 'svc:Folder')`,
  ])('are those of one UPDATE or DELETE only: %s', async (sql) => {
    await expect(matched(sql)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    await expect(some(sql, ['x'])).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
  });
});

describe('a part of a bulk statement', () => {
  it('changes the nodes that still match, as one revision, once [SQL-136]', async () => {
    const at = await folder('a', 'b', 'c');
    const sql = `UPDATE 'content' SET properties = properties || '{"done":true}' WHERE CHILD_OF('${at}') AND properties->>'title' = name`;
    const { ids } = await matched(sql);
    await branch.command({
      type: 'PatchNode',
      workspace: 'content',
      place: { path: `${at}/b` },
      properties: { title: 'z' },
    });
    await branch.command({ type: 'DeleteNode', workspace: 'content', place: { path: `${at}/c` } });
    const job = newJob();
    expect(await some(sql, ids, { job })).toMatchObject({ parts: 1, changed: 1, skipped: 0 });
    const after = await head();
    expect(await some(sql, ids, { job })).toMatchObject({ parts: 1, changed: 1 });
    expect(await head()).toBe(after);
    expect((await branch.read(`${at}/a`)).version).toBe(2);
    expect((await branch.read(`${at}/b`)).properties).not.toHaveProperty('done');
  });

  it('is not of another branch than the one that runs it', async () => {
    const sql = `UPDATE 'content' SET owner_id = 'u' WHERE __branch = 'other' AND name = 'a'`;
    const message = `Branch 'other' cannot be written here`;
    const refused = { code: 'VALIDATION_FAILED', message };
    await expect(matched(sql, 0)).rejects.toMatchObject(refused);
    await expect(some(sql, ['x'])).rejects.toMatchObject(refused);
  });

  it('skips and counts the nodes that its caller may not change [SQL-137]', async () => {
    const at = await folder('a', 'b', 'c');
    const caller = roleCaller([
      { path: `${at}/**`, operations: ['read'] },
      { path: `${at}/a`, operations: ['read', 'update', 'delete'] },
      { path: `${at}/c`, operations: ['read', 'update'], fields: ['title'] },
    ]);
    const sql = `UPDATE 'content' SET properties = properties || '{"done":true}' WHERE CHILD_OF('${at}')`;
    const { ids } = await matched(sql);
    expect(await some(sql, ids, { caller })).toMatchObject({ changed: 1, skipped: 2 });
    expect((await branch.read(`${at}/a`)).properties).toHaveProperty('done');
    const removal = `DELETE FROM 'content' WHERE CHILD_OF('${at}')`;
    expect(await some(removal, ids, { caller })).toMatchObject({ changed: 1, skipped: 2 });
    expect([await branch.isMissing(`${at}/a`), await branch.isMissing(`${at}/b`)]).toEqual([true, false]);
  });

  it('is refused at once for a caller who may change nothing in the workspace [SQL-137]', async () => {
    const may = (...operations: readonly string[]): Caller =>
      roleCaller([
        { path: '**', operations: ['read', 'create'] },
        { path: '/elsewhere', operations: [...operations] },
      ]);
    const texts = {
      update: "UPDATE 'content' SET name = 'x' WHERE name = 'nothing'",
      delete: "DELETE FROM 'content' WHERE name = 'nothing'",
      move: "UPDATE 'content' SET path = '/x', name = 'x' WHERE name = 'nothing'",
    };
    const refusals = async (caller: Caller): Promise<readonly string[]> => {
      const refused: string[] = [];
      for (const [name, sql] of Object.entries(texts))
        await matched(sql, 0, undefined, caller).catch(({ code, message }) => {
          expect(code).toBe('PERMISSION_DENIED');
          const operation = name === 'update' ? 'update' : 'delete';
          expect(message).toBe(`Permission denied: cannot ${operation} nodes of workspace 'content'`);
          refused.push(name);
        });
      return refused;
    };
    expect(await refusals(may('relate'))).toEqual(['update', 'delete', 'move']);
    expect(await refusals(may('update'))).toEqual(['delete', 'move']);
    expect(await refusals(may('delete'))).toEqual(['update']);
    expect(await refusals(administrator)).toEqual([]);
  });

  it('fails as a whole for the error of one node, and names it [SQL-138]', async () => {
    const at = await folder('a', 'b');
    const sql = `UPDATE 'content' SET properties = (CASE WHEN name = 'b' THEN '{}' ELSE properties || '{"done":true}' END)::jsonb WHERE CHILD_OF('${at}')`;
    const { ids } = await matched(sql);
    const before = await head();
    await expect(some(sql, ids)).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      message: expect.stringMatching(new RegExp(`^Node '${at}/b': .*title`)),
    });
    expect(await head()).toBe(before);
    const same = `UPDATE 'content' SET properties = properties || '{"code":"same"}' WHERE CHILD_OF('${at}')`;
    await expect(some(same, ids)).rejects.toMatchObject({ code: 'VALIDATION_FAILED' });
    expect(await head()).toBe(before);
  });

  it('swaps unique values, and removes what is below a node with it', async () => {
    const at = await folder('a', 'b');
    for (const name of ['a', 'b'])
      await branch.command({
        type: 'PatchNode',
        workspace: 'content',
        place: { path: `${at}/${name}` },
        properties: { code: `${name}${made}` },
      });
    const sql = `UPDATE 'content' SET properties = properties || (CASE name WHEN 'a' THEN '{"code":"b${made}"}' ELSE '{"code":"a${made}"}' END)::jsonb WHERE CHILD_OF('${at}')`;
    const { ids } = await matched(sql);
    expect(await some(sql, ids)).toMatchObject({ changed: 2 });
    await branch.create(`${at}/a/x`, { title: 'x' }, 't:Item');
    const removal = `DELETE FROM 'content' WHERE DESCENDANT_OF('${at}')`;
    expect(await some(removal, (await matched(removal)).ids)).toMatchObject({ changed: 3, skipped: 0 });
  });

  it('has progress that only the engine reads and forgets', async () => {
    const at = await folder('a');
    const job = newJob();
    const sql = `DELETE FROM 'content' WHERE CHILD_OF('${at}')`;
    await some(sql, (await matched(sql)).ids, { job });
    const read = { type: 'ReadBulkProgress', job } as const;
    const forget = { type: 'ForgetBulkProgress', job } as const;
    const engine = engineCaller('acme');
    await expect(branch.query(read)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(branch.command(forget)).rejects.toMatchObject({ code: 'FORBIDDEN' });
    expect(await branch.query(read, engine)).toMatchObject({ parts: 1, changed: 1 });
    await branch.command(forget, engine);
    expect(await branch.query(read, engine)).toBeNull();
  });
});
