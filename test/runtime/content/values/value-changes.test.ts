import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { jsonEquals, type JsonValue } from '#runtime/content/values/json-value.ts';
import { type ValueChange, ValueComparison } from '#runtime/content/values/value-changes.ts';
import { applyChanges } from '#test/support/apply-changes.ts';
import { workloadCount } from '#test/support/workload-count.ts';

function changesOf(before: JsonValue | undefined, after: JsonValue | undefined): readonly ValueChange[] {
  const found: ValueChange[] = [];
  for (const change of new ValueComparison('uuid').changes('', before, after))
    if (change !== undefined) found.push(change);
  return found;
}

const paths = (before: JsonValue, after: JsonValue) => changesOf(before, after).map(({ path }) => path);

const link = (ref: string) => ({ 'svc:ref': ref, 'svc:workspace': 'content' });

describe('what differs between two values', () => {
  it('is named by a pointer through objects, with both values', () => {
    expect(
      changesOf(
        { title: 'a', hero: { image: 'x', alt: 'same' } },
        { title: 'a', hero: { image: 'y', alt: 'same' } },
      ),
    ).toEqual([{ path: '/hero/image', before: 'x', after: 'y' }]);
  });

  it('has no value on the side that lacks the key, and null is a value', () => {
    expect(changesOf({ gone: 1, nulled: 2 }, { nulled: null, 'new/~': [] })).toEqual([
      { path: '/gone', before: 1, after: undefined },
      { path: '/nulled', before: 2, after: null },
      { path: '/new~1~0', before: undefined, after: [] },
    ]);
  });

  it('does not count the order of keys', () => {
    expect(
      changesOf({ a: 1, b: { c: 1, d: [{ e: 1, f: 2 }] } }, { b: { d: [{ f: 2, e: 1 }], c: 1 }, a: 1 }),
    ).toEqual([]);
  });

  it('is the whole value where its kind changed, and for a reference', () => {
    expect(changesOf({ a: { b: 1 } }, { a: [1] })).toEqual([{ path: '/a', before: { b: 1 }, after: [1] }]);
    expect(changesOf({ a: link('one') }, { a: link('two') })).toEqual([
      { path: '/a', before: link('one'), after: link('two') },
    ]);
    expect(paths({ a: { b: 1 } }, { a: link('two') })).toEqual(['/a']);
    expect(paths({ a: link('one') }, { a: { b: 1 } })).toEqual(['/a']);
  });

  it('is the whole list of texts and numbers', () => {
    expect(changesOf({ tags: ['a', 'b'] }, { tags: ['a', 'c'] })).toEqual([
      { path: '/tags', before: ['a', 'b'], after: ['a', 'c'] },
    ]);
    expect(paths({ at: [[1, 2]] }, { at: [[1, 3]] })).toEqual(['/at']);
  });

  it('is within the items of a list where each one has stayed in its place', () => {
    const item = (uuid: string, text: string) => ({ uuid, text });
    const first = item('1', 'one');
    const second = item('2', 'two');
    expect(paths([first, second], [first, item('2', 'zwei')])).toEqual(['/1/text']);
    expect(paths([first], [first, second, item('3', 'three')])).toEqual(['/1', '/2']);
    expect(paths([first, second, item('3', 'three')], [first])).toEqual(['/2', '/1']);
    expect(paths([first, second], [second, first])).toEqual(['']);
    expect(paths([first, second], [second])).toEqual(['']);
    // Nothing says which of the items stayed.
    expect(paths([{ text: 'one' }], [{ text: 'zero' }, { text: 'one' }])).toEqual(['']);
    expect(paths([{ text: 'one' }], [{ text: 'eins' }])).toEqual(['/0/text']);
  });

  it('is everything or nothing where there is no value on one side', () => {
    expect(changesOf(undefined, { a: 1 })).toEqual([{ path: '', before: undefined, after: { a: 1 } }]);
    expect(changesOf({ a: 1 }, undefined)).toEqual([{ path: '', before: { a: 1 }, after: undefined }]);
    expect(changesOf(undefined, undefined)).toEqual([]);
  });

  it('rests while it compares what is large', () => {
    const list = (end: string) => Array.from({ length: 40_000 }, (_, index) => `text ${index}`).concat(end);
    const steps = [...new ValueComparison('uuid').changes('', { list: list('a') }, { list: list('b') })];
    expect(steps.filter((step) => step !== undefined).map((step) => step?.path)).toEqual(['/list']);
    expect(steps.filter((step) => step === undefined).length).toBeGreaterThan(4);
  });

  it('makes the new value of the old one when it is applied, and is nothing for equal values', () => {
    const key = fc.constantFrom('a', 'b', 'c/~d', '__proto__', 'constructor', '0', '');
    const { tree } = fc.letrec<{ tree: JsonValue }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<JsonValue>(null, 1, 'x', true, 9_007_199_254_740_993n),
        fc.constantFrom<JsonValue>(link('one'), link('two')),
        fc.array(tie('tree'), { maxLength: 3 }),
        fc
          .array(fc.tuple(fc.constantFrom('1', '2', '3'), tie('tree')), { maxLength: 3 })
          .map((items) => items.map(([uuid, text]) => ({ uuid, text }))),
        fc.array(fc.tuple(key, tie('tree')), { maxLength: 4 }).map((entries): JsonValue => {
          const object = {};
          for (const [name, value] of entries)
            Object.defineProperty(object, name, {
              value,
              writable: true,
              enumerable: true,
              configurable: true,
            });
          return object;
        }),
      ),
    }));
    fc.assert(
      fc.property(tree, tree, (before, after) => {
        const changes = changesOf(before, after);
        expect(changes.length === 0).toBe(jsonEquals(before, after));
        expect(jsonEquals(applyChanges(before, changes), after)).toBe(true);
      }),
      { numRuns: workloadCount(3_000) },
    );
  });
});
