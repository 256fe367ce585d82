import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NameGlob } from '#runtime/access/roles/name-glob.ts';
import { canMatchPath, PathGlob } from '#runtime/access/roles/path-glob.ts';
import { workloadCount } from '#test/support/workload-count.ts';
import { matchesName, matchesPath, specificityOf } from './plain-globs.ts';

const pathCases: readonly (readonly [pattern: string, yes: string, no: string])[] = [
  ['/blog/**', '/blog /blog/x /blog/x/y', '/blogs /blogs/x /x/blog'],
  ['/blog/*', '/blog/x', '/blog/x/y /blog'],
  ['a/**/z', '/a/z /a/b/z /a/b/c/z', '/a/bz /az /a /z /a/z/b'],
  ['/doc?', '/docs', '/doc /doc/s /docss'],
  ['/Blog/**', '/Blog/x', '/blog/x'],
  ['', '/a /a/b', ''],
  ['/', '/a /a/b', ''],
  ['**', '/a /a/b', ''],
  ['//a', '/a', '/b'],
  ['**/x', '/x /a/x /a/b/x', '/ax /x/a'],
  ['**/x/**', '/x /x/a /b/x /b/x/c', '/xa /b/xa'],
  ['00**', '/00 /001 /001/x/y', '/0 /10/00'],
  ['a/00**/z', '/a/001/z /a/00/b/z /a/00z/z', '/a/00z /a/z'],
  ['*', '/a', '/a/b'],
  ['*/b', '/a/b', '/b /a/c/b'],
  ['a*c/**', '/ac /abc /abc/d', '/ab/c'],
  ['a/**/b/**/c', '/a/b/c /a/x/b/y/c /a/b/b/c', '/a/c /a/xb/c'],
  ['a/**/**/c', '/a/c /a/b/c', '/ac'],
  ['a/**/*', '/a/b /a/b/c', '/a'],
  ['a/***', '/a /a/b', '/ab'],
  ['*.html', '/x.html /.html', '/a/x.html /x.htm'],
  ['a.b', '/a.b', '/axb'],
];

