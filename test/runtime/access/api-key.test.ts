import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { apiKeyHash, apiKeyTag, isMeantAsApiKey, newApiKey, tagOfApiKey } from '#runtime/access/api-key.ts';
import { systemRandom } from '#runtime/base/random.ts';

describe('an API key', () => {
  it('is svc_ and 32 alphanumerics, of which 26 are random', () => {
    const keys = Array.from({ length: 200 }, () => newApiKey('acme', systemRandom));
    for (const { keyPrefix, token, tokenHash } of keys) {
      expect(token).toMatch(/^svc_[0-9A-Za-z]{32}$/);
      expect(keyPrefix).toBe(token.slice(0, 16));
      expect(tokenHash).toBe(createHash('sha256').update(token).digest('hex'));
      expect(apiKeyHash(token)).toBe(tokenHash);
    }
    const secrets = keys.map(({ token }) => token.slice(10));
    expect(new Set(secrets).size).toBe(keys.length);
    // Every character of the alphabet occurs: 5,200 draws leave out none of 62.
    expect(new Set(secrets.join('')).size).toBe(62);
  });

  it('tells which tenant it may be of, and nothing else does', () => {
    const { token } = newApiKey('acme', systemRandom);
    expect(tagOfApiKey(token)).toBe(apiKeyTag('acme'));
    expect(apiKeyTag('acme')).not.toBe(apiKeyTag('other'));
    for (const text of ['svc_', `${token}x`, token.slice(0, -1), `svc_${'-'.repeat(32)}`, token.slice(4)])
      expect([text, tagOfApiKey(text)]).toEqual([text, undefined]);
  });

  it('is told from other tokens by its beginning, so that a damaged one is no other kind', () => {
    expect([isMeantAsApiKey('svc_x'), isMeantAsApiKey('eyJ.x.y'), isMeantAsApiKey('')]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
