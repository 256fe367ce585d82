import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { type BranchFixture, openBranch } from '#test/support/branch-fixture.ts';
import { change, transact } from '#test/support/sql-changes.ts';

const nodeTypes: readonly JsonObject[] = [
  {
    name: 't:Item',
    properties: [
      { name: 'title', type: 'String', required: true },
      { name: 'code', type: 'String', unique: true },
      { name: 'size', type: 'Number', index: ['Property'] },
    ],
  },
  { name: 't:Fixed', properties: [], immutable: true },
  {
    name: 't:Shelf',
    properties: [],
    initial_structure: { children: [{ name: 'top', node_type: 'svc:Folder' }] },
  },
  { name: 't:Lone', properties: [{ name: 'properties', type: 'Object' }] },
  { name: 't:Logged', properties: [], auditable: true },
];

const archetypes: readonly JsonObject[] = [{ name: 't:plain', fields: [] }];

let branch: BranchFixture;
let made = 0;

beforeAll(async () => {
  branch = await openBranch({ nodeTypes, archetypes, commitNodesMax: 50 });
});

afterAll(() => branch.close());

/** A folder that no test has used. */
async function folder(): Promise<string> {
  made += 1;
  await branch.create(`/f${made}`);
  return `/f${made}`;
}

async function item(path: string, properties: JsonObject = {}): Promise<string> {
  return (await branch.create(path, { title: 'x', ...properties }, 't:Item')).id;
}

const head = async (): Promise<string> =>
  ((await branch.query({ type: 'ReadBranchState' })) as { head: string }).head;

const messageOf = async (revision: string | null): Promise<JsonValue> => {
  const { revisions } = (await branch.query({
    type: 'ListRevisions',
    limit: 1,
    offset: 0,
    includeSystem: true,
  })) as { revisions: { revision: string; message: string; actor: string }[] };
  expect(revisions[0]?.revision).toBe(revision);
  return `${revisions[0]?.actor}: ${revisions[0]?.message}`;
};

/** That statements fail and leave the branch as it was. */
async function refuses(sql: string, error: object, isTransaction = false): Promise<void> {
  const before = await head();
  await expect(change(branch, sql, { isTransaction })).rejects.toMatchObject(error);
  expect(await head()).toBe(before);
}

