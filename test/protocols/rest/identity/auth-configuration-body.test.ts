import { describe, expect, it } from 'vitest';
import { readAuthConfigurationChange } from '#protocols/rest/identity/auth-configuration-body.ts';
import {
  defaultAuthConfiguration,
  mergedAuthConfiguration,
  shownAuthConfiguration,
} from '#runtime/access/identity/auth-configuration.ts';

type Body = Record<string, unknown>;

const provider = { provider_id: 'acme', issuer_url: 'https://acme.example.org', client_id: 'client' };

const complete = {
  local_auth: { enabled: true },
  magic_link: { enabled: false, token_ttl_minutes: 5 },
  password_policy: {
    min_length: 10,
    require_uppercase: true,
    require_lowercase: false,
    require_numbers: true,
    require_special: false,
    max_age_days: 30,
  },
  session_settings: {
    duration_hours: 2,
    refresh_token_duration_days: 7,
    max_sessions_per_user: 3,
    single_session_mode: false,
  },
  rate_limiting: { lockout_threshold: 3, lockout_duration_minutes: 30 },
  access_settings: {
    allow_access_requests: false,
    allow_invitations: true,
    require_approval: false,
    default_roles: ['viewer', 'author'],
  },
} as const;

function read(body: unknown): Body {
  return readAuthConfigurationChange(body, 'acme') as Body;
}

function refusalOf(body: unknown): string {
  try {
    read(body);
  } catch (error) {
    const { code, field } = error as { code: string; field?: string };
    return `${code} ${field}`;
  }
  return 'accepted';
}

describe('a change of the configuration', () => {
  it('has what was given, and nothing of what was not', () => {
    expect(read({})).toEqual({});
    expect(read(complete)).toEqual(complete);
    for (const [name, part] of Object.entries(complete))
      expect(read({ [name]: part })).toEqual({ [name]: part });
    expect(read({ anonymous_enabled: false, cors_allowed_origins: ['https://A.example.org/', '*'] })).toEqual(
      {
        anonymous_enabled: false,
        cors_allowed_origins: ['https://a.example.org', '*'],
      },
    );
  });

  it('has complete nested objects: one without a field is refused', () => {
    for (const [name, part] of Object.entries(complete))
      for (const field of Object.keys(part)) {
        const { [field]: _, ...rest } = part as Body;
        // What may be null may be absent.
        const expected = field === 'max_age_days' ? 'accepted' : `UNPROCESSABLE_BODY ${name}.${field}`;
        expect(refusalOf({ [name]: rest })).toBe(expected);
      }
  });

  it('refuses a field of another type', () => {
    for (const [name, part] of Object.entries(complete)) {
      expect(refusalOf({ [name]: [] })).toBe(`UNPROCESSABLE_BODY ${name}`);
      for (const [field, value] of Object.entries(part)) {
        const wrong = typeof value === 'boolean' ? 'true' : typeof value === 'number' ? 1.5 : 'viewer';
        expect(refusalOf({ [name]: { ...part, [field]: wrong } })).toBe(
          `UNPROCESSABLE_BODY ${name}.${field}`,
        );
      }
    }
    for (const body of [null, [], 'x', 7]) expect(refusalOf(body)).toMatch(/^UNPROCESSABLE_BODY/);
    expect(refusalOf({ oidc_providers: {} })).toBe('UNPROCESSABLE_BODY oidc_providers');
    expect(refusalOf({ cors_allowed_origins: [7] })).toBe('UNPROCESSABLE_BODY cors_allowed_origins.0');
  });

  it.each([
    ['magic_link', 'token_ttl_minutes', 1, 1_440],
    ['password_policy', 'min_length', 1, 128],
    ['password_policy', 'max_age_days', 0, 3_650],
    ['session_settings', 'duration_hours', 1, 720],
    ['session_settings', 'refresh_token_duration_days', 1, 365],
    ['session_settings', 'max_sessions_per_user', 1, 100],
    ['rate_limiting', 'lockout_threshold', 1, 100],
    ['rate_limiting', 'lockout_duration_minutes', 1, 1_440],
  ] as const)('%s.%s is from %i to %i', (part, field, least, most) => {
    const change = (value: number): string => refusalOf({ [part]: { ...complete[part], [field]: value } });
    expect([change(least), change(most)]).toEqual(['accepted', 'accepted']);
    for (const value of [least - 1, most + 1, -1, Number.MAX_SAFE_INTEGER])
      if (value < least || value > most) expect(change(value)).toBe(`VALIDATION_FAILED ${part}.${field}`);
  });

  it('of the age of passwords says never with null and with 0', () => {
    for (const days of [null, 0])
      expect(read({ password_policy: { ...complete.password_policy, max_age_days: days } })).toMatchObject({
        password_policy: { max_age_days: null },
      });
  });

  it('refuses what is no origin', () => {
    for (const origin of [
      '',
      'example.org',
      'ftp://a',
      'https://a/path',
      'https://u:p@a',
      'null',
      'https://*.a.org/x',
    ])
      expect(refusalOf({ cors_allowed_origins: ['*', origin] })).toBe(
        'VALIDATION_FAILED cors_allowed_origins.1',
      );
    expect(
      refusalOf({ cors_allowed_origins: Array.from({ length: 101 }, (_, index) => `https://a${index}`) }),
    ).toBe('VALIDATION_FAILED cors_allowed_origins');
  });

  it('takes back what reads have answered, and nothing of another tenant', () => {
    const merged = mergedAuthConfiguration(defaultAuthConfiguration, {
      ...readAuthConfigurationChange(
        { ...complete, oidc_providers: [{ ...provider, client_secret: 's' }] },
        'acme',
      ),
    });
    const shown = shownAuthConfiguration(merged, 'acme');
    const again = mergedAuthConfiguration(merged, readAuthConfigurationChange(shown, 'acme'));
    expect(again).toEqual(merged);
    expect(read({ anonymous_enabled: null })).toEqual({ anonymous_enabled: null });
    expect(again.oidc_providers[0]?.client_secret).toBe('s');
    expect(() => readAuthConfigurationChange(shown, 'other')).toThrow(
      expect.objectContaining({ code: 'TENANT_MISMATCH' }),
    );
  });
});

