import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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

describe('the sources of a DSL query', () => {
  let branch: BranchFixture;
  let count = 0;

  beforeAll(async () => {
    const property = (name: string, type: string, isIndexed: boolean): JsonObject =>
      isIndexed ? { name, type, index: ['Property'] } : { name, type };
    const types = { k: 'String', l: 'Number', m: 'Boolean', constructor: 'String' };
    const all = Object.entries(types);
    branch = await openBranch({
      nodeTypes: [
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
      ],
    });
  });
  afterAll(() => branch.close());

  const found = async (body: JsonObject, caller?: Caller): Promise<unknown> => {
    const query = { type: 'RunDslQuery', workspace: WORKSPACE, filter: body } as const;
    const { items, page } = (await branch.query(query, caller)) as { items: NodeObject[]; page: JsonObject };
    return { paths: items.map((node) => node.path), page };
  };

  it('give the same answer from an index, from the types and from a scan, for any filter', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(nodeType, properties, fc.boolean()), { minLength: 1, maxLength: 6 }),
        fc.array(fc.tuple(filter, paging), { minLength: 8, maxLength: 8 }),
        async (nodes, queries) => {
          for (const [type, values, nested] of nodes) {
            const path = nested && count > 0 ? `/n0/c${count}` : `/n${count}`;
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
      { numRuns: workloadCount(60) },
    );
  });
});
