import { describe, expect, it } from 'vitest';
import type { ProviderProof } from '#actors/identities/messages.ts';
import { lacksClaims, proofOf } from '#protocols/identity/oidc/provider-claims.ts';
import {
  defaultAttributeMapping,
  defaultScopes,
  type OidcProvider,
} from '#runtime/access/identity/auth-configuration.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';

const provider: OidcProvider = {
  provider_id: 'acme',
  display_name: 'Acme',
  icon: null,
  priority: 0,
  enabled: true,
  issuer_url: 'https://acme.example.org',
  client_id: 'grove',
  client_secret: null,
  redirect_uri: null,
  scopes: defaultScopes,
  allowed_email_domains: null,
  attribute_mapping: defaultAttributeMapping,
  groups_claim: 'groups',
  authorization_url: null,
  token_url: null,
  userinfo_url: null,
  jwks_url: null,
};

const ann = 'ann@example.org';
const eve = 'eve@example.net';

const proof = (signed: JsonObject, userinfo?: JsonObject, of = provider): ProviderProof =>
  proofOf({ signed: { sub: 'sub-1', ...signed }, userinfo }, of);

describe('claims of the token', () => {
  it('count before those of userinfo, which fill gaps [OIDC-007]', () => {
    const signed = { email: ann, email_verified: true, name: 'Ann', groups: ['staff'] };
    const added = {
      email: eve,
      email_verified: false,
      name: 'Eve',
      picture: 'https://acme.example.org/ann.png',
      groups: ['owners'],
      department: 'press',
    };
    expect(proof(signed, added)).toEqual({
      kind: 'provider',
      providerId: 'acme',
      issuer: provider.issuer_url,
      externalId: 'sub-1',
      email: ann,
      emailVerified: true,
      displayName: 'Ann',
      avatarUrl: 'https://acme.example.org/ann.png',
      groups: ['staff'],
      claims: { sub: 'sub-1', ...added, ...signed },
    });
  });

  it('count where they say no, or nothing [OIDC-007]', () => {
    const added = { email: ann, email_verified: true, name: 'Eve', groups: ['owners'] };
    const { displayName, emailVerified, groups } = proof(
      { email: ann, email_verified: false, name: null, groups: [] },
      added,
    );
    expect([emailVerified, displayName, groups]).toEqual([false, null, []]);
  });

  it('are stored without those about the token itself', () => {
    const signed = {
      email: ann,
      iss: 'https://acme.example.org',
      aud: 'grove',
      exp: 1,
      nonce: 'n',
      at_hash: 'h',
    };
    expect(proof(signed).claims).toEqual({ sub: 'sub-1', email: ann, iss: 'https://acme.example.org' });
  });
});

describe('an address is verified [OIDC-030]', () => {
  const claims = (email?: string, verified?: unknown): JsonObject => ({
    ...(email === undefined ? {} : { email }),
    ...(verified === undefined ? {} : { email_verified: verified as boolean }),
  });

  it.each([
    ['when the token says so', claims(ann, true), undefined, true],
    ['when the token says so as a text', claims(ann, 'true'), undefined, true],
    ['not when the token says no', claims(ann, false), claims(ann, true), false],
    ['not when the token says no as a text', claims(ann, 'false'), claims(ann, true), false],
    ['not when the token says something else', claims(ann, 1), claims(ann, true), false],
    ['not when nobody says anything', claims(ann), undefined, false],
    ['when userinfo says so of the same address', claims(ann), claims(ann, true), true],
    [
      'when userinfo writes the same address in another case',
      claims(ann),
      claims('Ann@Example.org', true),
      true,
    ],
    ['not when userinfo says so of another address', claims(ann), claims(eve, true), false],
    ['not when userinfo says so of no address', claims(ann), claims(undefined, true), false],
    ['when userinfo has both', claims(), claims(ann, true), true],
    ['not when userinfo has the address only', claims(), claims(ann), false],
    [
      'not when the yes of the token is about an address it does not name',
      claims(undefined, true),
      claims(ann),
      false,
    ],
    ['not when the token says no without an address', claims(undefined, false), claims(ann, true), false],
  ])('%s', (_when, signed, userinfo, isVerified) => {
    expect(proof(signed, userinfo as JsonObject | undefined).emailVerified).toBe(isVerified);
  });
});

