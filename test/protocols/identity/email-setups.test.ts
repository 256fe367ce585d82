import { describe, expect, it } from 'vitest';
import { EmailSetups } from '#protocols/identity/email-setups.ts';
import { type EmailSettings, mailPasswordPurpose } from '#runtime/access/identity/email-settings.ts';
import { loadOptions } from '#runtime/config/load-options.ts';
import { OptionError } from '#runtime/config/option.ts';
import { SecretBox } from '#runtime/config/secret-box.ts';

const box = new SecretBox(Buffer.alloc(32, 7));

const smtp = {
  SVC_SMTP_URL: 'smtps://ann:pass%21@mail.example.org',
  SVC_EMAIL_FROM: 'Example <login@example.org>',
};

const setups = (env: Readonly<Record<string, string>>): EmailSetups =>
  new EmailSetups(
    loadOptions(env, () => undefined),
    box,
  );

const settings: EmailSettings = {
  base_url: 'https://app.acme.example/start',
  default_provider: 'main',
  redirect_allowlist: ['https://other.acme.example'],
  providers: {
    main: {
      kind: 'smtp',
      host: 'mail.acme.example',
      port: 587,
      security: 'starttls',
      username: 'ann',
      password: box.seal(mailPasswordPurpose('acme', 'main'), 'geheim'),
      from: 'login@acme.example',
      reply_to: 'help@acme.example',
    },
  },
};

describe('how mail is sent', () => {
  it('is nothing without a configuration', () => {
    expect(setups({}).of('acme', { email: null })).toBeUndefined();
    expect(setups({ SVC_BASE_URL: 'https://grove.example.org' }).of('acme', { email: null })).toBeUndefined();
  });

  it('is as the operator says where the tenant says nothing', () => {
    const setup = setups({ ...smtp, SVC_BASE_URL: 'https://grove.example.org' }).of('acme', { email: null });
    expect(setup).toMatchObject({
      baseUrl: 'https://grove.example.org',
      landings: ['https://grove.example.org'],
      origin: 'https://grove.example.org',
    });
    const server = setup?.server();
    expect(server).toMatchObject({
      host: 'mail.example.org',
      port: 465,
      security: 'tls',
      account: { username: 'ann' },
      from: { name: 'Example', address: 'login@example.org' },
      isOperators: true,
    });
    expect(server?.account?.password.reveal()).toBe('pass!');
    expect(JSON.stringify(server)).not.toContain('pass!');
  });

  it('lands where the operator says, and links to the server', () => {
    const own = { ...smtp, SVC_EMAIL_BASE_URL: 'https://www.example.org/app/' };
    expect(setups(own).of('acme', { email: null })).toMatchObject({
      baseUrl: 'https://www.example.org/app',
      origin: 'https://www.example.org',
    });
    expect(
      setups({ ...own, SVC_BASE_URL: 'https://grove.example.org' }).of('acme', { email: null }),
    ).toMatchObject({ baseUrl: 'https://www.example.org/app', origin: 'https://grove.example.org' });
  });

  it('is as the tenant says where it says something', () => {
    const setup = setups({ ...smtp, SVC_BASE_URL: 'https://grove.example.org' }).of('acme', {
      email: settings,
    });
    expect(setup).toMatchObject({
      provider: 'main',
      baseUrl: 'https://app.acme.example/start',
      landings: ['https://app.acme.example/start', 'https://other.acme.example'],
      origin: 'https://grove.example.org',
    });
    const server = setup?.server();
    expect(server).toMatchObject({ host: 'mail.acme.example', security: 'starttls', isOperators: false });
    expect(server?.account?.password.reveal()).toBe('geheim');
    expect(setups({}).of('acme', { email: settings })?.origin).toBe('https://app.acme.example');
  });

  it('has no password that was stored for another tenant or provider, or with another key', () => {
    const failing = expect.objectContaining({ code: 'EMAIL_NOT_CONFIGURED' }) as Error;
    expect(() => setups({}).of('other', { email: settings })?.server()).toThrow(failing);
    const { main } = settings.providers;
    if (main === undefined) throw new Error('there is a provider');
    const renamed = { ...settings, default_provider: 'copy', providers: { copy: main } };
    expect(() => setups({}).of('acme', { email: renamed })?.server()).toThrow(failing);
    const others = new EmailSetups(
      loadOptions({}, () => undefined),
      new SecretBox(Buffer.alloc(32, 8)),
    );
    expect(() => others.of('acme', { email: settings })?.server()).toThrow(failing);
  });
});

describe('the options of mail', () => {
  it('are complete, or the server does not start', () => {
    const start = (env: Readonly<Record<string, string>>) => () => setups(env);
    const { SVC_EMAIL_FROM, SVC_SMTP_URL } = smtp;
    const base = { SVC_BASE_URL: 'https://grove.example.org' };
    expect(start({ SVC_SMTP_URL, ...base })).toThrow(/SVC_EMAIL_FROM/);
    expect(start({ ...smtp })).toThrow(/SVC_BASE_URL or SVC_EMAIL_BASE_URL/);
    expect(start({ SVC_SMTP_URL: 'mail:geheim', SVC_EMAIL_FROM, ...base })).toThrow(OptionError);
    expect(start({ SVC_SMTP_URL: 'smtp://a:geheim@b/x', SVC_EMAIL_FROM, ...base })).not.toThrow(/geheim/);
    expect(start({ ...smtp, ...base })).not.toThrow();
  });
});
