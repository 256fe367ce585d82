import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LikePattern } from '#runtime/sql-values/operators/like-pattern.ts';
import { foldCase } from '#runtime/sql-values/operators/case-folding.ts';
import { resolveOperator } from '#runtime/sql-values/operators/resolve-operator.ts';
import { pathType, textType, unknownType, uuidType } from '#runtime/sql-values/types/basic-types.ts';

function like(text: string, pattern: string): boolean {
  return new LikePattern(pattern, false).matches(text);
}
function ilike(text: string, pattern: string): boolean {
  return new LikePattern(pattern, true).matches(text);
}

/** By the definition, in exponential time. */
function likeByDefinition(text: readonly string[], pattern: readonly string[]): boolean {
  const [first, ...rest] = pattern;
  if (first === undefined) return text.length === 0;
  if (first === '%') {
    for (let index = 0; index <= text.length; index += 1) {
      if (likeByDefinition(text.slice(index), rest)) return true;
    }
    return false;
  }
  return text.length > 0 && (first === '_' || first === text[0]) && likeByDefinition(text.slice(1), rest);
}

describe('LIKE', () => {
  it.each([
    ['Basil', 'B%', true],
    ['Basil', 'b%', false],
    ['Basil', 'Basil', true],
    ['Basil', 'Basi', false],
    ['Basil', '%', true],
    ['', '%', true],
    ['', '', true],
    ['', '_', false],
    ['Basil', '%%', true],
    ['Basil', 'B%l', true],
    ['aba', 'ab%ba', false],
    ['abba', 'ab%ba', true],
    ['abcabc', '%bc', true],
    ['abcabd', '%bc', false],
    ['abcabc', 'a%bc', true],
    ['axbyc', '%x%y%', true],
    ['aybxc', '%x%y%', false],
    ['aab', '%ab_', false],
    ['aabaab', '%a_b%', true],
    ['Grün', 'Gr_n', true],
    ['a\u{1f600}b', 'a_b', true],
    ['a\u{1f600}b', 'a__b', false],
    ['50\\%', '50\\%', true],
    ['50%', '50\\%', false],
    ['line\nline', 'l%e', true],
    ['a.c', 'a.c', true],
    ['abc', 'a.c', false],
  ])('%s LIKE %s is %s', (text, pattern, expected) => {
    expect(like(text, pattern)).toBe(expected);
  });

  it('agrees with its definition', () => {
    const character = fc.constantFrom('a', 'b', '\u{1f600}');
    const texts = fc.array(character, { maxLength: 8 });
    const patterns = fc.array(fc.oneof(character, fc.constantFrom('%', '_')), { maxLength: 7 });
    fc.assert(
      fc.property(texts, patterns, (text, pattern) => {
        expect(like(text.join(''), pattern.join(''))).toBe(likeByDefinition(text, pattern));
      }),
      { numRuns: 1_000 },
    );
  });

  it('finds long parts with _ across the words of its state', () => {
    const part = `${'a'.repeat(40)}_${'b'.repeat(60)}`;
    const text = `${'a'.repeat(100)}xx${'a'.repeat(40)}y${'b'.repeat(60)}c`;
    expect(like(text, `%${part}%`)).toBe(true);
    expect(like(text, `%${part}c`)).toBe(true);
    expect(like(text.replace('y', ''), `%${part}d%`)).toBe(false);
  });

  it('takes linear time for hostile patterns', () => {
    const text = 'a'.repeat(200_000);
    // Of the processor, which other processes do not lengthen: a search that begins anew at each place takes a minute.
    const before = process.cpuUsage();
    expect(like(text, `${'%a'.repeat(50_000)}%b`)).toBe(false);
    expect(like(text, `%b${'a'.repeat(50_000)}%`)).toBe(false);
    expect(like(text, `%${'a'.repeat(50_000)}b%`)).toBe(false);
    expect(like(text, `%${'a_'.repeat(50)}b%`)).toBe(false);
    const { system, user } = process.cpuUsage(before);
    expect(user + system).toBeLessThan(10_000_000);
  });

  it('refuses a part with _ that is too long, and no other', () => {
    expect(() => new LikePattern(`%${'a'.repeat(5_000)}_%`, false)).toThrow('between two %');
    expect(like('a'.repeat(10_000), `%${'a'.repeat(5_000)}%`)).toBe(true);
  });

  it('estimates more work for longer patterns with _', () => {
    const short = LikePattern.workOf('%a_%', 1_000_000, false);
    const long = LikePattern.workOf(`%${'a_'.repeat(1_000)}%`, 1_000_000, false);
    expect(long).toBeGreaterThan(10 * short);
    expect(new LikePattern('%a_%', false).work(1_000_000)).toBeLessThanOrEqual(short);
  });
});

describe('ILIKE', () => {
  it.each([
    ['Basil', 'b_SIL', true],
    ['GRÜN', 'grü%', true],
    ['ΣΑΣ', 'σας', false],
    ['ΣΑΣ', 'σασ', true],
    ['İx', '_x', true],
    ['İİ', 'ii', true],
    ['İ', '__', false],
    ['\ud800Σİ', '\ud800σi', true],
    ['ß', 'SS', false],
  ])('%s ILIKE %s is %s', (text, pattern, expected) => {
    expect(ilike(text, pattern)).toBe(expected);
  });
});

it('ILIKE folds each character by itself, and announces what that takes', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', 'A', 'Σ', 'ς', 'İ', 'ß', 'É', '𐐀', '\ud800', ' ') }),
      (text) => {
        const one = (character: string): string => {
          const lower = character.toLowerCase();
          return lower.length > character.length ? lower.slice(0, 1) : lower;
        };
        expect(foldCase(text)).toBe([...text].map(one).join(''));
      },
    ),
  );
  expect(new LikePattern('%x%', true).work(1_000_000)).toBeGreaterThanOrEqual(30_000_000);
});

describe('LIKE as an operator', () => {
  it('takes texts and paths only', () => {
    expect(resolveOperator('LIKE', [pathType, unknownType]).parameters).toEqual([pathType, textType]);
    for (const name of ['int', 'jsonb', 'timestamptz', 'boolean'] as const) {
      expect(() => resolveOperator('LIKE', [{ name }, textType])).toThrow(
        `Type mismatch: expected TEXT, got ${name.toUpperCase()}`,
      );
    }
    expect(() => resolveOperator('ILIKE', [uuidType, textType])).toThrow('Type mismatch');
  });

  it('changes its pattern from row to row', () => {
    const { evaluate, work } = resolveOperator('LIKE', [textType, textType]);
    expect(evaluate('ab', 'a%')).toBe(true);
    expect(evaluate('ab', 'b%')).toBe(false);
    expect(evaluate('ab', 'a%')).toBe(true);
    expect(work?.(['ab', 'a%'])).toBeLessThan(work!(['ab', 'b%']));
  });
});
