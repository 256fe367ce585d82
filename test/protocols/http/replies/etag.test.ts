import { describe, expect, it } from 'vitest';
import { codedEtag, parseEntityTags, uncodedTag } from '#protocols/http/replies/etag.ts';

const strong = (opaque: string) => ({ opaque, isWeak: false });
const weak = (opaque: string) => ({ opaque, isWeak: true });

describe('a list of entity tags', () => {
  it.each([
    ['*', '*'],
    [' * ', '*'],
    ['"a"', [strong('a')]],
    ['W/"a"', [weak('a')]],
    ['"a", W/"b" ,"c"', [strong('a'), weak('b'), strong('c')]],
    // Empty members of a list are passed over.
    [', "a",, ,"b",', [strong('a'), strong('b')]],
    // A tag may hold what separates others, and be empty.
    ['"a,b", "*", ""', [strong('a,b'), strong('*'), strong('')]],
    ['"\u00e9"', [strong('\u00e9')]],
  ])('%j is read', (header, tags) => {
    expect(parseEntityTags(header)).toEqual(tags);
  });

  it.each([
    '',
    ' ',
    ',',
    'a',
    '"a',
    'a"',
    '"a" "b"',
    '"a", b',
    'w/"a"',
    'W/ "a"',
    '"a b"',
    '"a"x',
    '*, "a"',
    '"a", *',
    '"\u007f"',
  ])('%j is none', (header) => {
    expect(parseEntityTags(header)).toBeUndefined();
  });

  it('is read in one pass, however long it is', () => {
    const tags = parseEntityTags('"x",'.repeat(4_000));
    expect(tags).toHaveLength(4_000);
    expect(parseEntityTags(`${'"x",'.repeat(4_000)}y`)).toBeUndefined();
  });
});

describe('the tag of a compressed answer', () => {
  it('is a strong one of its own, and is known again', () => {
    expect(codedEtag('"7"', 'br')).toBe('"7.br"');
    expect(codedEtag('"7"', 'gzip')).toBe('"7.gzip"');
    expect(uncodedTag('7.br')).toBe('7');
    expect(uncodedTag('7.gzip')).toBe('7');
    expect(uncodedTag('7')).toBe('7');
  });

  it('of a weak one is that', () => {
    expect(codedEtag('W/"7"', 'br')).toBe('W/"7"');
  });
});