describe('names of claims', () => {
  const mapped: OidcProvider = {
    ...provider,
    attribute_mapping: { email: 'mail', name: 'cn', picture: 'photo', email_verified: 'mail_ok' },
    groups_claim: 'memberOf',
  };

  it('are those of the configuration [OIDC-023, OIDC-015]', () => {
    const signed = {
      email: eve,
      email_verified: false,
      name: 'Eve',
      mail: ann,
      mail_ok: true,
      cn: 'Ann',
      photo: 'https://acme.example.org/a.png',
      memberOf: ['staff', 7, 'press', ''],
    };
    expect(proof(signed, undefined, mapped)).toMatchObject({
      email: ann,
      emailVerified: true,
      displayName: 'Ann',
      avatarUrl: 'https://acme.example.org/a.png',
      groups: ['staff', 'press'],
    });
    expect(lacksClaims(signed, mapped)).toBe(false);
    expect(lacksClaims({ ...signed, memberOf: undefined as never }, mapped)).toBe(true);
    expect(
      lacksClaims({ mail: ann, mail_ok: true, cn: '', photo: '' }, { ...mapped, groups_claim: null }),
    ).toBe(false);
  });

  it('are names of claims only, never of what every object has', () => {
    const odd: OidcProvider = {
      ...provider,
      attribute_mapping: { ...defaultAttributeMapping, name: 'constructor', email_verified: '__proto__' },
      groups_claim: 'toString',
    };
    expect(lacksClaims({ email: ann, picture: '' }, odd)).toBe(true);
    expect(proof({ email: ann }, undefined, odd)).toMatchObject({
      displayName: null,
      emailVerified: false,
      groups: [],
    });
  });
});

describe('what a provider says is bounded', () => {
  it.each([
    ['no address', {}],
    ['an address that is no text', { email: [ann] }],
    ['an empty address', { email: '' }],
    ['an address without end', { email: `${'a'.repeat(3_000)}@example.org` }],
  ])('with %s nobody logs in', (_what, signed) => {
    let error: unknown;
    try {
      proof(signed as JsonObject);
    } catch (thrown) {
      error = thrown;
    }
    expect((error as ServiceError).code).toBe('FORBIDDEN');
    expect((error as ServiceError).message).toContain("the claim 'email'");
  });

  it.each([
    ['javascript:alert(1)', null],
    ['data:image/svg+xml,<svg/>', null],
    ['/ann.png', null],
    [7, null],
    ['http://acme.example.org/ann.png', 'http://acme.example.org/ann.png'],
  ])('a picture is an address of the web: %j', (picture, avatarUrl) => {
    expect(proof({ email: ann, picture }).avatarUrl).toBe(avatarUrl);
  });

  it('groups are a list of names, and so many', () => {
    expect(proof({ email: ann, groups: 'staff' }).groups).toEqual([]);
    expect(proof({ email: ann, groups: { staff: true } }).groups).toEqual([]);
    expect(
      proof({ email: ann, groups: Array.from({ length: 5_000 }, (_, at) => `g${at}`) }).groups,
    ).toHaveLength(1_000);
    expect(proof({ email: ann }, undefined, { ...provider, groups_claim: null }).groups).toEqual([]);
  });

  it('claims that cannot be stored are left out', () => {
    let deep: JsonObject = {};
    for (let level = 0; level < 5_000; level += 1) deep = { deep };
    expect(proof({ email: ann, deep }).claims).toEqual({});
    expect(proof({ email: ann, huge: 'x'.repeat(70_000) }).claims).toEqual({});
    expect(proof({ email: ann, number: Number.POSITIVE_INFINITY }).claims).toEqual({});
  });
});
