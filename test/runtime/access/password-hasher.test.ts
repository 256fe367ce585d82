import { describe, expect, it } from 'vitest';
import { PasswordHasher } from '#runtime/access/password-hasher.ts';
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

  it('lets callers wait in order and refuses those beyond the bound', async () => {
    const hasher = new PasswordHasher();
    const stored = await hasher.hash('Some-Password-1');
    const done: number[] = [];
    const waiting = Array.from({ length: 20 }, (_, index) =>
      hasher.verify(stored, 'Some-Password-1').then(() => done.push(index)),
    );
    await Promise.all(waiting);
    // Two run at once, so neighbours may change places, but nobody is overtaken by the third behind them.
    for (const [place, index] of done.entries()) expect(Math.abs(place - index)).toBeLessThanOrEqual(1);
    const crowd = Array.from({ length: 300 }, () => hasher.verify(stored, 'x').catch((error) => error.code));
    const refused = (await Promise.all(crowd.slice(258))).filter((answer) => answer === 'OVERLOADED');
    expect(refused).toHaveLength(42);
  });
});
