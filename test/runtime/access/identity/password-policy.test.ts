import { describe, expect, it } from 'vitest';
import {
  defaultPasswordPolicy,
  isPasswordTooOld,
  type PasswordPolicy,
  requirePolicyPassword,
  unmetPasswordRules,
} from '#runtime/access/identity/password-policy.ts';

const strict: PasswordPolicy = {
  min_length: 12,
  require_uppercase: true,
  require_lowercase: true,
  require_numbers: true,
  require_special: true,
  max_age_days: 90,
};

const every = ['an uppercase letter', 'a lowercase letter', 'a digit', 'a special character'];

describe('a password policy', () => {
  it('asks for eight characters and nothing else unless it says more', () => {
    expect(unmetPasswordRules('a'.repeat(8), defaultPasswordPolicy)).toEqual([]);
    expect(unmetPasswordRules('a'.repeat(7), defaultPasswordPolicy)).toEqual(['at least 8 characters']);
    expect(unmetPasswordRules('', defaultPasswordPolicy)).toEqual(['at least 8 characters']);
    expect(unmetPasswordRules('a'.repeat(129), defaultPasswordPolicy)).toEqual(['at most 128 characters']);
  });

  it.each([
    ['', ['at least 12 characters', ...every]],
    ['Ab1!Ab1!Ab1!', []],
    ['Ab1!Ab1!Ab1', ['at least 12 characters']],
    ['ab1!ab1!ab1!', ['an uppercase letter']],
    ['AB1!AB1!AB1!', ['a lowercase letter']],
    ['Abc!Abc!Abc!', ['a digit']],
    ['Ab12Ab12Ab12', ['a special character']],
    ['            ', ['an uppercase letter', 'a lowercase letter', 'a digit']],
    ['Ünï kode-٣٣ ', []],
    [
      'x'.repeat(200_000),
      ['at most 128 characters', 'an uppercase letter', 'a digit', 'a special character'],
    ],
  ])('names every rule that %j does not meet', (password, unmet) => {
    expect(unmetPasswordRules(password, strict)).toEqual(unmet);
  });

  it('counts characters, not units', () => {
    expect(unmetPasswordRules('\u{1f600}'.repeat(7), defaultPasswordPolicy)).toEqual([
      'at least 8 characters',
    ]);
    expect(unmetPasswordRules('\u{1f600}'.repeat(128), defaultPasswordPolicy)).toEqual([]);
    expect(unmetPasswordRules('\u{1f600}'.repeat(129), defaultPasswordPolicy)).toEqual([
      'at most 128 characters',
    ]);
  });

  it('is told of in the error, without the password', () => {
    expect(requirePolicyPassword('long enough', defaultPasswordPolicy, 'password')).toBe('long enough');
    let error: unknown;
    try {
      requirePolicyPassword('secret', strict, 'new_password');
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({
      code: 'WEAK_PASSWORD',
      field: 'new_password',
      message:
        'The password must have at least 12 characters, an uppercase letter, a digit, a special character',
      details: { unmet: ['at least 12 characters', 'an uppercase letter', 'a digit', 'a special character'] },
    });
    expect(JSON.stringify(error)).not.toContain('secret');
  });

  it('may ask for another password after some days', () => {
    const DAY = 24 * 60 * 60 * 1000;
    expect(isPasswordTooOld(0, strict, 90 * DAY - 1)).toBe(false);
    expect(isPasswordTooOld(0, strict, 90 * DAY)).toBe(true);
    expect(isPasswordTooOld(0, defaultPasswordPolicy, Number.MAX_SAFE_INTEGER)).toBe(false);
  });
});
