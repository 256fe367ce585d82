import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { checkIdentities } from '#actors/identities/check-identities.ts';
import { IdentitiesTable, type IdentityRow, UNBOUND_ISSUERS } from '#actors/identities/identities-tables.ts';
import type { Identity, OpenedSession, ProviderProof } from '#actors/identities/messages.ts';
import { recordKey } from '#runtime/commit/record-store.ts';
import type { Write } from '#runtime/log/log-entry.ts';
import { decodeJsonRow, encodeJsonRow } from '#runtime/shard/json-row.ts';
import { hashOf, IdentitiesFixture, placeOf } from '#test/support/identities-fixture.ts';
import { providerChange } from '#test/support/provider-change.ts';

const ann = 'ann@example.org';

const issuerOf = (id: string): string => `https://${id}.example.org`;

let real: IdentitiesFixture;

beforeAll(async () => {
  real = await IdentitiesFixture.open();
});

afterAll(() => real.close());

beforeEach(async () => {
  await real.begin();
  await real.configure({
    oidc_providers: [
      providerChange('acme'),
      providerChange('other'),
      providerChange('off', { enabled: false }),
    ],
  });
});

function proof(more: Partial<ProviderProof> = {}): ProviderProof {
  return {
    kind: 'provider',
    providerId: 'acme',
    issuer: issuerOf(more.providerId ?? 'acme'),
    externalId: 'sub-1',
    email: ann,
    emailVerified: true,
    displayName: 'Ann of Acme',
    avatarUrl: 'https://acme.example.org/ann.png',
    claims: { sub: 'sub-1' },
    groups: ['staff'],
    ...more,
  };
}

const logIn = async (more: Partial<ProviderProof> = {}, at = 'home'): Promise<OpenedSession> =>
  (await real.open(proof(more), { place: placeOf(at) })).opened;

const forbidden = { code: 'FORBIDDEN' };

it('makes an account without a password, which cannot log in with one until it is set', async () => {
  const { identity, session } = await logIn();
  expect(session.auth_strategy).toBe('oidc:acme');
  expect(identity).toMatchObject({
    email: ann,
    email_verified: true,
    display_name: 'Ann of Acme',
    avatar_url: 'https://acme.example.org/ann.png',
    has_password: false,
    linked_providers: [
      { strategy_id: 'oidc:acme', external_id: 'sub-1', claims: { sub: 'sub-1' }, groups: ['staff'] },
    ],
  });
  await expect(real.logIn(ann, 'right')).rejects.toMatchObject({ code: 'INVALID_CREDENTIALS' });
  const { identity_id: identityId } = identity;
  const set = { type: 'SetPassword', identityId, judged: null, passwordHash: hashOf('right') } as const;
  await real.send({ ...set, keptSessionId: session.session_id });
  await real.logIn(ann, 'right');
});

it('links the provider to the account of the address, and keeps its name and fills blanks', async () => {
  const { identityId } = await real.register(ann);
  await real.send({ type: 'UpdateIdentity', identityId, changes: { display_name: 'Own name' } });
  const { identity } = await logIn({ email: 'ANN@example.org' });
  expect(identity).toMatchObject({
    identity_id: identityId,
    email: ann,
    email_verified: true,
    display_name: 'Own name',
    avatar_url: 'https://acme.example.org/ann.png',
    has_password: true,
  });
  const again = await logIn({ avatarUrl: 'https://acme.example.org/new.png', displayName: 'New' });
  expect(again.identity).toMatchObject({
    display_name: 'Own name',
    avatar_url: 'https://acme.example.org/ann.png',
  });
  const both = await logIn({ providerId: 'other', externalId: 'another' });
  expect(both.identity.linked_providers.map(({ strategy_id: id }) => id)).toEqual([
    'oidc:acme',
    'oidc:other',
  ]);
  await real.logIn(ann, 'right');
});

it('takes an address back from a stranger who registered it', async () => {
  const stranger = await real.register(ann, 'stranger', placeOf('stranger'));
  expect((await logIn()).identity.has_password).toBe(false);
  expect(await real.refresh(stranger)).toBe('SESSION_REVOKED');
  await expect(real.logIn(ann, 'stranger', { place: placeOf('stranger') })).rejects.toMatchObject({
    code: 'INVALID_CREDENTIALS',
  });
});

it('knows a person again by the id at the provider, whatever the address is now', async () => {
  const { identity } = await logIn();
  const again = await logIn({ email: 'ann@new.example.org', groups: ['staff', 'admins'] });
  expect(again.identity).toMatchObject({ identity_id: identity.identity_id, email: ann });
  expect(again.identity.linked_providers[0]?.groups).toEqual(['staff', 'admins']);
  expect(real.identity('ann@new.example.org')).toBeUndefined();
});

it('refuses another person of the provider with the same address', async () => {
  await logIn();
  await expect(logIn({ externalId: 'sub-2' })).rejects.toMatchObject(forbidden);
  // The same id at another provider is somebody else, or the same person with a proven address.
  await logIn({ providerId: 'other', externalId: 'sub-1' });
});

it('refuses an address that is not verified, whether or not there is an account', async () => {
  await expect(logIn({ emailVerified: false })).rejects.toMatchObject(forbidden);
  expect(real.identity(ann)).toBeUndefined();
  await real.register(ann);
  await expect(logIn({ emailVerified: false })).rejects.toMatchObject(forbidden);
  await logIn();
  await expect(logIn({ emailVerified: false })).rejects.toMatchObject(forbidden);
});

