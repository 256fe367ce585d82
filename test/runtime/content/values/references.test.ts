import { describe, expect, it } from 'vitest';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { eachReference, findReferences, rewriteReferences } from '#runtime/content/values/references.ts';

describe('references', () => {
  const properties: JsonObject = {
    title: 'x',
    author: { 'svc:ref': 'id-1', 'svc:workspace': 'people', 'svc:path': '/ann' },
    related: [{ 'svc:ref': '/b' }, { nested: { 'a/b~c': { 'svc:ref': '/c', 'svc:workspace': 'w' } } }],
    not: [{ 'svc:ref': 1 }, { 'svc:ref': '' }, 'svc:ref'],
  };

  it('are found by their shape at any depth, with pointers', () => {
    expect(findReferences(properties)).toEqual([
      { pointer: '/author', ref: 'id-1', workspace: 'people', path: '/ann' },
      { pointer: '/related/0', ref: '/b', workspace: null, path: null },
      { pointer: '/related/1/nested/a~1b~0c', ref: '/c', workspace: 'w', path: null },
    ]);
    expect(findReferences({ a: 1, b: ['x'] })).toEqual([]);
    // The properties themselves are not a value, whatever their keys are.
    expect(findReferences({ 'svc:ref': 'x' })).toEqual([]);
  });

  it('are found one after the other as well, with rests between many values', () => {
    const many = {
      list: Array.from({ length: 20_000 }, (_, n) => n),
      ...properties,
      deep: [[[{ a: properties }]]],
    };
    for (const given of [properties, many, {}, { 'svc:ref': 'x' }]) {
      const steps = [...eachReference(given)];
      expect(steps.filter((step) => step !== undefined)).toEqual(findReferences(given));
    }
    expect([...eachReference(many)].filter((step) => step === undefined).length).toBeGreaterThan(3);
  });

  it('written as a path get the id, and keep the path beside it', () => {
    const asked: unknown[] = [];
    const rewritten = rewriteReferences(properties, (path, workspace) => {
      asked.push([path, workspace]);
      return path === '/c' ? 'id-c' : undefined;
    });
    expect(asked).toEqual([
      ['/b', null],
      ['/c', 'w'],
    ]);
    expect(rewritten).toEqual({
      ...properties,
      related: [
        { 'svc:ref': '/b' },
        { nested: { 'a/b~c': { 'svc:ref': 'id-c', 'svc:workspace': 'w', 'svc:path': '/c' } } },
      ],
    });
    expect(rewritten.author).toBe(properties.author);
  });

  it('leave the properties as they are when there is nothing to resolve', () => {
    expect(rewriteReferences(properties, () => undefined)).toBe(properties);
  });

  it('keep a key named __proto__', () => {
    const given = JSON.parse('{"__proto__": {"svc:ref": "/a"}, "b": 1}') as JsonObject;
    const rewritten = rewriteReferences(given, () => 'id');
    expect(JSON.stringify(rewritten)).toBe('{"__proto__":{"svc:ref":"id","svc:path":"/a"},"b":1}');
  });
});
