import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { BranchCommand } from '#actors/branch/messages.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { type BranchFixture, openBranch, WORKSPACE as workspace } from '#test/support/branch-fixture.ts';
import { roleCaller } from '#test/support/role-caller.ts';
import { change, transact } from '#test/support/sql-changes.ts';
import { workloadCount } from '#test/support/workload-count.ts';

const operations = ['read', 'create', 'update', 'delete'] as const;

let branch: BranchFixture;
let made = 0;

beforeAll(async () => {
  branch = await openBranch();
});

afterAll(() => branch.close());

/** A folder with nodes `a`, `a/x` and `b` that no test has used. */
async function folder(): Promise<string> {
  made += 1;
  const at = `/f${made}`;
  await branch.create(at);
  for (const path of ['a', 'a/x', 'b'])
    await branch.create(`${at}/${path}`, { title: path, secret: 's', status: 'draft' });
  return at;
}

const properties = async (path: string): Promise<JsonObject> => {
  const { $mixins: _, $supertypes: _types, ...stored } = (await branch.read(path)).properties;
  return stored;
};

describe('a caller who may read, but not everything', () => {
  const blind = (more: JsonValue[] = []): Caller =>
    roleCaller([{ path: '**', operations: [...operations], except_fields: ['secret'] }, ...more]);

  it('keeps the properties that it does not see [SQL-131]', async () => {
    const at = await folder();
    const caller = blind();
    await change(branch, `UPDATE 'content' SET properties = '{"title":"new"}' WHERE path = '${at}/a'`, {
      caller,
    });
    expect(await properties(`${at}/a`)).toEqual({ title: 'new', secret: 's' });
    await change(
      branch,
      `UPSERT INTO 'content' (path, node_type, properties) VALUES ('${at}/a', 'svc:Folder', '{"title":"up"}')`,
      { caller },
    );
    expect(await properties(`${at}/a`)).toEqual({ title: 'up', secret: 's' });
  });

  it('sets no property that it does not see, in no way', async () => {
    const at = await folder();
    const caller = blind();
    for (const sql of [
      `UPDATE 'content' SET properties = '{"secret":"t"}' WHERE path = '${at}/a'`,
      `INSERT INTO 'content' (path, node_type, properties) VALUES ('${at}/c', 'svc:Folder', '{"secret":"t"}')`,
      `UPDATE 'content' SET translations = '{"de":{"/secret":"t"}}' WHERE path = '${at}/a'`,
      `UPDATE 'content' SET owner_id = 'ada' WHERE path = '${at}/a'`,
    ])
      await expect(change(branch, sql, { caller })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('chooses, computes and returns nothing by what it does not see', async () => {
    const at = await folder();
    const caller = blind();
    const chosen = `UPDATE 'content' SET properties = properties || '{"title":"q"}' WHERE CHILD_OF('${at}') AND properties->>'secret' = 's'`;
    expect((await transact(branch, chosen, { caller })).rows).toEqual([{ affected_rows: 0 }]);
    const copied = `UPDATE 'content' SET properties = properties || JSONB_SET('{}', '{title}', COALESCE(properties->'secret', '"none"'::jsonb)::TEXT) WHERE path = '${at}/a' RETURNING properties->>'title' AS t, properties->>'secret' AS s`;
    expect((await change(branch, copied, { caller })).rows).toEqual([{ t: 'none', s: null }]);
    const gone = `DELETE FROM 'content' WHERE path = '${at}/b' RETURNING properties->>'secret' AS s`;
    expect((await change(branch, gone, { caller })).rows).toEqual([{ s: null }]);
  });
});

describe('a node that the caller may not read', () => {
  const onlyA = (at: string): Caller =>
    roleCaller([
      { path: at, operations: [...operations] },
      { path: `${at}/a/**`, operations: [...operations] },
    ]);

  it('is missing for UPDATE and DELETE [SQL-132, SQL-033]', async () => {
    const at = await folder();
    const caller = onlyA(at);
    const { id } = await branch.read(`${at}/b`);
    for (const condition of [`path = '${at}/b'`, `id = '${id}'`]) {
      await expect(
        change(branch, `UPDATE 'content' SET name = 'q' WHERE ${condition}`, { caller }),
      ).rejects.toMatchObject({
        code: 'NODE_NOT_FOUND',
        message: expect.stringMatching(/^Node (at path|with id) '.*' not found$/),
      });
      expect((await change(branch, `DELETE FROM 'content' WHERE ${condition}`, { caller })).rows).toEqual([
        { affected_rows: 0 },
      ]);
    }
    expect(
      (await transact(branch, `DELETE FROM 'content' WHERE CHILD_OF('${at}') AND name = 'b'`, { caller }))
        .rows,
    ).toEqual([{ affected_rows: 0 }]);
    expect(await branch.isMissing(`${at}/b`)).toBe(false);
  });

  it('is not told of by INSERT and UPSERT to who may not create it', async () => {
    const at = await folder();
    const caller = onlyA(at);
    for (const verb of ['INSERT', 'UPSERT'])
      for (const path of [`${at}/b`, `${at}/nothing`])
        await expect(
          change(branch, `${verb} INTO 'content' (path, node_type) VALUES ('${path}', 'svc:Folder')`, {
            caller,
          }),
        ).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
    const creator = roleCaller([
      { path: at, operations: ['read'] },
      { path: `${at}/*`, operations: ['create', 'update'] },
    ]);
    for (const verb of ['INSERT', 'UPSERT'])
      await expect(
        change(branch, `${verb} INTO 'content' (path, node_type) VALUES ('${at}/b', 'svc:Folder')`, {
          caller: creator,
        }),
      ).rejects.toMatchObject({ code: 'NODE_ALREADY_EXISTS' });
  });

  it('gives no row of RETURNING, even to who has written it', async () => {
    const at = await folder();
    const creator = roleCaller([
      { path: at, operations: ['read'] },
      { path: `${at}/*`, operations: ['create'] },
    ]);
    const sql = `INSERT INTO 'content' (path, node_type) VALUES ('${at}/n', 'svc:Folder') RETURNING path`;
    expect(await change(branch, sql, { caller: creator })).toMatchObject({ rows: [], rowCount: 0 });
    expect(await branch.isMissing(`${at}/n`)).toBe(false);
  });

  it('is no parent', async () => {
    const at = await folder();
    await expect(
      change(branch, `INSERT INTO 'content' (path, node_type) VALUES ('${at}/b/n', 'svc:Folder')`, {
        caller: onlyA(at),
      }),
    ).rejects.toMatchObject({ code: 'NODE_NOT_FOUND', message: `Parent node '${at}/b' not found` });
  });
});

it('a transaction fails as a whole for a node that its caller may only read [SQL-133]', async () => {
  const at = await folder();
  const caller = roleCaller([
    { path: `${at}/**`, operations: ['read'] },
    { path: `${at}/a`, operations: ['read', 'update', 'delete'] },
  ]);
  for (const sql of [
    `UPDATE 'content' SET properties = properties || '{"title":"q"}' WHERE CHILD_OF('${at}')`,
    `DELETE FROM 'content' WHERE CHILD_OF('${at}')`,
    `UPSERT INTO 'content' (path, node_type, owner_id) VALUES ('${at}/a', 'svc:Folder', 'o'), ('${at}/b', 'svc:Folder', 'o')`,
    `UPDATE 'content' SET name = 'q' WHERE path = '${at}/b'`,
    // Even what changes nothing is a new version.
    `UPDATE 'content' SET owner_id = NULL WHERE path = '${at}/b'`,
    `DELETE FROM 'content' WHERE path = '${at}/b'`,
  ])
    await expect(transact(branch, sql, { caller })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  expect((await branch.read(`${at}/a`)).version).toBe(1);
});

it('giving a node another path asks for what moving it by REST asks for', async () => {
  const at = await folder();
  const sql = `UPDATE 'content' SET path = '${at}/z' WHERE path = '${at}/b'`;
  const may = (here: readonly string[], there: readonly string[]): Caller =>
    roleCaller([
      { path: at, operations: ['read'] },
      { path: `${at}/b`, operations: ['read', ...here] },
      { path: `${at}/z`, operations: ['read', ...there] },
    ]);
  for (const caller of [may(['update'], ['create']), may(['delete'], ['update'])])
    await expect(change(branch, sql, { caller })).rejects.toMatchObject({ code: 'PERMISSION_DENIED' });
  const both = `UPDATE 'content' SET path = '${at}/z', owner_id = NULL WHERE path = '${at}/b'`;
  await expect(change(branch, both, { caller: may(['delete'], ['create']) })).rejects.toMatchObject({
    code: 'PERMISSION_DENIED',
  });
  await change(branch, sql, { caller: may(['delete'], ['create']) });
});

describe('SQL and REST', () => {
  /** A write in both ways. */
  interface Both {
    readonly sql: (at: string) => string;
    readonly command: (at: string) => BranchCommand;
  }
  const place = fc.constantFrom('a', 'a/x', 'b', 'no');
  const given: fc.Arbitrary<JsonObject> = fc.record(
    { title: fc.constantFrom('a', 't'), secret: fc.constantFrom('s', 'z'), status: fc.constant('draft') },
    { requiredKeys: [] },
  );
  const both: fc.Arbitrary<Both> = fc.oneof(
    fc.tuple(place, given).map(([path, values]) => ({
      sql: (at: string) =>
        `UPDATE 'content' SET properties = '${JSON.stringify(values)}' WHERE path = '${at}/${path}'`,
      command: (at: string) =>
        ({ type: 'UpdateNode', workspace, place: { path: `${at}/${path}` }, properties: values }) as const,
    })),
    place.map((path) => ({
      sql: (at: string) => `UPDATE 'content' SET owner_id = 'o' WHERE path = '${at}/${path}'`,
      command: (at: string) =>
        ({ type: 'UpdateNode', workspace, place: { path: `${at}/${path}` }, ownerId: 'o' }) as const,
    })),
    place.map((path) => ({
      sql: (at: string) => `UPDATE 'content' SET name = 'q' WHERE path = '${at}/${path}'`,
      command: (at: string) =>
        ({ type: 'RenameNode', workspace, place: { path: `${at}/${path}` }, newName: 'q' }) as const,
    })),
    fc.constantFrom('a/x', 'b').map((path) => ({
      sql: (at: string) => `UPDATE 'content' SET path = '${at}/a/q' WHERE path = '${at}/${path}'`,
      command: (at: string) =>
        ({ type: 'MoveNode', workspace, place: { path: `${at}/${path}` }, targetPath: `${at}/a/q` }) as const,
    })),
    fc
      .tuple(fc.constantFrom('', '/a', '/b', '/no'), fc.constantFrom('n', 'x'), given)
      .map(([under, name, values]) => ({
        sql: (at: string) =>
          `INSERT INTO 'content' (path, node_type, properties) VALUES ('${at}${under}/${name}', 'svc:Folder', '${JSON.stringify(values)}')`,
        command: (at: string) =>
          ({
            type: 'CreateNode',
            workspace,
            parentPath: `${at}${under}`,
            node: { name, nodeType: 'svc:Folder', properties: values },
            deep: false,
          }) as const,
      })),
    place.map((path) => ({
      sql: (at: string) => `DELETE FROM 'content' WHERE path = '${at}/${path}'`,
      command: (at: string) => ({ type: 'DeleteNode', workspace, place: { path: `${at}/${path}` } }) as const,
    })),
  );
  const fields = fc.option(fc.subarray(['title', 'secret', 'status']), { nil: undefined, freq: 2 });
  const permissions = fc.array(
    fc.record({
      path: fc.constantFrom('', '/**', '/a', '/a/**', '/b', '/*'),
      operations: fc.subarray([...operations], { minLength: 1 }),
      fields,
      except_fields: fields,
    }),
    { minLength: 1, maxLength: 4 },
  );

  it('permit the same, and refuse with the same code [SQL-134]', async () => {
    await fc.assert(
      fc.asyncProperty(permissions, both, async (drawn, { command, sql }) => {
        const at = await folder();
        const caller = roleCaller(
          drawn.map((each) =>
            Object.fromEntries(
              Object.entries({ ...each, path: `${at}${each.path}` }).filter(
                ([, value]) => value !== undefined,
              ),
            ),
          ) as JsonValue,
        );
        const message = command(at);
        const code = await codeOf(branch, message, caller);
        // It is undone for the next: what REST has done is no state that SQL could start with.
        const again = await folder();
        const there = roleCaller(
          drawn.map((each) =>
            Object.fromEntries(
              Object.entries({ ...each, path: `${again}${each.path}` }).filter(
                ([, value]) => value !== undefined,
              ),
            ),
          ) as JsonValue,
        );
        const answer = await change(branch, sql(again), { caller: there }).then(
          ({ rows }) => (rows[0]?.affected_rows === 0 ? 'NODE_NOT_FOUND' : 'done'),
          (error: { code: string }) => error.code,
        );
        expect([sql(''), answer]).toEqual([sql(''), code]);
      }),
      { numRuns: workloadCount(60) },
    );
  }, 120_000);
});

async function codeOf(on: BranchFixture, command: BranchCommand, caller: Caller): Promise<string> {
  return await on.command(command, caller).then(
    () => 'done',
    (error: { code: string }) => error.code,
  );
}
