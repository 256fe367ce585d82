import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDslQuery } from '#actors/branch/query/dsl-filter.ts';
import { filterWeight, matchesInSlices } from '#actors/branch/query/dsl-match.ts';
import { DslRow, holds, SORT_KEY_CHARACTERS, sortKeys } from '#actors/branch/query/dsl-row.ts';
import { RequestBudget } from '#runtime/budget/request-budget.ts';
import type { NodeHeader } from '#runtime/content/content-node.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { makeNodeRecord } from '#runtime/tree/record/make-record.ts';
import { runBudgeted } from '#test/support/budgeted-steps.ts';
import { plainHeader } from '#test/support/plain-header.ts';

const header: NodeHeader = {
  ...plainHeader,
  id: 'n',
  name: 'n',
  path: '/n',
  nodeType: 'svc:Folder',
  parentId: 'root',
  orderKey: 'a0',
};

/** What no step may take, in estimated nanoseconds. */
const TURN_MAX = 50_000_000;

const recordOf = (properties: JsonObject): NodeRecord => makeNodeRecord(header, properties);
const rowOf = (record: NodeRecord): DslRow => new DslRow(record, () => undefined);

const match = (
  filter: JsonObject,
  properties: JsonObject,
  budget = new RequestBudget(),
  perByte?: number,
) => {
  const { filter: condition } = parseDslQuery(filter);
  const weight = filterWeight(condition);
  const asked = perByte === undefined ? weight : { ...weight, perByte };
  const record = recordOf(properties);
  const steps = matchesInSlices(condition, asked, rowOf(record), record.bytes.length, budget);
  return runBudgeted(steps, budget);
};

const values: fc.Arbitrary<JsonValue> = fc.oneof(
  fc.constantFrom<JsonValue>(null, true, 0, 1, 'a', 'ab', 'bab', [], ['a'], [1, ['a']], {}, { a: 1 }),
  fc.array(fc.constantFrom<JsonValue>('a', 1, null, { a: 1 }), { maxLength: 4 }),
);
const terms: fc.Arbitrary<JsonObject> = fc.oneof(
  values.map((value) => ({ eq: value })),
  values.map((value) => ({ ne: value })),
  values.map((value) => ({ contains: value })),
  fc.array(values, { maxLength: 4 }).map((list) => ({ in: list })),
  fc.constantFrom('a', 'ab', '').map((text) => ({ like: text })),
  fc.boolean().map((wanted) => ({ exists: wanted })),
  fc.constantFrom<JsonValue>('a', 1).map((bound) => ({ gte: bound })),
);
const { filter: filters } = fc.letrec<{ filter: JsonObject }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3 },
    terms.map((term) => ({ 'properties.p': term })),
    fc.array(tie('filter'), { maxLength: 3 }).map((parts) => ({ and: parts })),
    fc.array(tie('filter'), { maxLength: 3 }).map((parts) => ({ or: parts })),
    tie('filter').map((part) => ({ not: part })),
  ),
}));

