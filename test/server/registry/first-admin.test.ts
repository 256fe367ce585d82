import { describe, expect, it } from 'vitest';
import { firstAdmin } from '#server/registry/first-admin.ts';
import { PasswordHasher } from '#runtime/access/password-hasher.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { Secret } from '#runtime/config/secret.ts';

describe('the first administrator', () => {
  it('is shown a random password before there is an account, and has to change it', async () => {
    const printed: string[] = [];
    const hasher = new PasswordHasher();
    const admin = await firstAdmin(undefined, hasher, systemRandom, (text) => void printed.push(text));
    expect(admin).toMatchObject({ username: 'admin', mustChangePassword: true });
    const password = /password {2}(\S{16})/.exec(printed.join(''))?.[1] as string;
    expect(await hasher.verify(admin.passwordHash, password)).toBe(true);
    const widths = new Set(
      printed
        .join('')
        .trimEnd()
        .split('\n')
        .map((line) => line.length),
    );
    expect(widths.size).toBe(1);
  });

  it('is not shown a configured password and need not change it', async () => {
    const printed: string[] = [];
    const hasher = new PasswordHasher();
    const secret = new Secret('Configured-Pass-1');
    const admin = await firstAdmin(secret, hasher, systemRandom, (text) => void printed.push(text));
    expect([printed, admin.mustChangePassword]).toEqual([[], false]);
    expect(await hasher.verify(admin.passwordHash, 'Configured-Pass-1')).toBe(true);
  });
});
