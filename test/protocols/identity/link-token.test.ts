import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { linkAddress, newLinkToken, readLinkToken } from '#protocols/identity/link-token.ts';
import { systemRandom } from '#runtime/base/random.ts';

describe('the token of a login link', () => {
  it('has 256 random bits and its tenant, and is stored as a hash', () => {
    const { hash, token } = newLinkToken('acme', systemRandom);
    const [secret = '', tenant = ''] = token.split('.');
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32);
    expect(Buffer.from(tenant, 'base64url').toString()).toBe('acme');
    expect(hash).toBe(createHash('sha256').update(secret).digest('base64url'));
    expect(readLinkToken(token)).toEqual({ tenant: 'acme', hash });
    expect(newLinkToken('acme', systemRandom).token).not.toBe(token);
  });

  it('is nothing in any other form', () => {
    const { token } = newLinkToken('acme', systemRandom);
    const [secret = ''] = token.split('.');
    const named = (tenant: string): string => `${secret}.${Buffer.from(tenant).toString('base64url')}`;
    for (const text of [
      '',
      secret,
      `${secret}.`,
      token.slice(1),
      `x${token}`,
      `${token} `,
      `${token}.x`,
      named(''),
      named('../default'),
      named('a/b'),
      named('a\0b'),
      `${secret}.${'A'.repeat(2_000)}`,
    ])
      expect(readLinkToken(text), text).toBeUndefined();
  });

  it('is in an address of its repository, or of the tenant', () => {
    expect(linkAddress('https://www.example.org', 'blog', 'x.y')).toBe(
      'https://www.example.org/auth/blog/magic-link/verify?token=x.y',
    );
    expect(linkAddress('https://www.example.org', null, 'x.y')).toBe(
      'https://www.example.org/auth/magic-link/verify?token=x.y',
    );
  });
});
