import { expect, it } from 'vitest';
import {
  type AuthConfiguration,
  defaultAuthConfiguration,
} from '#runtime/access/identity/auth-configuration.ts';
import { storedSecrets, withReplacedSecrets } from '#runtime/access/identity/stored-secrets.ts';

/** A configuration with a secret wherever one can be. */
const full = {
  ...defaultAuthConfiguration,
  oidc_providers: [
    { provider_id: 'google', client_secret: 'v1.google' },
    { provider_id: 'public', client_secret: null },
    { provider_id: 'corp', client_secret: 'v1.corp' },
  ],
  email: {
    base_url: 'https://example.org',
    default_provider: 'main',
    redirect_allowlist: [],
    providers: { main: { host: 'a', password: 'v1.main' }, open: { host: 'b', password: null } },
  },
} as unknown as AuthConfiguration;

it('are those of the clients at providers and of the accounts at mail servers', () => {
  expect(storedSecrets(full)).toEqual([
    { kind: 'client', provider: 'google', sealed: 'v1.google' },
    { kind: 'client', provider: 'corp', sealed: 'v1.corp' },
    { kind: 'mail', provider: 'main', sealed: 'v1.main' },
  ]);
  expect(storedSecrets(defaultAuthConfiguration)).toEqual([]);
});

it('are all encrypted texts of a configuration: none is left behind with the previous key', () => {
  const texts = JSON.stringify(full).match(/v1\.\w+/g);
  expect(storedSecrets(full).map(({ sealed }) => sealed)).toEqual(texts);
});

it('are replaced each by itself, and nothing else changes', () => {
  const replaced = withReplacedSecrets(
    full,
    new Map([
      ['v1.corp', 'new corp'],
      ['v1.main', 'new main'],
      ['gone', 'x'],
    ]),
  );
  expect(storedSecrets(replaced).map(({ sealed }) => sealed)).toEqual(['v1.google', 'new corp', 'new main']);
  const back = withReplacedSecrets(
    replaced,
    new Map([
      ['new corp', 'v1.corp'],
      ['new main', 'v1.main'],
    ]),
  );
  expect(back).toEqual(full);
  expect(withReplacedSecrets(defaultAuthConfiguration, new Map())).toEqual(defaultAuthConfiguration);
});
