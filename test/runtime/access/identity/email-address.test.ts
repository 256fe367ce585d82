import { describe, expect, it } from 'vitest';
import {
  domainOf,
  EMAIL_CHARACTERS_MAX,
  emailKeyOf,
  localPartOf,
  parseEmail,
} from '#runtime/access/identity/email-address.ts';

describe('an e-mail address', () => {
  it.each([
    ['Ann@Example.org', 'Ann@Example.org', 'ann@example.org'],
    ['  ann@example.org\n', 'ann@example.org', 'ann@example.org'],
    ["o'neil+tag@example.org", "o'neil+tag@example.org", "o'neil+tag@example.org"],
    ['U\u0308n@example.org', 'U\u0308n@example.org', 'ün@example.org'],
    ['ÜN@example.org', 'ÜN@example.org', 'ün@example.org'],
    // The Kelvin sign. Mail goes to the address that was registered, so nobody gets the mail of another person.
    ['\u212aim@example.org', '\u212aim@example.org', 'kim@example.org'],
    ['a@b', 'a@b', 'a@b'],
  ])('%j is kept as it is written, and is one with every other spelling', (text, address, key) => {
    expect(parseEmail(text)).toEqual({ address, key });
  });

  it.each([
    '',
    ' ',
    'ann',
    '@',
    '@example.org',
    'ann@',
    'a@b@c',
    'a b@c',
    'a@b c',
    'a\u0000@b',
    'a\u200b@b',
    'a\ud800@b',
    'a\u0378@b',
    '<ann@example.org>',
    'a@b,c@d',
    'a@b;c',
    'a:b@c',
    'a\\@b',
    '"a"@b',
    'a@[127.0.0.1]',
    `${'a'.repeat(EMAIL_CHARACTERS_MAX)}@b`,
    'a'.repeat(1_000_000),
  ])('is not %j', (text) => {
    expect(() => parseEmail(text)).toThrow(
      expect.objectContaining({ code: 'INVALID_EMAIL', field: 'email' }),
    );
    expect(emailKeyOf(text)).toBeUndefined();
  });

  it('may have as many characters as mail servers take', () => {
    const text = `${'a'.repeat(EMAIL_CHARACTERS_MAX - 2)}@b`;
    expect(emailKeyOf(text)).toBe(text);
  });

  it('has a part before and a part after the at-sign', () => {
    expect(localPartOf('Ann@Example.org')).toBe('Ann');
    expect(domainOf('Ann@Example.org')).toBe('example.org');
  });
});
