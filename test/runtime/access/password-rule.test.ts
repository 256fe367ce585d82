import { describe, expect, it } from 'vitest';
import { requireAdminPassword } from '#runtime/access/password-rule.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

function refusal(password: string): ServiceError {
  try {
    requireAdminPassword(password, 'new_password');
  } catch (error) {
    if (error instanceof ServiceError) return error;
  }
  throw new Error('was not refused');
}

describe('the rule for administrators', () => {
  it('takes 12 characters of four kinds', () => {
    expect(requireAdminPassword('Twelve-chrs1', 'new_password')).toBe('Twelve-chrs1');
    expect(requireAdminPassword('Ünïcödé-wörd-1', 'new_password')).toBe('Ünïcödé-wörd-1');
  });

  it('names what is missing and the field, and never the password', () => {
    for (const [password, unmet] of [
      ['Eleven-chr1', '12 characters'],
      ['no-capitals-1', 'upper-case'],
      ['NO-SMALL-ONES-1', 'lower-case'],
      ['No-Digits-Here', 'digit'],
      ['NoOthersHere123', 'neither letter nor digit'],
      [`A-1${'a'.repeat(300)}`, '256'],
    ] as const) {
      const error = refusal(password);
      expect([error.code, error.field]).toEqual(['VALIDATION_FAILED', 'new_password']);
      expect(error.message).toContain(unmet);
      expect(error.message).not.toContain(password);
    }
  });
});
