import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { jsonEquals, type JsonObject, type JsonValue } from '#runtime/content/values/json-value.ts';
import { mergePatch } from '#runtime/content/values/merge-patch.ts';

const merged = (target: JsonValue | undefined, patch: JsonValue): JsonValue =>
  atOnce(mergePatch(target, patch));

/** The text of RFC 7396 section 2, as it stands there. */
function byTheStandard(target: unknown, patch: unknown): unknown {
  const isObject = (value: unknown): value is Record<string, unknown> =>
    typeof value === 'object' && value !== null && !Array.isArray(value);
  if (!isObject(patch)) return patch;
  const result = new Map<string, unknown>(isObject(target) ? Object.entries(target) : []);
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name);
    else result.set(name, byTheStandard(result.get(name), value));
  }
  return JSON.parse(
    `{${[...result].map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`).join(',')}}`,
  );
}

describe('a merge patch', () => {
  // RFC 7396 appendix A.
  it.each([
    ['{"a":"b"}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"b"}', '{"b":"c"}', '{"a":"b","b":"c"}'],
    ['{"a":"b"}', '{"a":null}', '{}'],
    ['{"a":"b","b":"c"}', '{"a":null}', '{"b":"c"}'],
    ['{"a":["b"]}', '{"a":"c"}', '{"a":"c"}'],
    ['{"a":"c"}', '{"a":["b"]}', '{"a":["b"]}'],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', '{"a":{"b":"d"}}'],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', '{"a":[1]}'],
    ['["a","b"]', '["c","d"]', '["c","d"]'],
    ['{"a":"b"}', '["c"]', '["c"]'],
    ['{"a":"foo"}', 'null', 'null'],
    ['{"a":"foo"}', '"bar"', '"bar"'],
    ['{"e":null}', '{"a":1}', '{"e":null,"a":1}'],
    ['[1,2]', '{"a":"b","c":null}', '{"a":"b"}'],
    ['{}', '{"a":{"bb":{"ccc":null}}}', '{"a":{"bb":{}}}'],
  ])('of %s with %s is %s', (target, patch, result) => {
    expect(JSON.stringify(merged(JSON.parse(target), JSON.parse(patch)))).toBe(result);
  });

  it('follows the standard with any keys, and does not modify its input', () => {
    const key = fc.constantFrom('a', 'b', '__proto__', 'constructor', 'toString', '');
    const { tree } = fc.letrec<{ tree: JsonValue }>((tie) => ({
      tree: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<JsonValue>(null, 1, 'x', true),
        fc.array(tie('tree'), { maxLength: 2 }),
        fc
          .array(fc.tuple(key, tie('tree')), { maxLength: 4 })
          .map(
            (entries) =>
              JSON.parse(
                `{${[...new Map(entries)].map(([k, v]) => `${JSON.stringify(k)}:${JSON.stringify(v)}`).join(',')}}`,
              ) as JsonObject,
          ),
      ),
    }));
    fc.assert(
      fc.property(tree, tree, (target, patch) => {
        const before = JSON.stringify([target, patch]);
        const result = merged(target, patch);
        expect(jsonEquals(result, byTheStandard(target, patch) as JsonValue)).toBe(true);
        expect(JSON.stringify([target, patch])).toBe(before);
      }),
      { numRuns: 500 },
    );
  });

  it('keeps whole numbers of any size', () => {
    const large = 12345678901234567890n as unknown as JsonValue;
    expect(merged({ a: large, b: 1 }, { b: large })).toEqual({ a: large, b: large });
  });

  it('takes the path of the former target from a reference that leads elsewhere', () => {
    const link = { 'svc:ref': 'one', 'svc:workspace': 'w', 'svc:path': '/one', note: 'kept' };
    const { 'svc:path': path, ...pathless } = link;
    const patched = (patch: JsonObject) => (merged({ link }, { link: patch }) as { link: JsonObject }).link;
    for (const patch of [
      { 'svc:ref': 'two' },
      { 'svc:workspace': 'v' },
      { 'svc:workspace': 'v', note: 'new' },
    ])
      expect(patched(patch)).toEqual({ ...pathless, ...patch });
    expect(patched({ 'svc:workspace': null })).toEqual({ 'svc:ref': 'one', note: 'kept' });
    expect(patched({ 'svc:ref': null })).toEqual({ 'svc:workspace': 'w', note: 'kept' });
    // The same target, another path, and other keys.
    for (const patch of [
      { 'svc:ref': 'one', 'svc:workspace': 'w' },
      { 'svc:ref': 'two', 'svc:path': '/one' },
      { 'svc:workspace': 'v', 'svc:path': '/two' },
      { note: 'new' },
    ]) {
      expect(patched(patch)).toEqual({ ...link, ...patch });
    }
    // The properties themselves are no reference, and neither is an object that names no target.
    expect(merged(link, { 'svc:ref': 'two' })).toEqual({ ...link, 'svc:ref': 'two' });
    const file = { 'svc:path': '/a', 'svc:workspace': 'w' };
    expect(merged({ file }, { file: { 'svc:workspace': 'v' } })).toEqual({
      file: { ...file, 'svc:workspace': 'v' },
    });
  });

  it('yields while it processes many keys', () => {
    const many = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, i]));
    const steps = mergePatch(many, { k5: null, x: 1 });
    let rests = 0;
    let step = steps.next();
    for (; step.done !== true; step = steps.next()) rests += 1;
    expect(rests).toBeGreaterThanOrEqual(9);
    expect(Object.keys(step.value as object)).toHaveLength(10_000);
  });
});
