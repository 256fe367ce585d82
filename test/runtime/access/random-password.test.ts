import { describe, expect, it } from 'vitest';
import { randomPassword } from '#runtime/access/random-password.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { checkAdminPassword } from '#runtime/config/text-checks.ts';

describe('a random password', () => {
  it('has 16 characters, meets the rule for administrators, and uses every character', () => {
    const passwords = Array.from({ length: 500 }, () => randomPassword(systemRandom));
    for (const password of passwords) {
      expect(password).toMatch(/^[A-Za-z0-9!@#$%^&*]{16}$/);
      expect(checkAdminPassword(password)).toBe(password);
    }
    expect(new Set(passwords).size).toBe(passwords.length);
    expect(new Set(passwords.join('')).size).toBe(70);
  });
});