describe('INSERT', () => {
  it('creates a node for each row, and tells how many [SQL-120]', async () => {
    const at = await folder();
    const { columns, rowCount, rows, revision } = await change(
      branch,
      `INSERT INTO 'content' (path, node_type, properties, owner_id, archetype)
        VALUES ('${at}/a', 't:Item', '{"title":"A"}', 'ada', 't:plain'), ('${at}/a/b', 't:Item', '{"title":"B"}', NULL, NULL)`,
    );
    expect({ columns, rowCount, rows }).toEqual({
      columns: ['affected_rows'],
      rowCount: 1,
      rows: [{ affected_rows: 2 }],
    });
    expect(await branch.read(`${at}/a`)).toMatchObject({
      name: 'a',
      archetype: 't:plain',
      owner_id: 'ada',
      properties: { title: 'A' },
      version: 1,
    });
    expect(await branch.read(`${at}/a/b`)).toMatchObject({ parent: 'a', owner_id: null });
    expect(await messageOf(revision)).toBe('ada: SQL INSERT');
  });

  it('takes the id that it is given, and says so of one that is taken [SQL-121]', async () => {
    const at = await folder();
    const insert = (path: string) =>
      `INSERT INTO 'content' (id, path, node_type) VALUES ('own-id', '${path}', 'svc:Folder')`;
    const { revision } = await change(branch, insert(`${at}/a`));
    expect(await messageOf(revision)).toBe('ada: Created node: own-id');
    await refuses(insert(`${at}/b`), {
      code: 'NODE_ALREADY_EXISTS',
      message: "Node with id 'own-id' already exists",
    });
    await refuses(insert(`${at}/a`), { code: 'NODE_ALREADY_EXISTS' });
  });

  it.each([
    [
      '(path, node_type)',
      "('/taken', 'svc:Folder')",
      'NODE_ALREADY_EXISTS',
      /^Node with path '\/taken' already exists$/,
    ],
    ['(path, node_type)', "('/no/k', 'svc:Folder')", 'NODE_NOT_FOUND', /^Parent node '\/no' not found$/],
    ['(path, node_type)', "('/k', 'no:Type')", 'VALIDATION_FAILED', /no:Type/],
    ['(path, node_type)', "(NULL, 'svc:Folder')", 'VALIDATION_FAILED', /^Required column 'path' is missing/],
    ['(path, node_type)', "('/k', NULL)", 'VALIDATION_FAILED', /^Required column 'node_type' is missing/],
    ['(path, node_type)', "('/', 'svc:Folder')", 'VALIDATION_FAILED', /name/],
    [
      '(path, node_type)',
      "('/A B', 'svc:Folder')",
      'VALIDATION_FAILED',
      /^'A B' cannot be the name of a node: .*; use 'a-b'$/,
    ],
    [
      '(path, node_type, name)',
      "('/a', 'svc:Folder', 'b')",
      'VALIDATION_FAILED',
      /^The name 'b' is not the last part/,
    ],
    [
      '(path, node_type, properties)',
      "('/a', 'svc:Folder', '[1]')",
      'VALIDATION_FAILED',
      /^properties column must be a JSON object/,
    ],
    ['(path, node_type, properties)', "('/a', 't:Item', '{}')", 'VALIDATION_FAILED', /title/],
    [
      '(path, node_type, archetype)',
      "('/a', 'svc:Folder', 'no:such')",
      'VALIDATION_FAILED',
      /^Archetype not found/,
    ],
  ])('%s VALUES %s is refused [SQL-120]', async (columns, values, code, message) => {
    if (await branch.isMissing('/taken')) await branch.create('/taken');
    await refuses(`INSERT INTO 'content' ${columns} VALUES ${values}`, {
      code,
      message: expect.stringMatching(message),
    });
  });

  it('refuses properties that turn out to be no object', async () => {
    const at = await folder();
    await item(`${at}/a`, { size: 1 });
    await refuses(
      `INSERT INTO 'content' (path, node_type, properties) SELECT '${at}/b', 'svc:Folder', properties->'size' FROM 'content' WHERE path = '${at}/a'`,
      { message: expect.stringMatching(/^properties column must be a JSON object/) },
    );
  });

  it('is done for all rows or for none, and names the row that failed [SQL-122]', async () => {
    const at = await folder();
    await refuses(
      `INSERT INTO 'content' (path, node_type) VALUES ('${at}/a', 'svc:Folder'), ('${at}/no/b', 'svc:Folder')`,
      { code: 'NODE_NOT_FOUND', message: `Parent node '${at}/no' not found (row 2)` },
    );
    expect(await branch.isMissing(`${at}/a`)).toBe(true);
  });

  it('of a query reads all rows before it writes the first', async () => {
    const at = await folder();
    for (const name of ['a', 'b']) await item(`${at}/${name}`);
    const sql = `INSERT INTO 'content' (path, node_type, properties) SELECT path || '-copy', node_type, properties FROM 'content' WHERE CHILD_OF('${at}')`;
    expect((await change(branch, sql)).rows).toEqual([{ affected_rows: 2 }]);
    expect(await branch.isMissing(`${at}/a-copy-copy`)).toBe(true);
  });

  it('creates what the type says is below the node [SQL-123]', async () => {
    const at = await folder();
    await change(branch, `INSERT INTO 'content' (path, node_type) VALUES ('${at}/s', 't:Shelf')`);
    expect(await branch.read(`${at}/s/top`)).toMatchObject({ node_type: 'svc:Folder' });
  });

  it('unwraps a lone key `properties` unless the type has such a property', async () => {
    const at = await folder();
    const insert = (name: string, type: string) =>
      change(
        branch,
        `INSERT INTO 'content' (path, node_type, properties) VALUES ('${at}/${name}', '${type}', '{"properties":{"title":"T"}}')`,
      );
    await insert('a', 't:Item');
    await insert('b', 't:Lone');
    expect((await branch.read(`${at}/a`)).properties).toMatchObject({ title: 'T' });
    expect((await branch.read(`${at}/b`)).properties).toMatchObject({ properties: { title: 'T' } });
  });

  it('returns rows in the order of those it was given [SQL-124]', async () => {
    const at = await folder();
    const { columns, rows } = await change(
      branch,
      `INSERT INTO 'content' (path, node_type) VALUES ('${at}/z', 'svc:Folder'), ('${at}/a', 'svc:Folder') RETURNING name, version AS v`,
    );
    expect([columns, rows]).toEqual([
      ['name', 'v'],
      [
        { name: 'z', v: 1 },
        { name: 'a', v: 1 },
      ],
    ]);
  });

  it('is bounded in nodes like every commit', async () => {
    const rows = Array.from({ length: 51 }, (_, index) => `('/big${index}', 'svc:Folder')`);
    await refuses(`INSERT INTO 'content' (path, node_type) VALUES ${rows.join(', ')}`, {
      code: 'COMMIT_TOO_LARGE',
    });
  });
});

