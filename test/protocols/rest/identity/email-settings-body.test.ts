import { describe, expect, it } from 'vitest';
import { readAuthConfigurationChange } from '#protocols/rest/identity/auth-configuration-body.ts';
import {
  defaultAuthConfiguration,
  mergedAuthConfiguration,
  shownAuthConfiguration,
} from '#runtime/access/identity/auth-configuration.ts';

type Body = Record<string, unknown>;

const provider = {
  kind: 'smtp',
  host: 'Mail.Example.org',
  port: 465,
  security: 'tls',
  username: 'ann',
  password: 'p ä:"',
  from: 'Example <login@example.org>',
  reply_to: 'help@example.org',
};

const email = {
  base_url: 'https://www.example.org/app/',
  default_provider: 'main',
  redirect_allowlist: ['https://other.example.org'],
  providers: { main: provider },
};

const read = (body: unknown): Body => readAuthConfigurationChange({ email: body }, 'acme') as Body;

function refusalOf(body: unknown): string {
  try {
    read(body);
  } catch (error) {
    const { code, field } = error as { code: string; field?: string };
    return `${code} ${field}`;
  }
  return 'accepted';
}

const withProvider = (more: Body): Body => ({ ...email, providers: { main: { ...provider, ...more } } });

describe('the mail settings in a change of the configuration', () => {
  it('are what was given, in one spelling', () => {
    expect(read(email)).toEqual({
      email: {
        ...email,
        base_url: 'https://www.example.org/app',
        providers: { main: { ...provider, host: 'mail.example.org' } },
      },
    });
    expect(read(null)).toEqual({ email: null });
    expect(readAuthConfigurationChange({}, 'acme')).toEqual({});
  });

  it('need no account, list and address for answers', () => {
    const { password: _p, reply_to: _r, username: _u, ...least } = provider;
    const { redirect_allowlist: _l, ...rest } = email;
    expect(read({ ...rest, providers: { main: least } })).toMatchObject({
      email: { redirect_allowlist: [], providers: { main: { username: null, reply_to: null } } },
    });
    // Forms send empty texts.
    expect(read(withProvider({ username: '', password: '', reply_to: '' }))).toEqual(
      read({ ...email, providers: { main: least } }),
    );
    expect(read(withProvider({ password: null }))).toMatchObject({
      email: { providers: { main: { password: null } } },
    });
  });

  it('are refused when a part is missing or of another type', () => {
    for (const field of ['base_url', 'default_provider', 'providers']) {
      const { [field]: _, ...rest } = email as Body;
      expect(refusalOf(rest)).toBe(`UNPROCESSABLE_BODY email.${field}`);
      expect(refusalOf({ ...email, [field]: 7 })).toBe(`UNPROCESSABLE_BODY email.${field}`);
    }
    for (const field of ['kind', 'host', 'port', 'security', 'from']) {
      const { [field]: _, ...rest } = provider as Body;
      expect(refusalOf({ ...email, providers: { main: rest } })).toBe(
        `UNPROCESSABLE_BODY email.providers.main.${field}`,
      );
    }
    for (const body of [[], 'x', 7, true]) expect(refusalOf(body)).toBe('UNPROCESSABLE_BODY email');
  });

  it('are refused when a value cannot be used', () => {
    const wrong: readonly (readonly [string, Body])[] = [
      ['base_url', { ...email, base_url: '/app' }],
      [
        'redirect_allowlist.1',
        { ...email, redirect_allowlist: ['https://a.example', 'https://u@b.example'] },
      ],
      [
        'redirect_allowlist',
        { ...email, redirect_allowlist: Array.from({ length: 101 }, () => 'https://a.example') },
      ],
      ['default_provider', { ...email, default_provider: 'other' }],
      ['default_provider', { ...email, default_provider: 'toString' }],
      ['providers', { ...email, providers: { Über: provider } }],
      [
        'providers',
        {
          ...email,
          providers: Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`p${index}`, provider])),
        },
      ],
      ['providers.main.kind', withProvider({ kind: 'http' })],
      ['providers.main.host', withProvider({ host: 'mail.example.org:25' })],
      ['providers.main.host', withProvider({ host: `${'a'.repeat(250)}.org` })],
      ['providers.main.port', withProvider({ port: 0 })],
      ['providers.main.port', withProvider({ port: 65_536 })],
      ['providers.main.security', withProvider({ security: 'ssl' })],
      ['providers.main.username', withProvider({ username: 'ann\r\nQUIT' })],
      ['providers.main.password', withProvider({ password: 'x'.repeat(1_025) })],
      ['providers.main.from', withProvider({ from: 'a@b.example, c@d.example' })],
      ['providers.main.reply_to', withProvider({ reply_to: 'x\r\nBcc: y@example.org' })],
    ];
    for (const [field, body] of wrong) expect(refusalOf(body)).toBe(`VALIDATION_FAILED email.${field}`);
  });

  it('may be sent back as they are read, and keep their passwords', () => {
    const stored = mergedAuthConfiguration(
      defaultAuthConfiguration,
      readAuthConfigurationChange({ email }, 'acme'),
    );
    const shown = shownAuthConfiguration(stored, 'acme');
    const again = mergedAuthConfiguration(stored, readAuthConfigurationChange(shown, 'acme'));
    expect(again.email).toEqual(stored.email);
    expect(again.email?.providers.main?.password).toBe(provider.password);
  });
});
