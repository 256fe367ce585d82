import { describe, expect, it } from 'vitest';
import {
  type AuthConfiguration,
  type AuthConfigurationChange,
  defaultAuthConfiguration,
  mergedAuthConfiguration,
  type OidcProviderChange,
  shownAuthConfiguration,
  withSealedSecrets,
} from '#runtime/access/identity/auth-configuration.ts';
import { providerChange } from '#test/support/provider-change.ts';

function provider(id: string, secret?: string | null): OidcProviderChange {
  return providerChange(id, secret === undefined ? {} : { client_secret: secret });
}

const secretsOf = ({ oidc_providers: providers }: AuthConfiguration) =>
  providers.map(({ provider_id: id, client_secret: secret }) => [id, secret]);

describe('a change of the configuration', () => {
  it('keeps every part that it does not have', () => {
    expect(mergedAuthConfiguration(defaultAuthConfiguration, {})).toEqual(defaultAuthConfiguration);
    const parts: readonly AuthConfigurationChange[] = [
      { local_auth: { enabled: false } },
      { magic_link: { enabled: false, token_ttl_minutes: 1 } },
      { password_policy: { ...defaultAuthConfiguration.password_policy, min_length: 20 } },
      { rate_limiting: { lockout_threshold: 2, lockout_duration_minutes: 3 } },
      { access_settings: { ...defaultAuthConfiguration.access_settings, default_roles: [] } },
      { oidc_providers: [{ ...provider('a'), client_secret: null }] },
      { anonymous_enabled: true },
      { cors_allowed_origins: ['https://a.example.org'] },
    ];
    let configuration = defaultAuthConfiguration;
    for (const part of parts) {
      const before = configuration;
      configuration = mergedAuthConfiguration(before, part);
      expect(configuration).toEqual({ ...before, ...part });
    }
  });

  it('replaces the list of providers, and keeps a secret that it does not name', () => {
    const first = mergedAuthConfiguration(defaultAuthConfiguration, {
      oidc_providers: [provider('a', 'sealed a'), provider('b', 'sealed b'), provider('c')],
    });
    expect(secretsOf(first)).toEqual([
      ['a', 'sealed a'],
      ['b', 'sealed b'],
      ['c', null],
    ]);
    const second = mergedAuthConfiguration(first, {
      oidc_providers: [provider('b'), provider('c', 'sealed c'), provider('d')],
    });
    expect(secretsOf(second)).toEqual([
      ['b', 'sealed b'],
      ['c', 'sealed c'],
      ['d', null],
    ]);
    // A provider that was removed has lost its secret.
    const third = mergedAuthConfiguration(second, { oidc_providers: [provider('a'), provider('b', null)] });
    expect(secretsOf(third)).toEqual([
      ['a', null],
      ['b', null],
    ]);
    const { oidc_providers: _, ...rest } = mergedAuthConfiguration(third, { oidc_providers: [] });
    expect(rest).toEqual((({ oidc_providers: _providers, ...others }) => others)(third));
  });

  it('asks for a secret again that would go to another server, or be of another client', () => {
    const stored = mergedAuthConfiguration(defaultAuthConfiguration, {
      oidc_providers: [provider('b'), provider('a', 'sealed')],
    });
    const put = (more: Partial<OidcProviderChange>): AuthConfiguration =>
      mergedAuthConfiguration(stored, { oidc_providers: [provider('b'), { ...provider('a'), ...more }] });
    for (const more of [
      { issuer_url: 'https://a.example.net' },
      { token_url: 'https://a.example.net/token' },
      { client_id: 'another' },
    ]) {
      expect(() => put(more)).toThrow(
        expect.objectContaining({ code: 'VALIDATION_FAILED', field: 'oidc_providers.1.client_secret' }),
      );
      expect(secretsOf(put({ ...more, client_secret: 'new' }))[1]).toEqual(['a', 'new']);
      expect(secretsOf(put({ ...more, client_secret: null }))[1]).toEqual(['a', null]);
    }
    expect(secretsOf(put({ display_name: 'A', scopes: ['openid'] }))[1]).toEqual(['a', 'sealed']);
    // A client without a secret has nothing to lose.
    const moved = { ...provider('b'), issuer_url: 'https://b.example.net' };
    expect(secretsOf(mergedAuthConfiguration(stored, { oidc_providers: [moved] }))).toEqual([['b', null]]);
  });

  it.each([
    [10, true, 1, true],
    [1, false, 1, true],
    [2, false, 2, false],
    [1, true, 1, true],
  ])('with %i sessions and single mode %s permits %i and says %s', (most, isSingle, permitted, isShown) => {
    const settings = {
      ...defaultAuthConfiguration.session_settings,
      max_sessions_per_user: most,
      single_session_mode: isSingle,
    };
    const { session_settings: merged } = mergedAuthConfiguration(defaultAuthConfiguration, {
      session_settings: settings,
    });
    expect(merged).toMatchObject({ max_sessions_per_user: permitted, single_session_mode: isShown });
  });

  it('has its secrets sealed, each bound to its provider', () => {
    const change = { oidc_providers: [provider('a', 'secret'), provider('b', null), provider('c')] };
    const sealed = withSealedSecrets(change, (secret, id) => `${id}:${[...secret].reverse().join('')}`);
    expect(secretsOf(mergedAuthConfiguration(defaultAuthConfiguration, sealed))).toEqual([
      ['a', 'a:terces'],
      ['b', null],
      ['c', null],
    ]);
    expect(JSON.stringify(sealed)).not.toContain(':"secret"');
    expect(withSealedSecrets({}, () => '')).toEqual({});
  });
});

describe('a shown configuration', () => {
  const configuration = mergedAuthConfiguration(defaultAuthConfiguration, {
    oidc_providers: [provider('a', 'sealed'), provider('b')],
  });

  it('says of a secret only whether there is one', () => {
    const shown = shownAuthConfiguration(configuration, 'acme');
    expect(JSON.stringify(shown)).not.toMatch(/sealed|"client_secret"/);
    expect(shown).toMatchObject({
      tenant_id: 'acme',
      oidc_providers: [
        { provider_id: 'a', has_client_secret: true },
        { provider_id: 'b', has_client_secret: false },
      ],
    });
  });

  it('has every part of the interface', () => {
    expect(Object.keys(shownAuthConfiguration(configuration, 'acme')).sort()).toEqual([
      'access_settings',
      'anonymous_enabled',
      'cors_allowed_origins',
      'email',
      'local_auth',
      'magic_link',
      'oidc_providers',
      'password_policy',
      'rate_limiting',
      'session_settings',
      'tenant_id',
    ]);
  });

  it('has no anonymous switch until the tenant has its own, so that sending it back sets none', () => {
    const shownSwitch = (change: AuthConfigurationChange): unknown =>
      shownAuthConfiguration(mergedAuthConfiguration(configuration, change), 'acme').anonymous_enabled;
    expect([{}, { anonymous_enabled: false }, { anonymous_enabled: true }].map(shownSwitch)).toEqual([
      null,
      false,
      true,
    ]);
  });
});