describe('UPSERT', () => {
  it('creates without an initial structure, and keeps the id of a node that is there [SQL-125]', async () => {
    const at = await folder();
    const sql = `UPSERT INTO 'content' (path, node_type) VALUES ('${at}/s', 't:Shelf')`;
    expect(await messageOf((await change(branch, sql)).revision)).toMatch(/Created node: /);
    expect(await branch.isMissing(`${at}/s/top`)).toBe(true);
    const { id } = await branch.read(`${at}/s`);
    expect(await messageOf((await change(branch, sql)).revision ?? (await head()))).toMatch(/node: /);
    expect((await branch.read(`${at}/s`)).id).toBe(id);
  });

  it('writes the given columns only, as one change', async () => {
    const at = await folder();
    await change(
      branch,
      `INSERT INTO 'content' (path, node_type, properties, owner_id) VALUES ('${at}/a', 't:Item', '{"title":"A"}', 'ada')`,
    );
    const sql = (properties: string) =>
      `UPSERT INTO 'content' (path, node_type, properties, id) VALUES ('${at}/a', 't:Item', '${properties}', 'another')`;
    const { revision } = await change(branch, sql('{"title":"B","size":1}'));
    const stored = await branch.read(`${at}/a`);
    expect(stored).toMatchObject({ owner_id: 'ada', properties: { title: 'B', size: 1 }, version: 2 });
    expect(await messageOf(revision)).toBe(`ada: Updated node: ${stored.id}`);
    await refuses(sql('{}'), { code: 'VALIDATION_FAILED' });
    await refuses(`UPSERT INTO 'content' (path, node_type) VALUES ('${at}/a', 'svc:Folder')`, {
      message: 'Cannot change node_type after creation',
    });
  });
});