it('refuses addresses outside the domains of the provider', async () => {
  await real.configure({ oidc_providers: [providerChange('acme', { allowed_email_domains: ['acme.org'] })] });
  await logIn({ email: 'ann@ACME.org' });
  for (const email of ['ann@acme.org.evil.org', 'ann@sub.acme.org', 'acme.org@evil.org'])
    await expect(logIn({ email, externalId: email })).rejects.toMatchObject(forbidden);
  // A person who is known logs in with an address of the provider too.
  await expect(logIn({ email: 'ann@evil.org' })).rejects.toMatchObject(forbidden);
});

it('refuses a provider that is switched off, or is none', async () => {
  for (const providerId of ['off', 'none', ''])
    await expect(logIn({ providerId })).rejects.toMatchObject(forbidden);
});

it('refuses a deactivated account, without linking it', async () => {
  const { identityId } = await real.register(ann);
  await real.send({ type: 'UpdateIdentity', identityId, changes: { is_active: false } });
  await expect(logIn()).rejects.toMatchObject({ code: 'ACCOUNT_DISABLED' });
  expect(real.identity(ann)?.linked_providers).toEqual([]);
});

it('stores no more than is bounded of what a provider says', async () => {
  const groups = [...Array.from({ length: 300 }, (_, index) => `group-${index}`), 'x'.repeat(257)];
  const { identity } = await logIn({
    displayName: 'x'.repeat(5_000),
    avatarUrl: `https://acme.example.org/${'x'.repeat(3_000)}`,
    claims: { large: 'x'.repeat(9_000) },
    groups: ['x'.repeat(257), ...groups],
  });
  expect(identity).toMatchObject({ display_name: 'x'.repeat(200), avatar_url: null });
  const [link] = identity.linked_providers as Identity['linked_providers'] & { 0: object };
  expect(link).toMatchObject({ claims: {}, groups: groups.slice(0, 200) });
  for (const externalId of ['', 'x'.repeat(256), 'a\0b', 'a\ud800'])
    await expect(logIn({ externalId, email: 'ben@example.org' })).rejects.toMatchObject(forbidden);
  expect(real.identity('ben@example.org')).toBeUndefined();
});

it('frees the id at the provider when the account is deleted', async () => {
  const { identity } = await logIn();
  await real.send({ type: 'DeleteIdentity', identityId: identity.identity_id });
  const again = await logIn();
  expect(again.identity.identity_id).not.toBe(identity.identity_id);
});

describe('a link is with the issuer that made it', () => {
  const moved = 'https://new.example.org';
  const move = () => real.configure({ oidc_providers: [providerChange('acme', { issuer_url: moved })] });

  it('so the same id of another issuer is not the same person [OIDC-031]', async () => {
    const { identity } = await logIn();
    await move();
    const stranger = await logIn({ issuer: moved, email: 'eve@example.org' });
    expect(stranger.identity.identity_id).not.toBe(identity.identity_id);
    expect(stranger.identity).toMatchObject({ email: 'eve@example.org' });
    expect(real.identity(ann)?.linked_providers).toEqual([]);
    // The person comes back with an address that the new issuer has verified, under another id.
    const again = await logIn({ issuer: moved, externalId: 'sub-9' });
    expect(again.identity.identity_id).toBe(identity.identity_id);
    // Each is found by the own id, whatever the address is.
    const named = async (externalId: string) =>
      (await logIn({ issuer: moved, externalId, email: 'x@example.org' })).identity.email;
    expect([await named('sub-1'), await named('sub-9')]).toEqual(['eve@example.org', ann]);
    expect(await damageOf()).toEqual([]);
  });

  it('so a person with another id at the new issuer has one link', async () => {
    await logIn();
    await move();
    const { identity } = await logIn({ issuer: moved, externalId: 'sub-9' });
    expect(identity.linked_providers).toMatchObject([{ issuer: moved, external_id: 'sub-9' }]);
    const other = await logIn({ issuer: moved, email: 'eve@example.org' });
    expect(other.identity.email).toBe('eve@example.org');
    expect(await damageOf()).toEqual([]);
  });

  it('so a proof of the former issuer counts no more', async () => {
    await logIn();
    await move();
    await expect(logIn()).rejects.toMatchObject(forbidden);
  });

  it('and one of an earlier build with the issuer of that time, whatever is configured later', async () => {
    const { identity } = await logIn();
    await withoutIssuers();
    // The first login with the same issuer binds it.
    expect((await logIn()).identity.linked_providers).toMatchObject([{ issuer: issuerOf('acme') }]);
    await withoutIssuers();
    await move();
    const stranger = await logIn({ issuer: moved, email: 'eve@example.org' });
    expect(stranger.identity.identity_id).not.toBe(identity.identity_id);
  });
});

/** Makes the stored rows those of a build that knew no issuers of links. */
async function withoutIssuers(): Promise<void> {
  const rows = await real.reading((file) => [...file.rows(IdentitiesTable.identities)]);
  const writes = rows.map(({ key, value }): Write => {
    const row = decodeJsonRow(value) as IdentityRow;
    const links = row.linked_providers.map(({ issuer: _, ...link }) => link);
    return {
      table: IdentitiesTable.identities,
      key,
      value: encodeJsonRow({ ...row, linked_providers: links }),
    };
  });
  const noted = { table: IdentitiesTable.settings, key: recordKey(UNBOUND_ISSUERS), value: null };
  await real.importRows([...writes, noted]);
}

/** What the check of the stored rows finds. */
async function damageOf(): Promise<unknown[]> {
  return await real.reading((file) => {
    const found: unknown[] = [];
    const steps = checkIdentities(file, (...damage) => void found.push(damage));
    while (steps.next().done !== true);
    return found;
  });
}
