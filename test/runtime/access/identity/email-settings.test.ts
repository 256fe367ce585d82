import { describe, expect, it } from 'vitest';
import {
  type AuthConfiguration,
  defaultAuthConfiguration,
  mergedAuthConfiguration,
  shownAuthConfiguration,
  withSealedMailPasswords,
} from '#runtime/access/identity/auth-configuration.ts';
import type { EmailSettingsChange, MailProviderChange } from '#runtime/access/identity/email-settings.ts';

const provider: MailProviderChange = {
  kind: 'smtp',
  host: 'mail.example.org',
  port: 465,
  security: 'tls',
  username: 'ann',
  password: 'sealed',
  from: 'login@example.org',
  reply_to: null,
};

function settings(providers: Readonly<Record<string, MailProviderChange>>): EmailSettingsChange {
  return {
    base_url: 'https://www.example.org',
    default_provider: Object.keys(providers)[0] ?? '',
    redirect_allowlist: [],
    providers,
  };
}

const merged = (stored: AuthConfiguration, email: EmailSettingsChange | null): AuthConfiguration =>
  mergedAuthConfiguration(stored, { email });

const stored = merged(defaultAuthConfiguration, settings({ main: provider }));

const without = (more: Partial<MailProviderChange> = {}): MailProviderChange => {
  const { password: _, ...rest } = provider;
  return { ...rest, ...more };
};

const refusal = expect.objectContaining({
  code: 'VALIDATION_FAILED',
  field: 'email.providers.main.password',
}) as Error;

describe('the mail settings of a tenant', () => {
  it('are replaced as a whole, and stay when a change has none', () => {
    expect(defaultAuthConfiguration.email).toBeNull();
    expect(stored.email).toEqual(settings({ main: provider }));
    expect(mergedAuthConfiguration(stored, { cors_allowed_origins: [] }).email).toEqual(stored.email);
    expect(merged(stored, settings({ other: provider })).email?.providers).toEqual({ other: provider });
    expect(merged(stored, null).email).toBeNull();
  });

  it('keep a password that is not given, for the same server and user name only', () => {
    const kept = merged(stored, settings({ main: without({ from: 'other@example.org' }) }));
    expect(kept.email?.providers.main).toMatchObject({ password: 'sealed', from: 'other@example.org' });
    for (const change of [
      { host: 'mail.evil.example' },
      { port: 2525 },
      { security: 'starttls' },
      { username: 'eve' },
    ] as const)
      expect(() => merged(stored, settings({ main: without(change) }))).toThrow(refusal);
    // Nor for another provider, or after it was removed.
    expect(() => merged(stored, settings({ other: without() }))).toThrow(/password/);
    expect(() => merged(merged(stored, null), settings({ main: without() }))).toThrow(refusal);
    expect(() => merged(stored, settings({ main: { ...provider, password: null } }))).toThrow(refusal);
  });

  it('have a password only with a user name', () => {
    expect(() => merged(stored, settings({ main: { ...provider, username: null } }))).toThrow(refusal);
    const open = { ...provider, username: null, password: null };
    expect(merged(stored, settings({ main: open })).email?.providers.main).toEqual(open);
    expect(merged(stored, settings({ main: without({ username: null }) })).email?.providers.main).toEqual(
      open,
    );
  });

  it('seal the passwords that are given, each for its provider', () => {
    const change = { email: settings({ main: provider, other: without() }) };
    const sealed = withSealedMailPasswords(change, (password, name) => `${name}:${password.length}`);
    expect(sealed.email?.providers).toEqual({
      main: { ...provider, password: 'main:6' },
      other: without(),
    });
    expect(withSealedMailPasswords({}, () => 'x')).toEqual({});
    expect(withSealedMailPasswords({ email: null }, () => 'x')).toEqual({ email: null });
  });

  it('are read without any password', () => {
    const shown = shownAuthConfiguration(stored, 'acme');
    expect(JSON.stringify(shown)).not.toContain('sealed');
    const { password: _, ...rest } = provider;
    expect(shown.email).toMatchObject({ providers: { main: { ...rest, has_password: true } } });
    expect(shownAuthConfiguration(defaultAuthConfiguration, 'acme').email).toBeNull();
  });
});
