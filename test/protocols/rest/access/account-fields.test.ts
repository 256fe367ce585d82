import { expect, it } from 'vitest';
import { requireUsername } from '#protocols/rest/access/account-fields.ts';

const ID = '01a21f50-4ede-7e0f-bb98-a0a0ba19264c';

it('a new account has a name that no other author has', () => {
  for (const name of ['system', 'anonymous', 'System', 'ANONYMOUS', '', 'a b', 'a:impersonating:b', ID])
    expect(() => requireUsername(name, 'username'), name).toThrow(
      expect.objectContaining({ code: 'VALIDATION_FAILED', field: 'username' }),
    );
  for (const name of ['admin', 'systems', 'ann@example.org'])
    expect(requireUsername(name, 'username')).toBe(name);
});
