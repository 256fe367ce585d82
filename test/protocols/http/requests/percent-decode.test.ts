import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeSegment, decodeTail } from '#protocols/http/requests/percent-decode.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

function codeOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof ServiceError) return error.code;
    throw error;
  }
  return 'none';
}

describe('decodeSegment', () => {
  it('gives back any name that encodeURIComponent has written', () => {
    const name = fc
      .string({ unit: 'grapheme', minLength: 1 })
      .filter((text) => !/^\.\.?$|\/|\0/.test(text) && text.isWellFormed());
    fc.assert(fc.property(name, (text) => decodeSegment(encodeURIComponent(text)) === text));
  });

  it.each(['%', '%2', '%zz', 'a%', '%ff', '%c3%28', '%c0%af', '%ed%a0%80', 'a\uFFFDb'])(
    'refuses %s, which is not percent-encoded UTF-8',
    (raw) => expect(codeOf(() => decodeSegment(raw))).toBe('INVALID_PATH'),
  );

  it.each(['.', '..', '%2e', '%2E%2e', '.%2e', '%2F', 'a%2fb', '%00', 'a%00'])(
    'refuses %s, which would step out of its segment',
    (raw) => expect(codeOf(() => decodeSegment(raw))).toBe('INVALID_PATH'),
  );

  it('allows an encoded slash when the segment is a branch name', () => {
    expect(decodeSegment('feature%2Fx', { allowSlash: true })).toBe('feature/x');
    expect(codeOf(() => decodeSegment('%2e%2e', { allowSlash: true }))).toBe('INVALID_PATH');
  });
});

describe('decodeTail', () => {
  it('distinguishes no tail, a bare slash and a trailing slash', () => {
    expect(decodeTail('')).toEqual({ segments: [], hasTrailingSlash: false });
    expect(decodeTail('/')).toEqual({ segments: [], hasTrailingSlash: true });
    expect(decodeTail('/a/b%20c')).toEqual({ segments: ['a', 'b c'], hasTrailingSlash: false });
    expect(decodeTail('/a/b%20c/')).toEqual({ segments: ['a', 'b c'], hasTrailingSlash: true });
  });

  it.each(['//', '/a//b', '/a//', '//a', '/a/../b', '/a/%2e'])('refuses %s', (raw) => {
    expect(codeOf(() => decodeTail(raw))).toBe('INVALID_PATH');
  });
});
