import { describe, expect, it } from 'vitest';
import { allFields, FieldFilter, noFields } from '#runtime/access/field-filter.ts';
import {
  authorizeBelow,
  authorizeFields,
  authorizeRelation,
  emptyScope,
  type Operation,
  type Policy,
  policyFor,
  type Subject,
  wholeScope,
} from '#runtime/access/policy.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { policyThat } from '#test/support/policy-that.ts';

const at = (path: string): Subject => ({ workspace: 'content', path, nodeType: 'test:Node' });

/** A policy that permits operations on paths, `read /a`. */
function policyWith(...grants: string[]): Policy {
  return policyThat((operation, { path }) => grants.includes(`${operation} ${path}`));
}

/** The error of a check; undefined when it passes. */
function refusal(check: () => void): { code: string; message: string } | undefined {
  try {
    check();
  } catch (error) {
    if (error instanceof ServiceError) return { code: error.code, message: error.message };
    throw error;
  }
  return undefined;
}

describe('FieldFilter', () => {
  it.each<[FieldFilter, boolean, readonly boolean[]]>([
    [allFields, true, [true, true]],
    [noFields, false, [false, false]],
    [new FieldFilter('only', ['a']), false, [true, false]],
    [new FieldFilter('except', ['a']), false, [false, true]],
    [new FieldFilter('except'), true, [true, true]],
  ])('has the names that it says: %j', (filter, isAll, has) => {
    expect(filter.isAll).toBe(isAll);
    expect(['a', 'constructor'].map((name) => filter.has(name))).toEqual(has);
  });

  it('is within another one that has all of its names', () => {
    const [a, ab] = [new FieldFilter('only', ['a']), new FieldFilter('only', ['a', 'b'])];
    const [notA, notAb] = [new FieldFilter('except', ['a']), new FieldFilter('except', ['a', 'b'])];
    const filters = { allFields, noFields, a, ab, notA, notAb };
    const within = Object.entries(filters).map(([name, filter]) => [
      name,
      Object.entries(filters)
        .filter(([, other]) => filter.isWithin(other))
        .map(([other]) => other),
    ]);
    expect(Object.fromEntries(within)).toEqual({
      allFields: ['allFields'],
      noFields: ['allFields', 'noFields', 'a', 'ab', 'notA', 'notAb'],
      a: ['allFields', 'a', 'ab'],
      ab: ['allFields', 'ab'],
      notA: ['allFields', 'notA'],
      notAb: ['allFields', 'notA', 'notAb'],
    });
  });
});

describe('policyFor', () => {
  it('answers every question alike', () => {
    const admin = policyFor({ kind: 'system', tenant: 't' }, 't');
    expect(admin.readScope('w')).toBe(wholeScope);
    expect(admin.fields('read', at('/a'))).toBe(allFields);
    const nobody = policyFor({ kind: 'anonymous', tenant: 't' }, 't');
    expect(nobody.readScope('w')).toBe(emptyScope);
    expect(nobody.fields('read', at('/a'))).toBe(noFields);
    for (const policy of [admin, nobody])
      expect(policy.needs('read', 'w')).toEqual({ columns: false, properties: false, relations: false });
  });
});

describe('authorizeBelow', () => {
  it.each([
    ['a node that may be read but not deleted', ['read /top/a']],
    ['a node that may not be read', ['delete /top/a']],
    ['a node that may be neither', []],
  ])('refuses %s, and tells neither its path nor which it is', (_, grants) => {
    const policy = policyWith(...grants);
    expect(refusal(() => authorizeBelow(policy, 'delete', at('/top/a'), '/top'))).toEqual({
      code: 'PERMISSION_DENIED',
      message: 'Permission denied: cannot delete every node below /top',
    });
  });

  it('accepts a node that may be read and deleted', () => {
    const policy = policyWith('read /top/a', 'delete /top/a');
    expect(refusal(() => authorizeBelow(policy, 'delete', at('/top/a'), '/top'))).toBeUndefined();
    const admin = policyFor({ kind: 'system', tenant: 't' }, 't');
    expect(refusal(() => authorizeBelow(admin, 'delete', at('/top/a'), '/top'))).toBeUndefined();
  });
});

describe('authorizeFields', () => {
  const only = new FieldFilter('only', ['title', 'body']);
  const except = new FieldFilter('except', ['body']);
  const policy = (fields: Partial<Record<Operation, FieldFilter>>): Policy => ({
    ...policyThat(() => true),
    fields: (operation) => fields[operation] ?? allFields,
  });

  it('refuses a property that the operation may not set', () => {
    const check = (...changed: string[]) =>
      refusal(() => authorizeFields(policy({ update: only }), 'update', at('/a'), changed));
    expect(check()).toBeUndefined();
    expect(check('title', 'body')).toBeUndefined();
    expect(check('title', 'secret')).toEqual({
      code: 'PERMISSION_DENIED',
      message: "Permission denied: cannot update property 'secret' of node /a",
    });
    expect(check('constructor')?.code).toBe('PERMISSION_DENIED');
  });

  it('refuses a property of a stored node that may not be read', () => {
    const hidden = policy({ update: only, translate: only, read: except });
    const check = (operation: 'create' | 'update' | 'translate', name: string) =>
      refusal(() => authorizeFields(hidden, operation, at('/a'), [name]))?.code;
    expect(check('update', 'body')).toBe('PERMISSION_DENIED');
    expect(check('translate', 'body')).toBe('PERMISSION_DENIED');
    expect(check('create', 'body')).toBeUndefined();
    expect(check('update', 'title')).toBeUndefined();
  });

  it('refuses nothing to whom everything is permitted', () => {
    const admin = policyFor({ kind: 'system', tenant: 't' }, 't');
    expect(refusal(() => authorizeFields(admin, 'update', at('/a'), ['secret']))).toBeUndefined();
  });
});

describe('authorizeRelation', () => {
  const check = (operation: 'relate' | 'unrelate', ...grants: string[]) =>
    refusal(() => authorizeRelation(policyWith(...grants), operation, [at('/a')], [at('/b')]))?.code;

  it('relates a node that may be related to one that may be read', () => {
    expect(check('relate', 'read /a', 'relate /a', 'read /b')).toBeUndefined();
    expect(check('relate', 'read /a', 'relate /a')).toBe('NODE_NOT_FOUND');
    expect(check('relate', 'read /a', 'read /b')).toBe('PERMISSION_DENIED');
    expect(check('relate', 'relate /a', 'read /b')).toBe('NODE_NOT_FOUND');
    expect(check('relate', 'read /a', 'read /b', 'relate /b')).toBe('PERMISSION_DENIED');
  });

  it('removes relations of a node, whatever the target is', () => {
    expect(check('unrelate', 'read /a', 'unrelate /a')).toBeUndefined();
    expect(check('unrelate', 'read /a', 'relate /a', 'read /b')).toBe('PERMISSION_DENIED');
  });

  it('names missing nodes as the caller did', () => {
    const policy = policyWith('read /a', 'relate /a');
    const named = refusal(() =>
      authorizeRelation(policy, 'relate', [at('/a')], [at('/b'), { id: 'its-id' }]),
    );
    expect(named?.message).toContain('its-id');
    expect(named?.message).not.toContain('/b');
  });
});
