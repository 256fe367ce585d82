import { describe, expect, it } from 'vitest';
import { childOf, descendantOf, references } from '#runtime/sql-values/functions/hierarchy-functions.ts';
import { resolveFunction } from '#runtime/sql-values/functions/function-catalog.ts';
import { Jsonb, type SqlValue } from '#runtime/sql-values/sql-value.ts';
import { pathType, textType } from '#runtime/sql-values/types/basic-types.ts';
import { call } from './call.ts';

describe('functions on paths', () => {
  it.each<[string, SqlValue[], SqlValue]>([
    ['DEPTH', ['/'], 0],
    ['DEPTH', ['/a/b'], 2],
    ['PARENT', ['/a/b'], '/a'],
    ['PARENT', ['/a'], '/'],
    ['PARENT', ['/'], null],
    ['PARENT', ['/a/b/c', 2], '/a'],
    ['PARENT', ['/a/b', 2], '/'],
    ['PARENT', ['/a/b', 3], null],
    ['PARENT', ['/a/b', 0], '/a/b'],
    ['ANCESTOR', ['/a/b/c', 1], '/a'],
    ['ANCESTOR', ['/a/b/c', 3], '/a/b/c'],
    ['ANCESTOR', ['/a/b/c', 0], '/'],
    ['ANCESTOR', ['/a', 2], null],
    ['ANCESTOR', ['/a', -1], null],
    ['PATH_STARTS_WITH', ['/a/b', '/a'], true],
    ['PATH_STARTS_WITH', ['/ab', '/a'], false],
    ['PATH_STARTS_WITH', ['/a', '/a'], true],
    ['PATH_STARTS_WITH', ['/a', '/a/'], false],
    ['PATH_STARTS_WITH', ['/a/b', '/a/'], true],
    ['PATH_STARTS_WITH', ['/a', '/'], true],
    ['PATH_STARTS_WITH', ['/b', '/a'], false],
    ['DEPTH', [null], null],
  ])('%s(%j) is %j', (name, args, result) => {
    expect(call(name, ...args)).toBe(result);
  });

  it('refuses a negative number of levels', () => {
    expect(() => call('PARENT', '/a', -1)).toThrow('PARENT: the number of levels is negative');
  });
});

describe('predicates', () => {
  it.each([
    ['/a/b', '/a', true],
    ['/a', '/', true],
    ['/', '/', false],
    ['/a/b/c', '/a', false],
    ['/ab/c', '/a', false],
  ])('CHILD_OF: %s below %s is %s', (path, parent, result) => {
    expect(childOf.evaluate(path, parent)).toBe(result);
  });

  it.each([
    ['/a/b/c', '/a', null, true],
    ['/a/b/c', '/a', 1, false],
    ['/a/b/c', '/a', 2, true],
    ['/a/b', '/', 1, false],
    ['/a', '/', 1, true],
    ['/a', '/a', null, false],
    ['/ab', '/a', null, false],
    [null, '/a', null, null],
    ['/a', null, null, null],
  ])('DESCENDANT_OF: %s below %s within %s is %s', (path, ancestor, levels, result) => {
    expect(descendantOf.evaluate(path, ancestor, levels)).toBe(result);
  });

  it('has forms with the path as first argument', () => {
    expect(resolveFunction('child_of', [pathType, textType]).parameters).toEqual([pathType, pathType]);
    expect(resolveFunction('DESCENDANT_OF', [pathType, pathType]).evaluate('/a/b', '/a')).toBe(true);
  });

  it('never evaluates REFERENCES', () => {
    expect(() => references.evaluate(new Jsonb({}), 'w:/a')).toThrow('REFERENCES is allowed only in');
  });
});
