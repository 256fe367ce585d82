import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isDescendantPath,
  joinPath,
  NAME_BYTES_MAX,
  PATH_BYTES_MAX,
  parentName,
  parentPath,
  parsePath,
  pathDepth,
  pathName,
  pathSegments,
  rebasePath,
  RAW_NAME_LENGTH_MAX,
  sanitizeName,
} from '#runtime/content/path.ts';

const cleanName = fc
  .stringMatching(/^[a-z0-9_.]{1,12}(-[a-z0-9_.]{1,5})?$/)
  .filter((name) => name !== '.' && name !== '..');
const cleanPath = fc.array(cleanName, { minLength: 1, maxLength: 6 }).map((names) => `/${names.join('/')}`);

describe('sanitizeName', () => {
  it.each([
    ['My Page!!  With Spaces', 'my-page-with-spaces'],
    [' Hello World ', 'hello-world'],
    ['about', 'about'],
    ['README.md', 'readme.md'],
    ['a - b', 'a-b'],
    ['--x--', 'x'],
    ['Crème Brûlée', 'crme-brle'],
    ['a_b.c', 'a_b.c'],
    ['100 % sure?', '100-sure'],
    ['\u212Aelvin', 'elvin'],
  ])('turns %j into %j', (raw, clean) => {
    expect(sanitizeName(raw)).toBe(clean);
  });

  it.each(['', '   ', '.', '..', ' .. ', 'a/b', 'a\u0000b', 'a\tb', '日本', '---', 'é.'])(
    'refuses %j',
    (raw) => {
      expect(() => sanitizeName(raw)).toThrowError(expect.objectContaining({ code: 'VALIDATION_FAILED' }));
    },
  );

  it('refuses a name over 255 bytes', () => {
    expect(sanitizeName('x'.repeat(255))).toHaveLength(255);
    expect(() => sanitizeName('x'.repeat(256))).toThrowError(/longer than 255 bytes/);
  });

  it('takes a long title that is short when sanitised, and nothing that no person writes', () => {
    expect(sanitizeName(`${'é  '.repeat(1_000)}x`)).toBe('x');
    const longest = `${' '.repeat(RAW_NAME_LENGTH_MAX - 1)}x`;
    expect(sanitizeName(longest)).toBe('x');
    expect(() => sanitizeName(` ${longest}`)).toThrowError(/longer than 255 bytes/);
  });

  it('gives a name that stays as it is when sanitised again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (raw) => {
        let name: string;
        try {
          name = sanitizeName(raw);
        } catch {
          return;
        }
        expect(sanitizeName(name)).toBe(name);
        expect(name).toMatch(/^[a-z0-9_.-]+$/);
        expect(name.length).toBeLessThanOrEqual(NAME_BYTES_MAX);
      }),
    );
  });
});

describe('paths', () => {
  it('knows the root', () => {
    expect(pathSegments('/')).toEqual([]);
    expect(pathDepth('/')).toBe(0);
    expect(parentPath('/')).toBe('/');
    expect(pathName('/')).toBe('');
    expect(isDescendantPath('/', '/')).toBe(false);
    expect(isDescendantPath('/a', '/')).toBe(true);
  });

  it('names the parent, / at the root level', () => {
    expect(parentName('/about')).toBe('/');
    expect(parentName('/company/team')).toBe('company');
    expect(parentName('/a/b/c')).toBe('b');
  });

  it('does not take a longer sibling name for a descendant', () => {
    expect(isDescendantPath('/users/bob-2', '/users/bob')).toBe(false);
    expect(isDescendantPath('/users/bob/inbox', '/users/bob')).toBe(true);
  });

  it('joins, splits and rebases consistently', () => {
    fc.assert(
      fc.property(cleanPath, cleanName, cleanPath, (parent, name, target) => {
        const path = joinPath(parent, name);
        expect(parentPath(path)).toBe(parent);
        expect(pathName(path)).toBe(name);
        expect(parentName(path)).toBe(pathName(parent));
        expect(pathDepth(path)).toBe(pathSegments(path).length);
        expect(pathDepth(path)).toBe(pathDepth(parent) + 1);
        expect(isDescendantPath(path, parent)).toBe(true);
        expect(isDescendantPath(parent, path)).toBe(false);
        expect(rebasePath(rebasePath(path, parent, target), target, parent)).toBe(path);
        expect(parsePath(path)).toBe(path);
      }),
    );
  });

  it('rebases to and from the root', () => {
    expect(rebasePath('/a/b', '/a', '/')).toBe('/b');
    expect(rebasePath('/b', '/', '/x')).toBe('/x/b');
  });

  it('reads paths of bodies leniently at the ends only', () => {
    expect(parsePath('a/b/')).toBe('/a/b');
    expect(parsePath('')).toBe('/');
    for (const bad of ['/a//b', '/a/./b', '/..', 'a\u0000', '///']) {
      expect(() => parsePath(bad, 'targetPath')).toThrowError(
        expect.objectContaining({ code: 'VALIDATION_FAILED', field: 'targetPath' }),
      );
    }
  });

  it('refuses paths over the bound, counted in bytes', () => {
    const wide = `/${'é'.repeat(PATH_BYTES_MAX / 2)}`;
    expect(wide.length).toBeLessThan(PATH_BYTES_MAX);
    expect(() => parsePath(wide)).toThrowError(/longer than 8192 bytes/);
    expect(parsePath(`/${'x'.repeat(PATH_BYTES_MAX - 1)}`)).toHaveLength(PATH_BYTES_MAX);
    expect(() => joinPath(`/${'x'.repeat(PATH_BYTES_MAX - 2)}`, 'ab')).toThrowError(/longer than/);
  });
});