describe('UPDATE of one node', () => {
  it('merges, replaces and removes properties [SQL-035, SQL-036]', async () => {
    const at = await folder();
    const id = await item(`${at}/a`, { size: 1 });
    const update = async (value: string) => {
      await change(branch, `UPDATE 'content' SET properties = ${value} WHERE id = '${id}'`);
      const { $mixins: _, $supertypes: _types, ...properties } = (await branch.read(`${at}/a`)).properties;
      return properties;
    };
    expect(await update(`properties || '{"size":2}'`)).toEqual({ title: 'x', size: 2 });
    expect(await update(`JSONB_SET(properties, '{soil,ph}', '7')`)).toEqual({
      title: 'x',
      size: 2,
      soil: { ph: 7 },
    });
    expect(await update(`properties - 'soil'`)).toEqual({ title: 'x', size: 2 });
    expect(await update(`'{"title":"only"}'::jsonb`)).toEqual({ title: 'only' });
    await refuses(`UPDATE 'content' SET properties = '{}'::jsonb WHERE id = '${id}'`, {
      code: 'VALIDATION_FAILED',
      message: expect.stringContaining('title'),
    });
    await refuses(`UPDATE 'content' SET properties = properties->'title' WHERE id = '${id}'`, {
      message: 'properties column must be a JSON object',
    });
    await refuses(`UPDATE 'content' SET properties = NULL WHERE id = '${id}'`, {
      message: expect.stringMatching(/^properties column must be a JSON object/),
    });
    await refuses(`UPDATE 'content' SET properties = properties->'no' WHERE id = '${id}'`, {
      message: 'properties column must be a JSON object',
    });
  });

  it('writes all columns as one change, and stamps it [SQL-040]', async () => {
    const at = await folder();
    const before = await branch.create(`${at}/a`, { title: 'x' }, 't:Item');
    const { revision, rows } = await change(
      branch,
      `UPDATE 'content' SET name = 'b', owner_id = 'u', archetype = 't:plain', properties = properties || '{"size":3}', translations = '{"de":{"/title":"X"}}' WHERE path = '${at}/a'`,
    );
    expect(rows).toEqual([{ affected_rows: 1 }]);
    const after = await branch.read(`${at}/b`);
    expect(after).toMatchObject({
      id: before.id,
      name: 'b',
      version: 2,
      owner_id: 'u',
      archetype: 't:plain',
      properties: { title: 'x', size: 3 },
      translations: { de: {} },
      updated_by: 'ada',
    });
    expect(after.updated_at >= before.updated_at).toBe(true);
    expect(await messageOf(revision)).toBe(`ada: Updated node: ${before.id}`);
    await change(
      branch,
      `UPDATE 'content' SET owner_id = NULL, archetype = NULL, translations = NULL WHERE path = '${at}/b'`,
    );
    expect(await branch.read(`${at}/b`)).toMatchObject({
      owner_id: null,
      archetype: null,
      translations: null,
    });
  });

  it('renames a node with all below it, and gives one another path [SQL-037]', async () => {
    const at = await folder();
    await item(`${at}/a`);
    await item(`${at}/a/b`);
    await change(branch, `UPDATE 'content' SET name = 'n' WHERE path = '${at}/a'`);
    expect(await branch.read(`${at}/n/b`)).toMatchObject({ version: 1 });
    await change(
      branch,
      `UPDATE 'content' SET path = '${at}/c', properties = '{"title":"c"}' WHERE path = '${at}/n/b'`,
    );
    expect(await branch.read(`${at}/c`)).toMatchObject({ name: 'c', version: 2, properties: { title: 'c' } });
    expect(await branch.isMissing(`${at}/n/b`)).toBe(true);
    await change(branch, `UPDATE 'content' SET path = '${at}/c' WHERE path = '${at}/c'`);
    await refuses(`UPDATE 'content' SET path = '${at}/n' WHERE path = '${at}/c'`, {
      code: 'NODE_ALREADY_EXISTS',
      message: `Node with path '${at}/n' already exists`,
    });
    await refuses(`UPDATE 'content' SET path = '/taken' WHERE path = '${at}/c'`, {
      code: 'NODE_ALREADY_EXISTS',
    });
    await refuses(`UPDATE 'content' SET path = '${at}/no/c' WHERE path = '${at}/c'`, {
      code: 'NODE_NOT_FOUND',
    });
    await refuses(`UPDATE 'content' SET path = '${at}/d', name = 'e' WHERE path = '${at}/c'`, {
      message: expect.stringMatching(/^The name 'e' is not the last part/),
    });
    await refuses(`UPDATE 'content' SET path = NULL WHERE path = '${at}/c'`, {
      message: expect.stringMatching(/^Column 'path' must not be NULL/),
    });
    await refuses(`UPDATE 'content' SET name = 'A B' WHERE path = '${at}/c'`, {
      message: expect.stringMatching(/use 'a-b'$/),
    });
  });

  it.each([
    ["path = '/zz'", "Node at path '/zz' not found"],
    ["path = '/'", "Node at path '/' not found"],
    ["id = 'zz'", "Node with id 'zz' not found"],
    ["id = '/'", "Node with id '/' not found"],
    ['id = NULL', 'No node has NULL as its id'],
    ['path = NULL', 'No node has NULL as its path'],
  ])('of a node that is not there fails: %s [SQL-041]', async (condition, message) => {
    await refuses(`UPDATE 'content' SET name = 'n2' WHERE ${condition}`, { code: 'NODE_NOT_FOUND', message });
  });

  it('does not take NULL for a node with that id', async () => {
    await change(
      branch,
      `UPSERT INTO 'content' (id, path, node_type) VALUES ('NULL', '/null', 'svc:Folder')`,
    );
    await refuses(`UPDATE 'content' SET name = 'n2' WHERE id = NULL`, { code: 'NODE_NOT_FOUND' });
    expect(
      (await change(branch, `DELETE FROM 'content' WHERE id = $1`, { parameters: [null] })).rows,
    ).toEqual([{ affected_rows: 0 }]);
  });

  it('needs an archetype that exists, and a type that is not immutable [SQL-038]', async () => {
    const at = await folder();
    const id = await item(`${at}/a`);
    await refuses(`UPDATE 'content' SET archetype = 'no:such' WHERE id = '${id}'`, {
      message: expect.stringMatching(/^Archetype not found/),
    });
    await branch.create(`${at}/fixed`, {}, 't:Fixed');
    await refuses(`UPDATE 'content' SET owner_id = 'u' WHERE path = '${at}/fixed'`, {
      message: "Nodes of type 't:Fixed' are immutable",
    });
  });

  it('returns the row before the server stamps it [SQL-046]', async () => {
    const at = await folder();
    const id = await item(`${at}/a`);
    const { rows } = await change(
      branch,
      `UPDATE 'content' SET name = 'q' WHERE id = '${id}' RETURNING id, name, updated_at, updated_by, __revision`,
    );
    expect(rows).toEqual([{ id, name: 'q', updated_at: null, updated_by: null, __revision: null }]);
  });

  it('is written to the audit log as by REST', async () => {
    const at = await folder();
    await change(branch, `INSERT INTO 'content' (path, node_type) VALUES ('${at}/a', 't:Logged')`);
    await change(branch, `UPDATE 'content' SET owner_id = 'u' WHERE path = '${at}/a'`);
    const audit = { type: 'ReadAudit', workspace: 'content', place: { path: `${at}/a` } } as const;
    const entries = (await branch.query(audit)) as { action: string }[];
    expect(entries.map(({ action }) => action)).toEqual(['Update', 'Create']);
  });

  it('is refused for many nodes and for another branch', async () => {
    await refuses(`UPDATE 'content' SET owner_id = 'u' WHERE node_type = 't:Item'`, {
      message: expect.stringMatching(/^A statement that may change many nodes is run as a job/),
    });
    await refuses(`DELETE FROM 'content' WHERE node_type = 't:Item'`, { code: 'VALIDATION_FAILED' });
    await refuses(
      `UPDATE 'content' SET owner_id = 'u' WHERE id = 'a' AND __branch = 'dev'`,
      { message: expect.stringMatching(/^Branch 'dev' cannot be written here/) },
      true,
    );
  });
});

