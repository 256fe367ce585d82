import { hash } from 'argon2';
import { describe, expect, it } from 'vitest';
import { PasswordHasher } from '#runtime/access/password-hasher.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import { PASSWORD_CHARACTERS_MAX } from '#runtime/access/password-rule.ts';

describe('PasswordHasher', () => {
  it('hashes with argon2id and a salt of its own each time', async () => {
    const hasher = new PasswordHasher();
    const [first, second] = await Promise.all([
      hasher.hash('Some-Password-1'),
      hasher.hash('Some-Password-1'),
    ]);
    expect(first).toMatch(/^\$argon2id\$v=19\$m=19456,p=1,t=2\$/);
    expect(second).not.toBe(first);
    expect(await hasher.verify(first, 'Some-Password-1')).toBe(true);
    expect(await hasher.verify(second, 'Some-Password-2')).toBe(false);
  });

  it('knows a hash that was made with other parameters', async () => {
    const hasher = new PasswordHasher();
    expect(hasher.isOutdated(await hasher.hash('Some-Password-1'))).toBe(false);
    for (const memoryCost of [8_192, 65_536])
      expect(
        hasher.isOutdated(
          await hash('Some-Password-1', { type: 2, memoryCost, timeCost: 2, parallelism: 1 }),
        ),
      ).toBe(true);
  });

  it('is never right where there is no account, and has hashed all the same', async () => {
    const hasher = new PasswordHasher();
    expect(await hasher.verify(undefined, 'abc')).toBe(false);
  });

  it('never takes the beginning of an overlong password for the whole', async () => {
    const hasher = new PasswordHasher();
    const longest = 'x'.repeat(PASSWORD_CHARACTERS_MAX);
    const stored = await hasher.hash(longest);
    expect(await hasher.verify(stored, longest)).toBe(true);
    expect(await hasher.verify(stored, `${longest}y`)).toBe(false);
  });

  it('lets a bounded number of callers wait, and refuses the others at once', async () => {
    const hasher = new PasswordHasher();
    // Two are hashed and 256 wait; nothing is awaited in between, so no place has been given back yet.
    const crowd = Array.from({ length: 300 }, () =>
      hasher.verify(undefined, 'x').catch((error: ServiceError) => error.code),
    );
    const refused = await Promise.all(crowd.slice(258));
    expect(refused).toEqual(Array.from({ length: 42 }, () => 'OVERLOADED'));
    expect(await Promise.all(crowd.slice(0, 4))).toEqual([false, false, false, false]);
  });
});
