import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LinearPattern, PATTERN_INPUT_MAX } from '#runtime/content/patterns/linear-pattern.ts';

describe('LinearPattern', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['^[a-z]+$', ['abc'], ['', 'aBc', 'abc1']],
    ['b', ['abc', 'b'], ['', 'ac']],
    ['', ['', 'x'], []],
    ['^$', [''], ['x']],
    ['^\\d{4}-\\d{2}$', ['2024-01'], ['24-01', '2024-011']],
    ['^(?:ab|cd){2,3}$', ['abcd', 'ababcd'], ['ab', 'abababab']],
    ['^(a?){3}$', ['', 'aaa'], ['aaaa']],
    ['^.+@.+\\..+$', ['a@b.c'], ['a@b', '@b.c']],
    ['^\\p{L}+$', ['Größe', '日本'], ['a1']],
    ['^.$', ['😀', 'x'], ['ab', '\n', '']],
    ['^[^\\]x-z]$', ['a', '😀'], [']', 'y']],
    ['a|^b|c$', ['xax', 'bx', 'xc'], ['xb', 'cx']],
    ['^(?<year>\\d+)?$', ['', '12'], ['x']],
    ['^\\u0041\\x42\\u{43}$', ['ABC'], ['abc']],
    ['^[\\uD83D\\uDE00]$', ['😀'], ['\uD83D']],
    ['(){1000000000}$', [''], []],
  ])('%s', (pattern, matching, others) => {
    const compiled = new LinearPattern(pattern);
    for (const text of matching) expect(compiled.test(text), text).toBe(true);
    for (const text of others) expect(compiled.test(text), text).toBe(false);
  });

  it.each([
    ['(', /not a regular expression/],
    ['[z-a]', /not a regular expression/],
    ['(?=a)', /not supported/],
    ['(?<!a)b', /not supported/],
    ['(a)\\1', /not supported/],
    ['\\bword', /not supported/],
    ['(a{100}){100}', /larger than/],
    ['a'.repeat(1_001), /longer than/],
    [`${'('.repeat(60)}a${')'.repeat(60)}`, /nests more/],
  ])('refuses %.20s when it is compiled', (pattern, message) => {
    expect(() => new LinearPattern(pattern)).toThrowError(
      expect.objectContaining({ code: 'VALIDATION_FAILED', message: expect.stringMatching(message) }),
    );
  });

  it('takes no exponential time where a backtracking engine would', () => {
    for (const pattern of ['^(a+)+$', '^(a|a)*$', '^(a*)*b$', '^(.*,)*x$']) {
      const compiled = new LinearPattern(pattern);
      expect(compiled.test(`${'a,'.repeat(2_000)}!`)).toBe(false);
    }
    expect(new LinearPattern('^(a+)+$').test('a'.repeat(PATTERN_INPUT_MAX))).toBe(true);
    // The automaton of this one is exponential: bounded work ends it.
    const wide = new LinearPattern('^(a|b)*a(a|b){200}c$');
    const text = Array.from(
      { length: PATTERN_INPUT_MAX },
      (_, index) => 'ab'[((index * index * 7) % 5) & 1],
    ).join('');
    expect(wide.test(text)).toBe(false);
  });

  it('does not match text over its bound', () => {
    expect(new LinearPattern('a').test('a'.repeat(PATTERN_INPUT_MAX + 1))).toBe(false);
  });

  const atom = fc.constantFrom('a', 'b', 'c', '.', '[ab]', '[^a]', '\\d', '\\w', 'é', '\\.');
  const { pattern } = fc.letrec<{ pattern: string }>((tie) => ({
    pattern: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      atom,
      fc.tuple(tie('pattern'), tie('pattern')).map(([left, right]) => left + right),
      fc.tuple(tie('pattern'), tie('pattern')).map(([left, right]) => `(?:${left}|${right})`),
      fc
        .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{1,}', '{0,2}', '*?'))
        .map(([item, count]) => `(${item})${count}`),
      fc.tuple(tie('pattern')).map(([item]) => `(?:^${item}$)`),
    ),
  }));

  it('agrees with RegExp on every pattern both take', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', 'c', '1', 'é', '.', '\n', '😀', '\uD800'),
      maxLength: 8,
    });
    fc.assert(
      fc.property(pattern, fc.array(text, { minLength: 1, maxLength: 6 }), (source, texts) => {
        const compiled = new LinearPattern(source);
        const native = new RegExp(source, 'u');
        for (const sample of texts)
          expect(compiled.test(sample), `${source} on ${sample}`).toBe(native.test(sample));
      }),
      { numRuns: 400 },
    );
  });
});

describe('the work of patterns', () => {
  const hard = '^(a|b)*a(a|b){300}$';
  /** A text in which every place has another set of states. */
  const mixed = (length: number): string =>
    Array.from({ length }, (_, index) => ((Math.imul(index, 0x9e3779b1) >>> 15) & 1 ? 'a' : 'b')).join('');

  it('is metered before it is done, and ends with the error of the meter', () => {
    let spent = 0;
    const meter = {
      spend(work: number): void {
        spent += work;
        if (spent > 5_000_000) throw new Error('enough');
      },
    };
    expect(() => new LinearPattern(hard).test(mixed(PATTERN_INPUT_MAX), meter)).toThrow('enough');
    expect(spent).toBeLessThan(5_200_000);
  });

  it('is small for an ordinary pattern, after any earlier texts', () => {
    let spent = 0;
    const meter = {
      spend(work: number): void {
        spent += work;
      },
    };
    const email = new LinearPattern('^[^@ ]+@[^@ ]+\\.[a-z]{2,10}$');
    for (let index = 0; index < 1_000; index += 1) email.test(`name.${index}@example.com`, meter);
    expect(spent).toBeLessThan(1_500_000);
  });

  it('keeps its answers when what it remembers is forgotten on the way', () => {
    const pattern = new LinearPattern('^(a|b)*a(a|b){12}$');
    const native = /^(a|b)*a(a|b){12}$/u;
    for (let start = 0; start < 300; start += 1) {
      const text = mixed(400 + start).slice(start);
      expect(pattern.test(text)).toBe(native.test(text));
    }
  });

  it('does not pass unicode classes by for what is remembered of ASCII', () => {
    const letters = new LinearPattern('^\\p{Lu}+$');
    for (let round = 0; round < 2; round += 1) {
      expect([letters.test('AZÄ'), letters.test('Aa'), letters.test('Ä'), letters.test('ä')]).toEqual([
        true,
        false,
        true,
        false,
      ]);
    }
  });
});
