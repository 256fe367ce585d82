import { expect, it } from 'vitest';
import {
  type AuthConfigurationChange,
  defaultAuthConfiguration,
  mergedAuthConfiguration,
} from '#runtime/access/identity/auth-configuration.ts';
import { changedFields } from '#runtime/access/identity/configuration-changes.ts';
import { providerChange } from '#test/support/provider-change.ts';

const stored = mergedAuthConfiguration(defaultAuthConfiguration, {
  oidc_providers: [providerChange('a', { client_secret: 'old secret' }), providerChange('b')],
});

const changedBy = (change: AuthConfigurationChange) =>
  changedFields(stored, mergedAuthConfiguration(stored, change));

it('names the fields that a change has changed, and no values', () => {
  const change: AuthConfigurationChange = {
    password_policy: { ...defaultAuthConfiguration.password_policy, min_length: 12 },
    anonymous_enabled: true,
    cors_allowed_origins: ['https://a.example.org'],
    oidc_providers: [
      providerChange('c'),
      providerChange('a', { client_secret: 'new secret', scopes: ['openid', 'email'] }),
    ],
  };
  expect(changedBy(change)).toEqual({
    changed: [
      'password_policy.min_length',
      'anonymous_enabled',
      'cors_allowed_origins',
      'oidc_providers.a.scopes',
      'oidc_providers.a.client_secret',
      'oidc_providers.b',
      'oidc_providers.c',
    ],
    more: 0,
  });
  expect(changedBy({ anonymous_enabled: null })).toEqual({ changed: [], more: 0 });
});

it('names a bounded number', () => {
  const many = Array.from({ length: 32 }, (_, index) => providerChange(`${index}-${'x'.repeat(60)}`));
  const before = mergedAuthConfiguration(defaultAuthConfiguration, { oidc_providers: many });
  const after = mergedAuthConfiguration(before, {
    oidc_providers: many.map((each) => ({ ...each, icon: 'i', priority: 1, enabled: false, scopes: [] })),
  });
  const { changed, more } = changedFields(before, after);
  expect(changed.join('').length).toBeLessThanOrEqual(3_000);
  expect(changed.length + more).toBe(4 * 32);
});