describe('DELETE', () => {
  it('removes a node with everything below it [SQL-049]', async () => {
    const at = await folder();
    await item(`${at}/a`);
    const id = await item(`${at}/a/b`);
    const { revision, rows } = await change(branch, `DELETE FROM 'content' WHERE path = '${at}/a'`);
    expect(rows).toEqual([{ affected_rows: 1 }]);
    expect(await branch.isMissing(`${at}/a/b`)).toBe(true);
    expect(await messageOf(revision)).toMatch(/^ada: Deleted node: /);
    const again = await change(branch, `DELETE FROM 'content' WHERE id = '${id}'`);
    expect(again).toMatchObject({ revision: null, rows: [{ affected_rows: 0 }] });
  });

  it('of a node that is not there is no error, and makes no revision [SQL-050]', async () => {
    for (const condition of ["path = '/zz'", "id = 'zz'", "path = '/'", 'id = NULL']) {
      const { revision, rows } = await change(branch, `DELETE FROM 'content' WHERE ${condition}`);
      expect([revision, rows]).toEqual([null, [{ affected_rows: 0 }]]);
    }
  });

  it('returns the rows that it removes [SQL-055]', async () => {
    const at = await folder();
    const id = await item(`${at}/a`, { size: 4 });
    const sql = `DELETE FROM 'content' WHERE path = '${at}/a' RETURNING id, properties->'size' AS size`;
    expect((await change(branch, sql)).rows).toEqual([{ id, size: 4 }]);
    expect(await change(branch, sql)).toMatchObject({ rows: [], rowCount: 0, columns: ['id', 'size'] });
  });

  it('refuses a published node', async () => {
    const at = await folder();
    await branch.create(`${at}/a`, { title: 'A' }, 'svc:Page');
    await branch.command({
      type: 'PublishNode',
      workspace: 'content',
      place: { path: `${at}/a` },
      publish: true,
      tree: false,
    });
    await refuses(`DELETE FROM 'content' WHERE path = '${at}/a'`, {
      message: expect.stringMatching(/^Cannot delete/),
    });
  });
});

