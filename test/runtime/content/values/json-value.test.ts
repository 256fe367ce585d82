import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JSON_DEPTH_MAX, measureJson } from '#runtime/content/values/json-bounds.ts';
import {
  canonicalJson,
  type JsonObject,
  type JsonValue,
  jsonEquals,
  ownValue,
  withKey,
  withoutKey,
} from '#runtime/content/values/json-value.ts';

const key = fc.oneof(fc.string({ maxLength: 6 }), fc.constantFrom('__proto__', 'constructor', 'toString'));
const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    fc.string({ unit: 'binary', maxLength: 6 }),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
  ),
}));

describe('JSON values', () => {
  it('treats __proto__ and constructor as ordinary keys', () => {
    const parsed = JSON.parse('{"__proto__": {"polluted": true}, "a": 1}') as JsonObject;
    expect(ownValue(parsed, '__proto__')).toEqual({ polluted: true });
    expect(ownValue({ a: 1 }, 'constructor')).toBeUndefined();
    const copy = withKey({ a: 1 }, '__proto__', { polluted: true });
    expect(Object.getPrototypeOf(copy)).toBe(Object.prototype);
    expect(JSON.stringify(copy)).toBe('{"a":1,"__proto__":{"polluted":true}}');
    expect(JSON.stringify(withKey(parsed, 'b', 2))).toBe('{"__proto__":{"polluted":true},"a":1,"b":2}');
    expect(JSON.stringify(withoutKey(parsed, '__proto__'))).toBe('{"a":1}');
  });

  it('compares by content, with any order of keys', () => {
    fc.assert(
      fc.property(value, value, (a, b) => {
        expect(jsonEquals(a, structuredClone(a))).toBe(true);
        expect(jsonEquals(a, b)).toBe(canonicalJson(a) === canonicalJson(b));
      }),
    );
    expect(jsonEquals({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(true);
    expect(canonicalJson({ b: 1, a: [{ d: 1, c: 2 }] })).toBe('{"a":[{"c":2,"d":1}],"b":1}');
  });

  it('measures a value, or reports which bound it breaks', () => {
    expect(measureJson('abc')).toBe(3);
    expect(measureJson({ ab: 'c' })).toBe(8 + 2 + 1);
    let deep: JsonValue = 1;
    for (let level = 0; level < JSON_DEPTH_MAX; level += 1) deep = [deep];
    expect(measureJson(deep)).toBeGreaterThan(0);
    expect(measureJson([deep])).toBeLessThan(0);
    expect(measureJson(JSON.parse('1e999') as JsonValue)).toBeLessThan(0);
    expect(measureJson({ ['k'.repeat(1025)]: 1 })).toBeLessThan(0);
  });
});
