import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RunDslQuery } from '#actors/branch/messages.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import {
  type BranchFixture,
  callerWith,
  type NodeObject,
  openBranch,
  WORKSPACE,
} from '#test/support/branch-fixture.ts';
import { workloadCount } from '#test/support/workload-count.ts';

/** Few values, so that nodes share them: texts longer than a key, zero characters, lone surrogates, signed zero. */
const long = 'x'.repeat(2000);
const text = fc.constantFrom(
  '',
  'a',
  'b',
  'a\0b',
  'a\u0001b',
  long,
  `${long}1`,
  `${long}2`,
  'ü',
  '\ud800',
  '\ufffd',
);
const number = fc.constantFrom(0, -0, 1, -1, 0.5, 1e300, -1e300);
const values = { k: text, l: number, m: fc.boolean(), constructor: text };
const anything: fc.Arbitrary<JsonValue> = fc.oneof(
  text,
  number,
  fc.boolean(),
  fc.constant(null),
  fc.constant(['a']),
);

/** Comparisons for which an index has ranges. */
const ranged: fc.Arbitrary<JsonObject> = fc
  .tuple(
    fc.constantFrom(...Object.keys(values)),
    fc.oneof(
      fc.record({ in: fc.array(anything, { maxLength: 4 }) }),
      fc
        .tuple(fc.constantFrom('gt', 'gte', 'lt', 'lte'), fc.oneof(text, number))
        .map(([operator, value]) => ({ [operator]: value })),
      fc.tuple(text, text).map(([gte, lt]) => ({ gte, lt })),
      fc.boolean().map((exists) => ({ exists })),
    ),
  )
  .map(([key, comparison]) => ({ [`properties.${key}`]: comparison }));

const nodeType = fc.constantFrom('test:Indexed', 'test:Plain', 'test:Partly');
const properties = fc.record(values, { requiredKeys: [] }) as fc.Arbitrary<JsonObject>;

const equals: fc.Arbitrary<JsonObject> = fc.oneof(
  ...Object.entries(values).map(([key, value]) =>
    fc
      .oneof({ weight: 4, arbitrary: value }, { weight: 1, arbitrary: anything })
      .map((eq) => ({ [`properties.${key}`]: { eq } })),
  ),
);
const term: fc.Arbitrary<JsonObject> = fc.oneof(
  { weight: 4, arbitrary: equals },
  { weight: 4, arbitrary: ranged },
  { weight: 3, arbitrary: nodeType.map((eq) => ({ node_type: { eq } })) },
  { weight: 1, arbitrary: anything.map((ne) => ({ 'properties.l': { ne } })) },
  { weight: 1, arbitrary: fc.constantFrom('gone', 'n1').map((like) => ({ name: { like } })) },
  { weight: 1, arbitrary: anything.map((eq) => ({ nodeType: { eq } })) },
);
const both = fc
  .tuple(nodeType, equals, ranged)
  .map(([eq, more, ranges]) => ({ node_type: { eq }, ...ranges, ...more }));

/** Leading columns of the compound index, and a range of the next one. */
const compound = fc
  .tuple(text, fc.constantFrom('gt', 'gte', 'lt', 'lte', 'eq'), number)
  .map(([k, operator, l]) => ({
    node_type: { eq: 'test:Indexed' },
    'properties.k': { eq: k },
    'properties.l': { [operator]: l },
  }));
const time = fc
  .tuple(
    fc.constantFrom('created_at', 'updated_at'),
    fc.constantFrom('gt', 'lte'),
    fc.constantFrom('2000', '3000', new Date().toISOString()),
  )
  .map(([column, operator, at]) => ({ [column]: { [operator]: at } }));

const direction = fc.constantFrom('asc', 'desc');
/** The part of a query that is not its filter. */
const paging: fc.Arbitrary<JsonObject> = fc.record(
  {
    order_by: fc
      .uniqueArray(
        fc.constantFrom(
          ...Object.keys(values).map((key) => `properties.${key}`),
          'created_at',
          'updated_at',
          'version',
          'id',
        ),
        {
          minLength: 1,
          maxLength: 2,
        },
      )
      .chain((fields) =>
        fc.tuple(...fields.map(() => direction)).map((directions) => {
          return Object.fromEntries(fields.map((field, index) => [field, directions[index]])) as JsonObject;
        }),
      ),
    limit: fc.integer({ min: 1, max: 5 }),
    offset: fc.nat({ max: 3 }),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<JsonObject>;
const { filter } = fc.letrec<{ filter: JsonObject }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    term,
    both,
    compound,
    time,
    fc.array(term, { maxLength: 3 }).map((parts) => Object.assign({}, ...parts) as JsonObject),
    fc.array(tie('filter'), { maxLength: 3 }).map((and) => ({ and })),
    fc.array(tie('filter'), { maxLength: 3 }).map((or) => ({ or })),
    tie('filter').map((not) => ({ not })),
  ),
}));

/** Sees every other node, so that no number of matches is known without reading them. */
const restricted = callerWith((_operation, { path }) => !/[13579]$/.test(path));

