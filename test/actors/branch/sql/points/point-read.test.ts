import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunSql } from '#actors/branch/sql-messages.ts';
import type { TextStream } from '#actors/branch/messages.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { JsonText } from '#runtime/content/values/json-text.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { nodeColumns } from '#runtime/sql-plan/node-columns.ts';
import { administrator, type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { chunkText } from '#test/support/chunk-text.ts';
import { roleCaller } from '#test/support/role-caller.ts';

const definition = {
  name: 'test:Document',
  properties: [
    { name: 'title', type: 'String', is_translatable: true },
    { name: 'secret', type: 'String', is_translatable: true },
  ],
};

let branch: BranchFixture;
/** A revision before the last writes. */
let before: string;

/** A node so far below the root that its place in the tree takes many look-ups. */
function deepNode(depth: number): readonly [path: string, id: string, properties: JsonObject] {
  return [`/a${'/d'.repeat(depth)}`, `d${depth}`, { title: `depth ${depth}` }];
}

const nodes: readonly (readonly [path: string, id: string, properties: JsonObject])[] = [
  [
    '/a',
    'a',
    { title: 'A', secret: 's', count: 1e21, big: 12345678901234567890n, nested: { x: [1, 'ü"', null] } },
  ],
  ['/a/b', 'b', { title: 'B "quoted"', secret: 'auf', ref: { 'svc:ref': 'a', 'svc:workspace': WORKSPACE } }],
  ['/empty', 'empty', {}],
  ['/hidden', 'hidden', { title: 'hidden' }],
  ...Array.from({ length: 10 }, (_, index) => deepNode(index + 1)),
  ['/large', 'large', { title: 'L', text: 'x'.repeat(300_000) }],
];

beforeAll(async () => {
  branch = await openBranch({ nodeTypes: [definition] });
  const workspace = WORKSPACE;
  for (const [path, id, properties] of nodes)
    await branch.command({
      type: 'CreateNode',
      workspace,
      parentPath: path.slice(0, path.lastIndexOf('/')) || '/',
      node: { id, name: path.slice(path.lastIndexOf('/') + 1), nodeType: 'test:Document', properties },
      deep: false,
    });
  for (const [locale, title] of [
    ['de', 'Titel'],
    ['fr', 'Titre'],
  ] as const)
    await branch.command({
      type: 'TranslateNode',
      workspace,
      place: { path: '/a' },
      locale,
      translations: { '/title': title, '/secret': `${locale} secret` },
    });
  await branch.command({
    type: 'ChangeLocale',
    workspace,
    place: { path: '/a/b' },
    locale: 'de',
    change: 'hide',
  });
  const { revision } = await branch.command({
    type: 'AddRelation',
    workspace,
    place: { path: '/a' },
    targetWorkspace: workspace,
    targetPath: '/hidden',
    relationType: 'likes',
    weight: null,
  });
  before = revision as string;
  await branch.command({ type: 'UpdateNode', workspace, place: { id: 'b' }, properties: { title: 'later' } });
  await branch.command({ type: 'DeleteNode', workspace, place: { path: '/empty' } });
});

afterAll(() => branch.close());

const callers: Readonly<Record<string, Caller>> = {
  administrator,
  'a caller with hidden properties': roleCaller([
    { path: '/a', operations: ['read'], except_fields: ['secret'] },
    { path: '/a/**', operations: ['read'], fields: ['title'] },
    { path: '/large', operations: ['read'], except_fields: ['secret'] },
  ]),
  'a caller whose permission asks for a property': roleCaller([
    { path: '**', operations: ['read'], condition: "node.title != 'hidden'" },
  ]),
  'a caller who reads nothing': roleCaller([]),
};

/** The answer up to its time, which is another one each time; or the error. */
async function answerTo(
  sql: string,
  parameters: readonly JsonValue[],
  caller: Caller,
  isPast = false,
): Promise<string> {
  const at = isPast ? { at: parseRevision(before) } : {};
  const query: RunSql = { type: 'RunSql', sql, parameters, ...at };
  try {
    const answer = await branch.ask(query, caller);
    let text = '';
    if (answer instanceof JsonText) text = answer.text;
    else for await (const chunk of (answer as TextStream).chunks) text += chunkText(chunk);
    return text.replace(/"execution_time_ms":[\d.e-]+/, '');
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return error.message.replace(/ \(line.*/s, '');
  }
}

const columns = [
  ...nodeColumns.map(({ name }) => name),
  "properties->>'title' AS t",
  "properties->'nested' AS n",
  "properties->>'secret'",
  "properties->>'missing' AS m",
  "properties->'big' AS big",
  'id AS path',
];

const keys = ['a', 'b', 'd1', 'd7', 'd10', 'empty', 'hidden', 'large', 'none', 'not an id', '', 'root'];
const paths = [
  '/a',
  '/a/b',
  '/a/d',
  '/a/d/d/d/d/d/d/d/d/d',
  '/empty',
  '/hidden',
  '/large',
  '/none',
  '/',
  'a',
  '/a/',
  '',
  'ltree',
];

const statements = fc.record({
  /** Whether the branch itself is read at a revision, as through a tag. */
  isPast: fc.boolean(),
  list: fc.oneof(fc.constant('*'), fc.array(fc.constantFrom(...columns), { minLength: 1, maxLength: 6 })),
  column: fc.constantFrom('id', 'path', 't.id', 't.path', 'path::TEXT'),
  isTurned: fc.boolean(),
  isLiteral: fc.boolean(),
  value: fc.constantFrom<JsonValue>(...keys, ...paths, null, 5, true, { a: 1 }),
  locale: fc.constantFrom('', " AND locale = 'de'", " AND locale IN ('fr', 'de')", " AND locale = 'xx'"),
  revision: fc.constantFrom('none', 'none', 'before', 'unknown'),
  workspace: fc.constantFrom(WORKSPACE, WORKSPACE, WORKSPACE, 'unknown'),
  caller: fc.constantFrom(...Object.keys(callers)),
});

describe('a query for one node', () => {
  it('is answered byte for byte as in the general way', async () => {
    await fc.assert(
      fc.asyncProperty(statements, async (given) => {
        const { column, isLiteral, isPast, isTurned, list, locale, revision, value, workspace } = given;
        const isText = typeof value === 'string';
        const shown = isLiteral && isText ? `'${value}'` : '$1';
        const condition = isTurned ? `${shown} = ${column}` : `${column} = ${shown}`;
        const at = { none: '', before: ` AND __revision = '${before}'`, unknown: " AND __revision = '1-0'" }[
          revision
        ];
        const written = typeof list === 'string' ? list : list.join(', ');
        const sql = `SELECT ${written} FROM ${workspace} t WHERE ${condition}${locale}${at ?? ''}`;
        const parameters = shown === '$1' ? [value] : [];
        const caller = callers[given.caller] as Caller;
        // A limit takes the general way.
        const general = await answerTo(`${sql} LIMIT 10`, parameters, caller, isPast);
        expect(await answerTo(sql, parameters, caller, isPast)).toBe(general);
        // Bound before, it is written from stored bytes.
        expect(await answerTo(sql, parameters, caller, isPast)).toBe(general);
      }),
      { numRuns: 250 },
    );
  });

  it('is not answered for the text of two statements', async () => {
    const sql = `SELECT id FROM ${WORKSPACE} WHERE id = 'b'`;
    const two = `${sql}; SELECT id FROM ${WORKSPACE} WHERE id = 'a'`;
    const first = await answerTo(two, [], administrator);
    for (let n = 0; n < 2; n += 1) {
      await answerTo(sql, [], administrator);
      expect(await answerTo(two, [], administrator)).toBe(first);
    }
  });

  it('gives every column of each node, however its place is told and whatever it has beside its properties', async () => {
    const list = ['*', ...columns].join(', ');
    for (const [path, id] of nodes)
      for (const condition of [`id = '${id}'`, `path = '${path}'`]) {
        const sql = `SELECT ${list} FROM ${WORKSPACE} WHERE ${condition}`;
        const general = await answerTo(`${sql} LIMIT 10`, [], administrator);
        expect(await answerTo(sql, [], administrator)).toBe(general);
        expect(await answerTo(sql, [], administrator)).toBe(general);
      }
  });

  it('finds the nodes that its caller may read, with what is stored', async () => {
    const rowOf = async (id: string, caller: Caller): Promise<unknown> =>
      JSON.parse(
        (await answerTo(`SELECT path, properties FROM ${WORKSPACE} WHERE id = $1`, [id], caller)).replace(
          /,}$/,
          '}',
        ),
      ).rows;
    expect(await rowOf('b', administrator)).toEqual([{ path: '/a/b', properties: { title: 'later' } }]);
    expect(await rowOf('hidden', administrator)).toHaveLength(1);
    for (const [name, caller] of Object.entries(callers))
      if (name !== 'administrator') expect([name, await rowOf('hidden', caller)]).toEqual([name, []]);
    const germanOf = async (path: string): Promise<string> =>
      await answerTo(`SELECT id FROM ${WORKSPACE} WHERE path = $1 AND locale = 'de'`, [path], administrator);
    expect(await germanOf('/a/b')).toContain('"rows":[]');
    expect(await germanOf('/a')).toContain('"rows":[{"id":"a"}]');
    const named = `SELECT properties->>$1 AS v FROM ${WORKSPACE} WHERE path = $2`;
    for (const [name, shown] of [
      ['title', '"v":"A"'],
      ['none', '"v":null'],
    ] as const)
      expect(await answerTo(named, [name, '/a'], administrator)).toContain(shown);
    const hiding = callers['a caller with hidden properties'] as Caller;
    expect(JSON.stringify(await rowOf('a', hiding))).not.toContain('secret');
  });
});
