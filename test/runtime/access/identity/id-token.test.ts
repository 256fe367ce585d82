import { createHmac } from 'node:crypto';
import { type CryptoKey, exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import {
  IdTokenError,
  IdTokenKeys,
  type IdTokenKeySource,
  verifiedIdToken,
} from '#runtime/access/identity/id-token.ts';

const nowMs = 1_800_000_000_000;
const now = nowMs / 1000;

const good: Readonly<Record<string, unknown>> = {
  iss: 'https://acme.example.org',
  aud: 'grove',
  sub: 'sub-1',
  iat: now,
  exp: now + 60,
};

let signing: CryptoKey;
let publicKey: CryptoKey;
let shown: JWK;
let other: CryptoKey;

beforeAll(async () => {
  const [mine, theirs] = await Promise.all([
    generateKeyPair('RS256', { extractable: true }),
    generateKeyPair('RS256', { extractable: true }),
  ]);
  [signing, publicKey, other] = [mine.privateKey, mine.publicKey, theirs.privateKey];
  shown = { ...(await exportJWK(publicKey)), kid: 'key-1' };
});

const signed = (claims: object, alg = 'RS256', key = signing, kid = 'key-1'): Promise<string> =>
  new SignJWT({ ...claims }).setProtectedHeader({ alg, kid }).sign(key);

/** A source that has one set, and nothing newer. */
const sourceOf = (keys: readonly unknown[]): IdTokenKeySource => {
  const set = new IdTokenKeys({ keys });
  return { present: () => set, newerThan: () => undefined };
};

const verify = (token: string, keys = sourceOf([shown])): ReturnType<typeof verifiedIdToken> =>
  verifiedIdToken(token, { issuer: 'https://acme.example.org', clientId: 'grove', keys, nowMs });

const reasonOf = async (token: string, keys?: IdTokenKeySource): Promise<string> => {
  const outcome = await verify(token, keys).then(
    () => 'accepted',
    (error: unknown) => error,
  );
  return outcome instanceof IdTokenError ? outcome.reason : String(outcome);
};

describe('an ID token', () => {
  it.each([
    ['for this client', {}],
    ['for a list of this client', { aud: ['grove'] }],
    ['for several, given to this client', { aud: ['grove', 'other'], azp: 'grove' }],
    ['that ended half a minute ago, by another clock', { exp: now - 29 }],
    ['that begins in half a minute, by another clock', { nbf: now + 29 }],
  ])('%s is accepted', async (_what, more) => {
    expect(await verify(await signed({ ...good, ...more }))).toEqual({ ...good, ...more });
  });

  it.each([
    ['of another issuer', { iss: 'https://acme.example.org/' }, "its claim 'iss'"],
    ['of no issuer', { iss: undefined }, "its claim 'iss'"],
    ['for another client', { aud: 'other' }, "its claim 'aud'"],
    ['for nobody', { aud: undefined }, "its claim 'aud'"],
    ['for several without saying whose it is', { aud: ['grove', 'other'] }, "its claim 'azp'"],
    ['for several, given to another one', { aud: ['grove', 'other'], azp: 'other' }, "its claim 'azp'"],
    ['given to another client', { azp: 'other' }, "its claim 'azp'"],
    ['that has ended', { exp: now - 31 }, 'it has expired'],
    ['without end', { exp: undefined }, "its claim 'exp'"],
    ['that begins later', { nbf: now + 31 }, "its claim 'nbf'"],
    ['without the time of its issue', { iat: undefined }, "its claim 'iat'"],
    ['without a person', { sub: undefined }, "its claim 'sub'"],
    ['with a person that is no text', { sub: 7 }, "its claim 'sub'"],
  ])('%s is refused', async (_what, change, reason) => {
    expect(await reasonOf(await signed({ ...good, ...change }))).toContain(reason);
  });

  it('of another key, another algorithm, or none is refused', async () => {
    expect(await reasonOf(await signed(good, 'RS256', other))).toBe('its signature does not fit');
    const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const unsecured = `${encoded({ alg: 'none', kid: 'key-1' })}.${encoded(good)}.`;
    expect(await reasonOf(unsecured)).toBe('it is not signed with RS256');
    const signedText = `${encoded({ alg: 'HS256', kid: 'key-1' })}.${encoded(good)}`;
    const mac = createHmac('sha256', await exportSPKI(publicKey))
      .update(signedText)
      .digest('base64url');
    expect(await reasonOf(`${signedText}.${mac}`)).toBe('it is not signed with RS256');
    for (const alg of ['PS256', 'RS512']) {
      const { privateKey } = await generateKeyPair(alg);
      expect(await reasonOf(await signed(good, alg, privateKey))).toBe('it is not signed with RS256');
    }
    for (const text of ['', 'a.b.c', 'text']) expect(await reasonOf(text)).toBe('it cannot be read');
    expect(await reasonOf('a'.repeat(70_000))).toBe('it is too long');
  });
});

describe('keys', () => {
  it('are those for RS256, and no larger than they need to be', async () => {
    const token = await signed(good);
    const missing = 'its key is not among the keys of the provider';
    const unusable: readonly unknown[] = [
      { ...shown, use: 'enc' },
      { ...shown, alg: 'RS512' },
      { ...shown, n: 'A'.repeat(1_367) },
      { ...shown, n: 7 },
      { ...shown, e: 'A'.repeat(7) },
      { ...shown, kid: 'k'.repeat(1_025) },
      { ...shown, kid: 7 },
      { kty: 'oct', k: 'c2VjcmV0', kid: 'key-1' },
      null,
      'key',
    ];
    for (const key of unusable) expect(await reasonOf(token, sourceOf([key]))).toBe(missing);
    for (const use of [{ use: 'sig' }, { alg: 'RS256' }, { key_ops: ['encrypt'], x5c: ['x'.repeat(9)] }])
      expect(await reasonOf(token, sourceOf([{ ...shown, ...use }]))).toBe('accepted');
    expect(await reasonOf(token, sourceOf([{ ...shown, n: 'A'.repeat(171) }]))).toMatch(
      /^(?:its key cannot be used|it cannot be read)$/,
    );
    for (const document of [undefined, null, [], 'keys', { keys: 'all' }, { keys: {} }]) {
      const set = new IdTokenKeys(document);
      expect(await reasonOf(token, { present: () => set, newerThan: () => undefined })).toBe(missing);
    }
  });

  it('are 64 at most', async () => {
    const many = Array.from({ length: 64 }, (_, at) => ({ ...shown, kid: `other-${at}` }));
    const token = await signed(good);
    expect(await reasonOf(token, sourceOf([...many.slice(1), shown]))).toBe('accepted');
    expect(await reasonOf(token, sourceOf([...many, shown]))).toContain('not among the keys');
  });

  it('need a name where there are several', async () => {
    const nameless = await new SignJWT({ ...good }).setProtectedHeader({ alg: 'RS256' }).sign(signing);
    expect(await reasonOf(nameless)).toBe('accepted');
    expect(await reasonOf(nameless, sourceOf([shown, { ...shown, kid: 'key-2' }]))).toContain('which key');
  });

  it('are asked for once more when the token names another one', async () => {
    const token = await signed(good, 'RS256', signing, 'key-2');
    const [older, newer] = [
      new IdTokenKeys({ keys: [shown] }),
      new IdTokenKeys({ keys: [{ ...shown, kid: 'key-2' }] }),
    ];
    const asked: IdTokenKeys[] = [];
    const source: IdTokenKeySource = {
      present: () => Promise.resolve(older),
      newerThan(known) {
        asked.push(known);
        return newer;
      },
    };
    expect(await reasonOf(token, source)).toBe('accepted');
    expect(asked).toEqual([older]);
  });

  it('that cannot be had are the error of their source', async () => {
    const source: IdTokenKeySource = {
      present: () => Promise.reject(new RangeError('no keys today')),
      newerThan: () => undefined,
    };
    await expect(verify(await signed(good), source)).rejects.toThrow(RangeError);
  });
});