/** The types of the nodes: one with all indexes, one with some, one without. */
function nodeTypes(): readonly JsonObject[] {
  const property = (name: string, type: string, isIndexed: boolean): JsonObject =>
    isIndexed ? { name, type, index: ['Property'] } : { name, type };
  const all = Object.entries({ k: 'String', l: 'Number', m: 'Boolean', constructor: 'String' });
  return [
    {
      name: 'test:Indexed',
      properties: all.map(([name, type]) => property(name, type, true)),
      compound_indexes: [
        { name: 'kl', columns: [{ property: 'k' }, { property: 'l', ascending: false }] },
        { name: 'tk', columns: [{ property: '__node_type' }, { property: 'k', ascending: false }] },
      ],
    },
    { name: 'test:Plain' },
    { name: 'test:Partly', properties: all.map(([name, type]) => property(name, type, name === 'l')) },
  ];
}

type Found = { readonly paths: readonly string[]; readonly page: JsonObject };

async function foundIn(
  branch: BranchFixture,
  body: JsonObject,
  caller?: Caller,
  at?: Revision,
): Promise<Found> {
  const query: RunDslQuery = { type: 'RunDslQuery', workspace: WORKSPACE, filter: body };
  const asked = at === undefined ? query : { ...query, at };
  const { items, page } = (await branch.query(asked, caller)) as { items: NodeObject[]; page: JsonObject };
  return { paths: items.map((node) => node.path), page };
}

// Where all nodes are at the root, more is counted by keys.
describe.each(['flat', 'nested'])('the sources of a DSL query in a %s workspace', (form) => {
  let branch: BranchFixture;
  let count = 0;

  beforeAll(async () => {
    branch = await openBranch({ nodeTypes: nodeTypes() });
  });
  afterAll(() => branch.close());

  const found = (body: JsonObject, caller?: Caller) => foundIn(branch, body, caller);

  it('give the same answer from an index, from the types and from a scan, for any filter', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(nodeType, properties, fc.boolean()), { minLength: 1, maxLength: 6 }),
        fc.array(fc.tuple(filter, paging), { minLength: 8, maxLength: 8 }),
        async (nodes, queries) => {
          for (const [type, values, nested] of nodes) {
            const path = nested && form === 'nested' && count > 0 ? `/n0/c${count}` : `/n${count}`;
            count += 1;
            await branch.create(path, values, path === '/n0' ? 'test:Plain' : type);
          }
          for (const [each, window] of queries) {
            // A double negation hides the conjunction, so nothing but the scan fits.
            for (const caller of [undefined, restricted]) {
              const scanned = await found({ not: { not: each }, ...window }, caller);
              expect(await found({ ...each, ...window }, caller)).toEqual(scanned);
            }
          }
        },
      ),
      { numRuns: workloadCount(40) },
    );
  });
});

/** A change of a node, picked by a number among those that are there. */
const change = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('update' as const), node: fc.nat(40), properties }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('move' as const), node: fc.nat(40) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), node: fc.nat(40) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('create' as const), nodeType, properties }) },
);
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

describe.each(['flat', 'nested'])('a DSL query at an earlier revision of a %s workspace', (form) => {
  let branch: BranchFixture;
  let paths: string[] = [];
  let count = 0;

  beforeAll(async () => {
    branch = await openBranch({ nodeTypes: nodeTypes() });
    if (form === 'nested') await branch.create('/top');
  });
  afterAll(() => branch.close());

  async function run(each: Change): Promise<void> {
    const created = `/n${count}`;
    count += 1;
    if (each.do === 'create') {
      await branch.create(created, each.properties, each.nodeType);
      paths.push(created);
      return;
    }
    const path = paths[each.node % (paths.length + 1)];
    if (path === undefined) return;
    const place = { type: 'MoveNode', workspace: WORKSPACE, place: { path } } as const;
    if (each.do === 'update') {
      await branch.command({ ...place, type: 'UpdateNode', properties: each.properties });
      return;
    }
    paths = paths.filter((other) => other !== path);
    if (each.do === 'remove') await branch.command({ ...place, type: 'DeleteNode' });
    else {
      const targetPath = form === 'nested' && !path.startsWith('/top/') ? `/top${created}` : created;
      await branch.command({ ...place, targetPath });
      paths.push(targetPath);
    }
  }

  it('answers what it answered when that revision was the head', async () => {
    const queries = fc.array(fc.tuple(filter, paging), { minLength: 6, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { minLength: 4, maxLength: 8 }),
        queries,
        fc.array(change, { minLength: 1, maxLength: 4 }),
        async (before, asked, after) => {
          for (const each of before) await run(each);
          const { head } = (await branch.query({ type: 'ReadBranchState' })) as { head: string };
          const then: Found[] = [];
          const callers = [undefined, restricted];
          for (const [each, window] of asked)
            for (const caller of callers) then.push(await foundIn(branch, { ...each, ...window }, caller));
          for (const each of after) await run(each);
          const at = parseRevision(head);
          const now: Found[] = [];
          for (const [each, window] of asked)
            for (const caller of callers) now.push(await foundIn(branch, { ...each, ...window }, caller, at));
          expect(now).toEqual(then);
        },
      ),
      { numRuns: workloadCount(40) },
    );
  });
});