describe('a transaction', () => {
  it('is one revision, whose statements see what those before them have written [SQL-126]', async () => {
    const at = await folder();
    await item(`${at}/a`, { size: 1 });
    const { revision, rows } = await transact(
      branch,
      `INSERT INTO 'content' (path, node_type, properties) VALUES ('${at}/b', 't:Item', '{"title":"b","size":5}');
       UPDATE 'content' SET properties = properties || '{"size":7}' WHERE CHILD_OF('${at}') AND (properties->>'size')::INT > 0;
       DELETE FROM 'content' WHERE path = '${at}/a';
       SELECT path, properties->'size' AS size FROM 'content' WHERE node_type = 't:Item' AND properties->'size' = '7'`,
    );
    expect(rows).toEqual([{ path: `${at}/b`, size: 7 }]);
    expect(await messageOf(revision)).toBe('sql-client: SQL transaction');
    expect(await branch.read(`${at}/b`)).toMatchObject({ version: 2 });
  });

  it('has the message and actor that it is given', async () => {
    const at = await folder();
    const sql = `INSERT INTO 'content' (path, node_type) VALUES ('${at}/b', 'svc:Folder')`;
    const { revision } = await transact(branch, sql, { commit: { message: 'tidy', actor: 'ana' } });
    expect(await messageOf(revision)).toBe('ana: tidy');
  });

  it('leaves nothing of what came before an error, and says which statement it is [SQL-127]', async () => {
    const at = await folder();
    await item(`${at}/a`, { code: `c${made}` });
    const before = await branch.read(`${at}/a`);
    const sql = (last: string) =>
      `INSERT INTO 'content' (path, node_type) VALUES ('${at}/b', 'svc:Folder'); UPDATE 'content' SET properties = properties || '{"size":9}' WHERE path = '${at}/a'; ${last}`;
    await refuses(
      sql(`UPDATE 'content' SET name = 'x' WHERE path = '${at}/no'`),
      {
        code: 'NODE_NOT_FOUND',
        message: `statement 3: Node at path '${at}/no' not found`,
      },
      true,
    );
    await refuses(
      sql('SELECT 1 / (1 - 1) AS x'),
      { message: expect.stringMatching(/^statement 3: Division by zero/) },
      true,
    );
    await refuses(
      sql(
        `INSERT INTO 'content' (path, node_type, properties) VALUES ('${at}/d', 't:Item', '{"title":"d","code":"c${made}"}')`,
      ),
      { code: 'VALIDATION_FAILED', message: expect.stringMatching(/^statement 3: /) },
      true,
    );
    expect(await branch.read(`${at}/a`)).toEqual(before);
    expect(await branch.isMissing(`${at}/b`)).toBe(true);
  });

  it('does nothing in a dry run, whose errors and rows are real [SQL-128]', async () => {
    const at = await folder();
    const before = await head();
    const insert = `INSERT INTO 'content' (path, node_type) VALUES ('${at}/b', 'svc:Folder')`;
    const dry = await transact(branch, `${insert}; SELECT path FROM 'content' WHERE CHILD_OF('${at}')`, {
      dryRun: true,
    });
    expect(dry).toMatchObject({ revision: null, rows: [{ path: `${at}/b` }] });
    await expect(transact(branch, `${insert}; ${insert}`, { dryRun: true })).rejects.toMatchObject({
      message: `statement 2: Node with path '${at}/b' already exists`,
    });
    expect(await head()).toBe(before);
    expect(await branch.isMissing(`${at}/b`)).toBe(true);
  });

  it('swaps unique values within a statement, and finds them in the index afterwards [SQL-129]', async () => {
    const at = await folder();
    await item(`${at}/a`, { code: `p${made}` });
    await item(`${at}/b`, { code: `q${made}` });
    const swap = `UPDATE 'content' SET properties = properties || (CASE WHEN properties->>'code' = 'p${made}' THEN '{"code":"q${made}"}'::jsonb ELSE '{"code":"p${made}"}'::jsonb END) WHERE CHILD_OF('${at}')`;
    const find = `SELECT name FROM 'content' WHERE node_type = 't:Item' AND properties->>'code' = 'p${made}'`;
    expect((await transact(branch, `${swap}; ${find}`)).rows).toEqual([{ name: 'b' }]);
    await refuses(
      `UPDATE 'content' SET properties = properties || '{"code":"same"}' WHERE CHILD_OF('${at}'); SELECT 1 AS x`,
      { code: 'VALIDATION_FAILED', message: expect.stringMatching(/^statement 1: .*code/) },
      true,
    );
  });

  it('names the node of an error among many', async () => {
    const at = await folder();
    await item(`${at}/a`);
    await refuses(
      `UPDATE 'content' SET properties = properties - 'title' WHERE CHILD_OF('${at}')`,
      { code: 'VALIDATION_FAILED', message: expect.stringMatching(new RegExp(`^Node '${at}/a': .*title`)) },
      true,
    );
  });

  it('counts the nodes that a deletion names, not those that go with them', async () => {
    const at = await folder();
    for (const path of ['a', 'a/b', 'a/b/c', 'd']) await item(`${at}/${path}`);
    const sql = `DELETE FROM 'content' WHERE DESCENDANT_OF('${at}') AND name <> 'c' RETURNING name`;
    expect((await transact(branch, sql)).rows.map(({ name }) => name).sort()).toEqual(['a', 'b', 'd']);
    expect(await branch.isMissing(`${at}/a/b/c`)).toBe(true);
  });

  it('is not recorded when nothing is left of it', async () => {
    const at = await folder();
    const sql = `INSERT INTO 'content' (path, node_type) VALUES ('${at}/b', 'svc:Folder'); DELETE FROM 'content' WHERE path = '${at}/b'`;
    expect(await transact(branch, sql)).toMatchObject({ revision: null, rows: [{ affected_rows: 1 }] });
  });

  it.each(['BEGIN', 'COMMIT', 'USE BRANCH dev', "SET a = 'b'", 'SHOW BRANCHES'])(
    'takes no statement of the session: %s',
    async (sql) => {
      await refuses(
        sql,
        { message: expect.stringMatching(/^This statement cannot be part of a change/) },
        true,
      );
    },
  );

  it('explains queries and changes, and changes nothing by it', async () => {
    const at = await folder();
    const { columns, rows } = await transact(
      branch,
      `EXPLAIN UPDATE 'content' SET name = 'q' WHERE path = '${at}'`,
    );
    expect(columns).toEqual(['QUERY PLAN']);
    expect(rows[0]?.['QUERY PLAN']).toMatch(/content/);
    expect(await branch.isMissing(at)).toBe(false);
  });
});