describe('matchesInSlices', () => {
  it('gives the same result for a node of any size', () => {
    fc.assert(
      fc.property(filters, fc.option(values, { nil: undefined }), (filter, value) => {
        const properties: JsonObject = value === undefined ? {} : { p: value };
        const asLarge = match(filter, properties, new RequestBudget(), 1e7);
        expect(asLarge.result).toBe(holds(parseDslQuery(filter).filter, rowOf(recordOf(properties))));
        expect(match(filter, properties).result).toBe(asLarge.result);
      }),
    );
  });

  it('answers for a small node in one step', () => {
    const { rests } = match({ 'properties.p': { like: 'x' } }, { p: 'y'.repeat(10_000) });
    expect(rests).toBe(0);
  });

  it('looks for texts of a thousand characters in one of 16 MiB, step by step', () => {
    const text = 'a'.repeat(16 * 1024 * 1024);
    const needles = Array.from({ length: 5 }, (_, n) => `${'a'.repeat(500)}${n}${'a'.repeat(500)}`);
    const budget = new RequestBudget();
    const filter = { or: needles.map((needle) => ({ 'properties.p': { like: needle } })) };
    const { result, longestStep, rests } = match(filter, { p: text }, budget);
    expect(result).toBe(false);
    expect(longestStep).toBeLessThan(TURN_MAX);
    expect(rests).toBeGreaterThan(1_000);
    // Five passes over the text and one for its decoding, not five thousand.
    expect(budget.work).toBeLessThan(6 * 10 * text.length);
  });

  it('looks up a text or number among the members of any number of lists', () => {
    const lists = Array.from({ length: 100 }, (_, list) => ({
      'properties.p': { in: Array.from({ length: 1_000 }, (_, n) => list * 1_000 + n) },
    }));
    const filter: JsonObject = { or: lists };
    const ask = (value: JsonValue, budget = new RequestBudget()) => {
      const { result, rests } = match(filter, { p: value }, budget);
      return { result, rests, work: budget.work };
    };
    expect(ask(99_999)).toMatchObject({ result: true, rests: 0 });
    expect(ask(-0)).toMatchObject({ result: true, rests: 0 });
    expect(ask(100_000)).toMatchObject({ result: false, rests: 0 });
    expect(ask('99999')).toMatchObject({ result: false, rests: 0 });
    // A comparison with each of the members would be a thousand times that.
    expect(ask(100_000).work).toBeLessThan(100_000);
  });

  it('counts each comparison of a filter of many, for a small node too', () => {
    const filter = (terms: number): JsonObject => ({
      or: Array.from({ length: terms }, (_, n) => ({ 'properties.p': { eq: n } })),
    });
    const few = new RequestBudget();
    const many = new RequestBudget();
    match(filter(1), { p: -1 }, few);
    match(filter(499), { p: -1 }, many);
    expect(many.work - few.work).toBeGreaterThan(498 * 100);
  });

  it('counts each comparison with an array or object in a list', () => {
    const members = Array.from({ length: 1_000 }, (_, n) => [n]);
    const budget = new RequestBudget({ workMax: 10_000_000, memoryMax: 1 });
    const filter = { or: Array.from({ length: 100 }, () => ({ 'properties.p': { in: members } })) };
    expect(() => match(filter, { p: [-1] }, budget)).toThrow('work that one may take');
    expect(match({ 'properties.p': { in: members } }, { p: [7] }).result).toBe(true);
  });

  it('looks for many members in an array of 1.9 million, step by step, until the budget is used up', () => {
    const list = new Array<number>(1_900_000).fill(7);
    const filter = { or: Array.from({ length: 499 }, (_, n) => ({ 'properties.p': { contains: n + 10 } })) };
    const budget = new RequestBudget({ workMax: 200_000_000, memoryMax: 1 });
    const condition = parseDslQuery(filter).filter;
    const record = recordOf({ p: list });
    const weight = filterWeight(condition);
    const steps = matchesInSlices(condition, weight, rowOf(record), record.bytes.length, budget);
    let longest = 0;
    const run = (): void => {
      for (;;) {
        const before = budget.work;
        if (steps.next().done === true) return;
        longest = Math.max(longest, budget.work - before);
      }
    };
    expect(run).toThrow('work that one may take');
    expect(longest).toBeLessThan(TURN_MAX);
  });
});

describe('sortKeys', () => {
  const { order } = parseDslQuery({ order_by: { 'properties.p': 'asc' } });
  const keyOf = (value: JsonValue): JsonValue | undefined =>
    sortKeys(order, rowOf(recordOf({ p: value })))[0];

  it('keeps no more of a value than is compared', () => {
    expect(keyOf('x'.repeat(SORT_KEY_CHARACTERS))).toBe('x'.repeat(SORT_KEY_CHARACTERS));
    expect(keyOf(`${'ü\ud800'.repeat(SORT_KEY_CHARACTERS / 2)}tail`)).toBe(
      'ü\ud800'.repeat(SORT_KEY_CHARACTERS / 2),
    );
    expect(keyOf([1, 2, 3])).toEqual([]);
    expect(keyOf({ a: 1 })).toEqual({});
    expect([keyOf(1), keyOf(null), keyOf(true)]).toEqual([1, null, true]);
  });
});
