import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import {
  getProperty,
  parsePropertyPath,
  removeProperty,
  setProperty,
} from '#runtime/content/values/property-path.ts';

describe('property paths', () => {
  const properties: JsonObject = { a: { b: [{ c: 1 }, 'x'] }, 'dotted.key': 'literal', n: null, s: 'text' };

  it('read objects by key and arrays by index', () => {
    expect(getProperty(properties, parsePropertyPath('a.b.0.c'))).toBe(1);
    expect(getProperty(properties, parsePropertyPath('a.b.1'))).toBe('x');
    expect(getProperty(properties, ['n'])).toBeNull();
    for (const missing of [
      'x',
      'a.x',
      'a.b.2',
      'a.b.-1',
      'a.b.01',
      's.length',
      'n.x',
      'constructor',
      'a.toString',
    ]) {
      expect(getProperty(properties, parsePropertyPath(missing)), missing).toBeUndefined();
    }
  });

  it('prefer a property whose own name has dots', () => {
    expect(getProperty(properties, ['dotted', 'key'])).toBe('literal');
    expect(setProperty(properties, ['dotted', 'key'], 2)).toEqual({ ...properties, 'dotted.key': 2 });
  });

  it('remove a key, and an item of an array with its place', () => {
    const remove = (path: string) => removeProperty(properties, parsePropertyPath(path));
    expect(remove('s')).toEqual({ a: properties.a, 'dotted.key': 'literal', n: null });
    expect(remove('n')).not.toHaveProperty('n');
    expect(remove('dotted.key')).not.toHaveProperty(['dotted.key']);
    expect(remove('a.b')).toMatchObject({ a: {} });
    expect(remove('a.b.0')).toMatchObject({ a: { b: ['x'] } });
    expect(remove('a.b.0.c')).toMatchObject({ a: { b: [{}, 'x'] } });
    expect(properties).toMatchObject({ a: { b: [{ c: 1 }, 'x'] }, s: 'text' });
    for (const missing of [
      'x',
      'a.x',
      'a.b.2',
      'a.b.-1',
      'a.b.01',
      'a.b.x',
      's.length',
      'n.x',
      'constructor',
      'x.y.z',
    ]) {
      expect(remove(missing), missing).toBeUndefined();
    }
    expect(() =>
      removeProperty(
        {},
        Array.from({ length: 200 }, () => 'a'),
      ),
    ).toThrow(/at most/);
    const odd = JSON.parse('{"__proto__":{"__proto__":1,"b":2}}') as JsonObject;
    expect(JSON.stringify(removeProperty(odd, ['__proto__', '__proto__']))).toBe('{"__proto__":{"b":2}}');
  });

  it('make missing objects on the way', () => {
    expect(setProperty({}, ['a', 'b', 'c'], 1)).toEqual({ a: { b: { c: 1 } } });
    expect(setProperty({ a: null }, ['a', 'b'], 1)).toEqual({ a: { b: 1 } });
  });

  it('set and append items of arrays', () => {
    expect(setProperty({ a: [1, 2] }, ['a', '1'], 3)).toEqual({ a: [1, 3] });
    expect(setProperty({ a: [1, 2] }, ['a', '2'], 3)).toEqual({ a: [1, 2, 3] });
  });

  it('take the path of the former target from a reference that leads elsewhere', () => {
    const link = { 'svc:ref': 'one', 'svc:workspace': 'w', 'svc:path': '/one', note: 'kept' };
    const list: JsonObject = { links: [link] };
    const { 'svc:path': path, ...pathless } = link;
    const set = (key: string, value: JsonValue) => setProperty(list, ['links', '0', key], value);
    expect(set('svc:ref', 'two')).toEqual({ links: [{ ...pathless, 'svc:ref': 'two' }] });
    expect(set('svc:workspace', 'v')).toEqual({ links: [{ ...pathless, 'svc:workspace': 'v' }] });
    expect(set('svc:workspace', null)).toEqual({ links: [{ ...pathless, 'svc:workspace': null }] });
    expect(removeProperty(list, ['links', '0', 'svc:workspace'])).toEqual({
      links: [{ 'svc:ref': 'one', note: 'kept' }],
    });
    expect(removeProperty(list, ['links', '0', 'svc:ref'])).toEqual({
      links: [{ 'svc:workspace': 'w', note: 'kept' }],
    });
    // The same target, another path, and other keys.
    for (const [key, value] of [
      ['svc:ref', 'one'],
      ['svc:workspace', 'w'],
      ['svc:path', '/two'],
      ['note', 'new'],
    ] as const) {
      expect(set(key, value), key).toEqual({ links: [{ ...link, [key]: value }] });
    }
    expect(removeProperty(list, ['links', '0', 'note'])).toEqual({ links: [{ ...link, note: undefined }] });
    expect(list).toEqual({ links: [link] });
    // The properties themselves are no reference, and neither is an object that names no target.
    expect(setProperty(link, ['svc:ref'], 'two')).toEqual({ ...link, 'svc:ref': 'two' });
    expect(removeProperty(link, ['svc:ref'])).toEqual({ ...link, 'svc:ref': undefined });
    const file = { 'svc:path': '/a', 'svc:workspace': 'w' };
    expect(setProperty({ file }, ['file', 'svc:workspace'], 'v')).toEqual({
      file: { ...file, 'svc:workspace': 'v' },
    });
  });

  it('refuse what cannot hold a key', () => {
    const refused = expect.objectContaining({ code: 'VALIDATION_FAILED' });
    expect(() => setProperty({ a: 'x' }, ['a', 'b'], 1)).toThrowError(refused);
    expect(() => setProperty({ a: [1] }, ['a', '3'], 1)).toThrowError(refused);
    expect(() => setProperty({ a: [1] }, ['a', 'x'], 1)).toThrowError(refused);
    expect(() =>
      setProperty(
        {},
        Array.from({ length: 200 }, () => 'a'),
        1,
      ),
    ).toThrowError(refused);
    for (const bad of ['', 'a.', '.a', 'a..b']) expect(() => parsePropertyPath(bad)).toThrowError(refused);
  });

  it('read what was set, and leave the original as it was', () => {
    const keys = fc.array(
      fc.oneof(fc.constantFrom('__proto__', 'constructor'), fc.stringMatching(/^[a-z]{1,3}$/)),
      {
        minLength: 1,
        maxLength: 4,
      },
    );
    fc.assert(
      fc.property(keys, fc.jsonValue(), (path, value) => {
        const before = JSON.stringify(properties);
        let changed: JsonObject;
        try {
          changed = setProperty(properties, path, value as never);
        } catch {
          expect(path[0] === 's' || path[0] === 'a').toBe(true);
          return;
        }
        expect(getProperty(changed, path)).toEqual(value);
        expect(JSON.stringify(properties)).toBe(before);
        expect(Object.getPrototypeOf(changed)).toBe(Object.prototype);
      }),
    );
  });
});
