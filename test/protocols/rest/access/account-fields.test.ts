import { expect, it } from 'vitest';
import { requireUsername } from '#protocols/rest/access/account-fields.ts';

it('a new account has a name that no other author has', () => {
  for (const name of ['system', 'anonymous', 'System', 'ANONYMOUS', '', 'a b', 'a:impersonating:b'])
    expect(() => requireUsername(name, 'username'), name).toThrow(
      expect.objectContaining({ code: 'VALIDATION_FAILED', field: 'username' }),
    );
  for (const name of ['admin', 'systems', 'ann@example.org'])
    expect(requireUsername(name, 'username')).toBe(name);
});
