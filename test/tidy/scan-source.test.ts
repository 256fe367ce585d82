import { describe, expect, it } from 'vitest';
import fc from 'fast-check';

import { scanSource } from './scan-source.ts';

const code = (source: string): string => scanSource(source).code.replace(/\s+/g, ' ').trim();

describe('scanSource', () => {
  it.each([
    ['a line comment', 'a; // Date.now()\nb;', 'a; b;'],
    ['a block comment', 'a; /* Date.now()\n */ b;', 'a; b;'],
    ['single quotes with an escape', String.raw`f('it\'s // x', b);`, 'f( , b);'],
    ['double quotes', 'f("/* x", b);', 'f( , b);'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the sample is a template
    ['a template', 'f(`a ${g("}", `in ${h} ner`)} b`, c);', 'f( g( , h ) , c);'],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the sample is a template
    ['an object inside a template', 'f(`${{ a: { b: 1 } }.a}`, c);', 'f( { a: { b: 1 } }.a , c);'],
    ['a regular expression', 'x = /["\'`/*]/g.test(y); z();', 'x = g.test(y); z();'],
    ['a slash in a class of a regular expression', 'x = /[/]"/; y();', 'x = ; y();'],
    ['a regular expression after return', 'return /"/.test(a);', 'return .test(a);'],
    ['a division', 'a = b / c / d; e("x");', 'a = b / c / d; e( );'],
    ['a division after a bracket', 'a = (b) / c["x"] / d;', 'a = (b) / c[ ] / d;'],
    ['a division after a text', "a = 'x'.length / 2; b('y') / 3;", 'a = .length / 2; b( ) / 3;'],
  ])('leaves only code around %s', (_, source, expected) => {
    expect(code(source).replace(/ +/g, ' ')).toBe(expected);
  });

  it('keeps comments and texts apart', () => {
    const scanned = scanSource("f('text'); // comment");
    expect(scanned.withTexts.trimEnd()).toBe("f('text');");
    expect(scanned.comments.trim()).toBe('// comment');
  });

  it('keeps length and lines of any source', () => {
    const piece = fc.constantFrom(
      'a',
      ' ',
      '\n',
      "'",
      '"',
      '`',
      '/',
      '*',
      '\\',
      '${',
      '{',
      '}',
      '[',
      ']',
      '//',
      '/*',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const source = pieces.join('');
        const { code, withTexts, comments } = scanSource(source);
        for (const view of [code, withTexts, comments]) {
          expect(view.length).toBe(source.length);
          expect(view.split('\n').length).toBe(source.split('\n').length);
        }
      }),
    );
  });
});
