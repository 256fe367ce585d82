import { describe, expect, it } from 'vitest';
import {
  checkBaseAddress,
  checkPort,
  checkSmtpUrl,
  parseMailbox,
  parseSmtpUrl,
} from '#runtime/config/mail-checks.ts';
import { OptionError } from '#runtime/config/option.ts';

describe('the address of a mail server', () => {
  it('says how the connection is protected, and has the usual port of that', () => {
    const nobody = { username: null, password: null };
    expect(parseSmtpUrl('smtps://mail.example.org')).toEqual({
      host: 'mail.example.org',
      port: 465,
      security: 'tls',
      ...nobody,
    });
    expect(parseSmtpUrl('smtp://mail.example.org/')).toMatchObject({ port: 587, security: 'starttls' });
    expect(parseSmtpUrl('smtp://[::1]:25?security=none')).toEqual({
      host: '::1',
      port: 25,
      security: 'none',
      ...nobody,
    });
  });

  it('has user name and password in percent-encoding', () => {
    expect(parseSmtpUrl('smtps://ann%40example.org:p%3A%40%2F@mail.example.org:2525')).toMatchObject({
      username: 'ann@example.org',
      password: 'p:@/',
      port: 2525,
    });
  });

  it('is refused in any other form, without the password in the message', () => {
    for (const text of [
      'mail.example.org',
      'https://user:Geheim1@mail.example.org',
      'smtp://',
      'smtp://user:Geheim1@mail.example.org/path',
      'smtp://user:Geheim1@mail.example.org?security=tls',
      'smtps://user:Geheim1@mail.example.org?security=none',
      'smtp://user:Geheim1@mail.example.org#x',
      'smtp://user@mail.example.org',
      'smtp://user:Geheim1%ZZ@mail.example.org',
      'smtp://user:Geheim1%0d%0aQUIT@mail.example.org',
    ]) {
      expect(() => checkSmtpUrl(text), text).toThrow(OptionError);
      expect(() => checkSmtpUrl(text), text).not.toThrow(/Geheim1/);
    }
  });
});

describe('a mailbox', () => {
  it('is an address, with a name or without', () => {
    expect(parseMailbox('login@example.org')).toEqual({ name: '', address: 'login@example.org' });
    expect(parseMailbox(' Grüße <login@example.org> ')).toEqual({
      name: 'Grüße',
      address: 'login@example.org',
    });
    expect(parseMailbox('"Example, Inc." <a.b+c@mail.example.org>')).toEqual({
      name: 'Example, Inc.',
      address: 'a.b+c@mail.example.org',
    });
  });

  it('cannot add a header, a command or a second address', () => {
    for (const text of [
      '',
      'login',
      'login@',
      'login@example.org\r\nBcc: eve@example.org',
      'Name\r\nBcc: eve@example.org <login@example.org>',
      'login@example.org, eve@example.org',
      '<login@example.org> <eve@example.org>',
      'Eve <eve@example.org> <login@example.org>',
      'login@example.org> SIZE=1',
      'lo gin@example.org',
      '"lo gin"@example.org',
      'Name\u2028 <login@example.org>',
      `${'x'.repeat(600)}@example.org`,
    ])
      expect(() => parseMailbox(text), text).toThrow(OptionError);
  });
});

describe('an address that others lie under', () => {
  it('is scheme, host, port and path', () => {
    expect(checkBaseAddress('https://www.Example.org/')).toBe('https://www.example.org');
    expect(checkBaseAddress('https://www.example.org/app//')).toBe('https://www.example.org/app');
    expect(checkBaseAddress('http://127.0.0.1:8080/a/b')).toBe('http://127.0.0.1:8080/a/b');
  });

  it('has nothing else', () => {
    for (const text of [
      '/app',
      '//www.example.org',
      'javascript:alert(1)',
      'https://user@www.example.org',
      'https://www.example.org/?a=b',
      'https://www.example.org/#a',
      'https://www.example.org\\app',
      'https://www.example.org/%2e%2e/app',
      `https://www.example.org/${'a'.repeat(3_000)}`,
    ])
      expect(() => checkBaseAddress(text), text).toThrow(OptionError);
  });
});

describe('a port', () => {
  it('is from 1 to 65535', () => {
    expect(checkPort('465')).toBe('465');
    for (const text of ['0', '65536', '-1', '4.5', '0465', ''])
      expect(() => checkPort(text)).toThrow(OptionError);
  });
});