describe('PathGlob', () => {
  it.each(pathCases)('matches paths with %j', (pattern, yes, no) => {
    const glob = new PathGlob(pattern);
    for (const path of yes.split(' ')) expect([path, glob.matches(path)]).toEqual([path, true]);
    for (const path of no.split(' ').filter((text) => text !== ''))
      expect([path, glob.matches(path)]).toEqual([path, false]);
  });

  it.each([
    ['/a/b', '/a/b', false],
    ['/a/**', '/a', true],
    ['/a/*', '/a', false],
    ['/a/b*/c', '/a', false],
    ['/doc?', '/', false],
    ['**', '/', true],
    ['', '/', true],
    ['a/**/b', '/a', false],
  ])('knows of %j where what it matches begins', (pattern, top, isSubtree) => {
    expect(new PathGlob(pattern)).toMatchObject({ top, isSubtree });
  });

  it.each([
    ['', 0],
    ['**', 6],
    ['a', 105],
    ['/a/**', 111],
    ['a/*/**', 126],
    ['a/00**', 115],
    ['a/b?', 120],
    ['a/b/c', 315],
  ])('counts the points of %j', (pattern, points) => {
    expect(new PathGlob(pattern).specificity).toBe(points);
  });

  it('says which patterns can match a path', () => {
    for (const pattern of ['', '/', '//a', 'a', 'a/**', 'A b', '~']) expect(canMatchPath(pattern)).toBe(true);
    for (const pattern of ['a/', 'a//b', '**/', 'ä', 'a\n', '\u0000*'])
      expect(canMatchPath(pattern)).toBe(false);
  });

  it('matches no character outside of ASCII by a letter', () => {
    expect(new PathGlob('a?/*').matches('/aä/ö\u{1f600}')).toBe(true);
    expect(new PathGlob('a*/b').matches('/aäöü/b')).toBe(true);
    expect(new PathGlob('*a').matches('/\u0161')).toBe(false);
  });

  it('counts characters right at the ends of words of states', () => {
    for (let length = 25; length < 75; length += 1)
      for (const start of ['*', '**', '**/', '*/**/', '?*']) {
        const glob = new PathGlob(`${start}${'a'.repeat(length)}`);
        const before = { '*/**/': '/x/', '?*': '/x' }[start] ?? '/';
        expect([start, length, glob.matches(`${before}${'a'.repeat(length)}`)]).toEqual([
          start,
          length,
          true,
        ]);
        expect([start, length, glob.matches(`/${'a'.repeat(length - 1)}`)]).toEqual([start, length, false]);
        expect([start, length, glob.matches(`${before}${'a'.repeat(length)}/b`)]).toEqual([
          start,
          length,
          false,
        ]);
      }
  });

  it('matches as a matcher that tries every possibility', () => {
    const part = fc.constantFrom('a', 'b', 'ab', '*', '?', '**', 'a*', '*b', 'a**', '**b', 'a?', '?*', '*?*');
    const pattern = fc.array(part, { maxLength: 5 }).map((parts) => parts.join('/'));
    const path = fc
      .array(fc.constantFrom('a', 'b', 'aa', 'ab', 'ba', 'aab', 'a.b'), { minLength: 1, maxLength: 5 })
      .map((names) => `/${names.join('/')}`);
    fc.assert(
      fc.property(pattern, fc.boolean(), fc.array(path, { maxLength: 8 }), (text, isAbsolute, paths) => {
        const written = isAbsolute ? `/${text}` : text;
        const glob = new PathGlob(written);
        expect(glob.specificity).toBe(specificityOf(written));
        for (const each of paths) {
          expect([each, glob.matches(each)]).toEqual([each, matchesPath(written, each)]);
          if (glob.matches(each))
            expect(glob.top === '/' || each === glob.top || each.startsWith(`${glob.top}/`)).toBe(true);
        }
      }),
      { numRuns: workloadCount(3_000) },
    );
  });

  it('matches long patterns as short ones', () => {
    const part = fc.constantFrom('abcdefgh', '*', '**', 'abc*', '?bcdefgh', '**h');
    const pattern = fc.array(part, { minLength: 5, maxLength: 12 }).map((parts) => parts.join('/'));
    const paths = fc.array(
      fc
        .array(fc.constantFrom('abcdefgh', 'abc', 'xbcdefgh', 'h'), { minLength: 4, maxLength: 12 })
        .map((names) => `/${names.join('/')}`),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(pattern, paths, (text, found) => {
        const glob = new PathGlob(text);
        const fitting = `/${text.replaceAll('?', 'a').replaceAll('**', 'h').replaceAll('*', 'abc')}`;
        for (const path of [...found, fitting])
          expect([path, glob.matches(path)]).toEqual([path, matchesPath(text, path)]);
      }),
      { numRuns: workloadCount(500) },
    );
  });

  it('reads a text once, whatever the pattern', () => {
    // A matcher that tries every possibility would not end.
    const path = `/${'a'.repeat(8_000)}`;
    for (const part of ['**a', '*a', '**/*a*', '?**']) {
      const glob = new PathGlob(`${part.repeat(Math.floor(1_000 / part.length))}b`);
      for (let times = 0; times < 20; times += 1) expect(glob.matches(path)).toBe(false);
    }
  });
});

describe('NameGlob', () => {
  it.each([
    ['feature/*', 'feature/x feature/x/y feature/', 'main feature'],
    ['*', 'main a/b', ''],
    ['', 'main a/b', ''],
    ['main', 'main', 'main2 mai'],
    ['svc:*', 'svc:system', 'default'],
    ['?ain', 'main', 'ain'],
    ['a?b', 'a/b acb', 'ab'],
    ['a**b', 'ab axxb', 'a'],
    ['[main', '', '[main main'],
    ['{main,x}', '', 'main x'],
    ['a b', '', 'a'],
  ])('matches names with %j', (pattern, yes, no) => {
    const glob = new NameGlob(pattern);
    for (const name of yes.split(' ').filter((text) => text !== ''))
      expect([name, glob.matches(name)]).toEqual([name, true]);
    for (const name of no.split(' ').filter((text) => text !== ''))
      expect([name, glob.matches(name)]).toEqual([name, false]);
  });

  it('matches as a matcher that tries every possibility', () => {
    const pattern = fc
      .array(fc.constantFrom('a', 'b', '/', '*', '?', '**', '['), { maxLength: 7 })
      .map((parts) => parts.join(''));
    const name = fc
      .array(fc.constantFrom('a', 'b', '/'), { minLength: 1, maxLength: 7 })
      .map((parts) => parts.join(''));
    fc.assert(
      fc.property(pattern, name, (text, each) => {
        expect(new NameGlob(text).matches(each)).toBe(matchesName(text, each));
      }),
      { numRuns: workloadCount(3_000) },
    );
  });
});