describe('a provider', () => {
  const readProvider = (more: Body): Body =>
    (read({ oidc_providers: [{ ...provider, ...more }] }) as { oidc_providers: Body[] })
      .oidc_providers[0] as Body;
  const refusal = (more: Body): string => refusalOf({ oidc_providers: [{ ...provider, ...more }] });

  it('has defaults for what is not given', () => {
    expect(readProvider({})).toEqual({
      provider_id: 'acme',
      display_name: 'acme',
      icon: null,
      priority: 0,
      enabled: true,
      issuer_url: 'https://acme.example.org',
      client_id: 'client',
      redirect_uri: null,
      scopes: ['openid', 'email', 'profile'],
      allowed_email_domains: null,
      attribute_mapping: {
        email: 'email',
        name: 'name',
        picture: 'picture',
        email_verified: 'email_verified',
      },
      groups_claim: null,
      authorization_url: null,
      token_url: null,
      userinfo_url: null,
      jwks_url: null,
    });
    for (const field of Object.keys(provider)) {
      const { [field as 'client_id']: _, ...rest } = provider;
      expect(refusalOf({ oidc_providers: [rest] })).toBe(`UNPROCESSABLE_BODY oidc_providers.0.${field}`);
    }
  });

  it('has what is given', () => {
    const given = {
      display_name: 'Acme',
      icon: '/acme.svg',
      priority: -3,
      enabled: false,
      client_secret: 'line 1\nline 2',
      redirect_uri: 'https://grove.example.org/auth/oidc/acme/callback',
      scopes: ['openid', 'groups'],
      groups_claim: 'groups',
      authorization_url: 'https://acme.example.org/authorize?tenant=1',
      token_url: 'http://127.0.0.1:9/token',
      userinfo_url: 'https://acme.example.org/me',
      jwks_url: 'https://acme.example.org/keys',
    };
    expect(readProvider(given)).toMatchObject(given);
    expect(readProvider({ scopes: 'openid  groups openid' })).toMatchObject({ scopes: ['openid', 'groups'] });
    expect(
      readProvider({ allowed_email_domains: ['Acme.org', 'acme.org', 'münchen.example'] }),
    ).toMatchObject({
      allowed_email_domains: ['acme.org', 'münchen.example'],
    });
    expect(readProvider({ attribute_mapping: { name: 'full_name' } })).toMatchObject({
      attribute_mapping: { email: 'email', name: 'full_name' },
    });
    expect(readProvider({ client_secret: null })).toHaveProperty('client_secret', null);
    expect(readProvider({ has_client_secret: true })).not.toHaveProperty('client_secret');
  });

  it.each([
    ['provider_id', ['', 'Acme', 'a b', 'a/b', '..', 'x'.repeat(64), 'ä']],
    ['display_name', ['x'.repeat(257), 'a\nb']],
    ['icon', ['x'.repeat(2_049)]],
    ['priority', [1_000_001]],
    [
      'issuer_url',
      ['', 'acme', 'ftp://acme', 'https://u:p@acme', 'https://acme#x', `https://a/${'x'.repeat(2_048)}`],
    ],
    ['client_id', ['', 'x'.repeat(257), 'a\0']],
    ['client_secret', ['', 'x'.repeat(4_097)]],
    [
      'redirect_uri',
      [
        'https://grove.example.org/',
        'https://grove.example.org/auth/oidc/other/callback',
        'https://grove.example.org/auth/oidc/acme/callback?a=b',
        'https://grove.example.org/auth/oidc/acme/callback/',
        'https://grove.example.org/x/../auth/oidc/acme/callback',
        'https://GROVE.example.org/auth/oidc/acme/callback',
        'https://grove.example.org:443/auth/oidc/acme/callback',
        'javascript:alert(1)',
      ],
    ],
    ['scopes', ['', 'email', ['email']]],
    ['groups_claim', ['a\r\nb']],
    ['token_url', ['file:///etc/passwd', 'x']],
  ])('is refused with a %s that is none', (field, values) => {
    for (const value of values)
      expect(refusal({ [field]: value })).toBe(`VALIDATION_FAILED oidc_providers.0.${field}`);
  });

  it('has an id of small letters, digits, - and _', () => {
    for (const id of ['a', 'acme-2_b', '0', '_', 'x'.repeat(63)])
      expect(readProvider({ provider_id: id })).toMatchObject({ provider_id: id });
    for (const id of ['', 'Acme', 'a.b', 'a/b', '..', 'a b', 'ä', 'x'.repeat(64)])
      expect(refusal({ provider_id: id })).toBe('VALIDATION_FAILED oidc_providers.0.provider_id');
  });

  it('is refused with an entry of a list that is none', () => {
    expect(refusal({ scopes: ['openid', 'a b'] })).toBe('VALIDATION_FAILED oidc_providers.0.scopes.1');
    for (const domain of ['', '*.acme.org', 'ann@acme.org', '-a', 'a'.repeat(254)])
      expect(refusal({ allowed_email_domains: [domain] })).toBe(
        'VALIDATION_FAILED oidc_providers.0.allowed_email_domains.0',
      );
  });

  it('has an id of its own, and there are 32 at most', () => {
    expect(refusalOf({ oidc_providers: [provider, { ...provider, client_id: 'other' }] })).toBe(
      'VALIDATION_FAILED oidc_providers.1.provider_id',
    );
    const many = (count: number): Body[] =>
      Array.from({ length: count }, (_, index) => ({ ...provider, provider_id: `p${index}` }));
    expect(refusalOf({ oidc_providers: many(32) })).toBe('accepted');
    expect(refusalOf({ oidc_providers: many(33) })).toBe('VALIDATION_FAILED oidc_providers');
  });

  it('is never quoted with its secret or an address that may have one', () => {
    for (const more of [{ client_secret: 'S'.repeat(5_000) }, { issuer_url: 'https://user:SSSS@acme' }]) {
      let message = '';
      try {
        readProvider(more);
      } catch (error) {
        ({ message } = error as Error);
      }
      expect(message).not.toBe('');
      expect(message).not.toContain('SSSS');
    }
  });
});