describe('what a command may take', () => {
  it('bounds the values of a node that many small updates make', async () => {
    const at = await folder();
    const shape = JSON.stringify(
      Array.from({ length: 30_000 }, (_, index) => ({ [`k${index % 400}`]: index })),
    );
    const id = await item(`${at}/a`);
    const add = (key: string) =>
      change(branch, `UPDATE 'content' SET properties = properties || $1 WHERE id = $2`, {
        parameters: [{ [key]: JSON.parse(shape) }, id],
      });
    const grow = async () => {
      for (let index = 0; index < 12; index += 1) await add(`p${index}`);
    };
    await expect(grow()).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
  }, 30_000);

  it('bounds the rows that it answers, and writes nothing when they are too long', async () => {
    const at = await folder();
    await item(`${at}/a`, { text: 'x'.repeat(600_000) });
    const rows = Array.from({ length: 40 }, () => `SELECT properties FROM 'content' WHERE path = '${at}/a'`);
    await refuses(
      `INSERT INTO 'content' (path, node_type) VALUES ('${at}/b', 'svc:Folder'); ${rows.join(' UNION ALL ')}`,
      {
        code: 'REQUEST_TOO_EXPENSIVE',
        message: expect.stringMatching(/rows of the answer take more than 16 MiB/),
      },
      true,
    );
    expect(await branch.isMissing(`${at}/b`)).toBe(true);
  });

  it('bounds the rows that it keeps', async () => {
    const at = await folder();
    for (const name of ['a', 'b', 'c']) await item(`${at}/${name}`);
    const many = Array.from({ length: 14 }, (_, index) => `CROSS JOIN 'content' x${index}`).join(' ');
    await refuses(
      `INSERT INTO 'content' (path, node_type) SELECT '${at}/x', 'svc:Folder' FROM 'content' x ${many}`,
      { code: 'REQUEST_TOO_EXPENSIVE', message: expect.stringMatching(/MiB of memory/) },
    );
  });

  it('gives the memory of a statement back for the next one', async () => {
    const at = await folder();
    await item(`${at}/a`, { text: 'x'.repeat(200_000) });
    const large = `SELECT ${Array.from({ length: 30 }, (_, index) => `properties->>'text' || '${index}' AS t${index}`).join(', ')} FROM 'content' WHERE path = '${at}/a'`;
    const insert = (name: string) =>
      `INSERT INTO 'content' (path, node_type, properties) SELECT '${at}/${name}', 'svc:Folder', properties FROM 'content' WHERE path = '${at}/a'`;
    const statements = Array.from({ length: 20 }, (_, index) => `${insert(`n${index}`)}; ${large}`);
    expect((await transact(branch, `${statements.join('; ')}; SELECT 1 AS x`)).rows).toEqual([{ x: 1 }]);
  }, 30_000);

  it('gives the memory of the rows of RETURNING back for the next statement', async () => {
    const at = await folder();
    await item(`${at}/a`, { text: 'x'.repeat(100_000) });
    // About 14 MB of rows each: together more than a request may keep.
    const columns = Array.from(
      { length: 70 },
      (_, index) => `properties->>'text' || '${index}' AS t${index}`,
    );
    const update = `UPDATE 'content' SET archetype = NULL WHERE path = '${at}/a' RETURNING ${columns.join(', ')}`;
    const statements = Array.from({ length: 12 }, () => update);
    expect((await transact(branch, `${statements.join('; ')}; SELECT 1 AS x`)).rows).toEqual([{ x: 1 }]);
  }, 30_000);
});
