import { describe, expect, it } from 'vitest';
import { landingUrl } from '#protocols/identity/oidc/landing-url.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';

const allowed = {
  origins: ['https://app.example.org', 'http://localhost:3000', '*'],
  ownOrigin: 'https://content.example.org',
};

const codeOf = (text: string): string => {
  try {
    return landingUrl(text, allowed);
  } catch (error) {
    const { code, field } = error as ServiceError;
    return `${code} ${field}`;
  }
};

describe('a login may end', () => {
  it.each([
    ['/', '/'],
    ['/app', '/app'],
    ['/app/?next=%2Fhome&a=b', '/app/?next=%2Fhome&a=b'],
    ['/a/../b', '/b'],
    ['/a//b', '/a//b'],
    ['/%20a', '/%20a'],
    ['/ä', '/%C3%A4'],
    ['https://app.example.org', 'https://app.example.org/'],
    ['https://app.example.org/done?x=1', 'https://app.example.org/done?x=1'],
    ['HTTPS://APP.example.org:443/done', 'https://app.example.org/done'],
    ['http://localhost:3000/', 'http://localhost:3000/'],
    ['https://content.example.org/app', 'https://content.example.org/app'],
  ])('at %s', (text, url) => {
    expect(codeOf(text)).toBe(url);
  });
});

describe('a login does not end [OIDC-008]', () => {
  it.each([
    '',
    'app',
    './app',
    '//evil.example.net',
    '///evil.example.net',
    '/\\evil.example.net',
    '\\\\evil.example.net',
    '/\\/evil.example.net',
    '/.//evil.example.net',
    '/..//evil.example.net',
    '/a/..//evil.example.net',
    '/%2e%2e//evil.example.net',
    '/%2fevil.example.net',
    '/%2F%2Fevil.example.net',
    '/a/%5cevil.example.net',
    '/%0d%0aLocation:%20https://evil.example.net',
    '/%00',
    '/\t/evil.example.net',
    '/\n/evil.example.net',
    '\u0000//evil.example.net',
    ' /app',
    '/app\u200b',
    '/app\u{feff}',
    '/\ud800',
    '/app#token',
    'https://app.example.org/#token',
    'https://evil.example.net',
    'https://app.example.org.evil.example.net',
    'https://evil.example.net/https://app.example.org',
    'https://evil.example.net?https://app.example.org',
    'https://app.example.org@evil.example.net',
    'https://app.example.org:80@evil.example.net',
    'https://user@app.example.org',
    'https://user:word@app.example.org',
    'https://app.example.org:8443',
    'http://app.example.org',
    'https:/evil.example.net',
    'https:evil.example.net',
    'https:\\\\evil.example.net',
    'https://app.example.org\\@evil.example.net',
    'http://localhost:3001',
    'javascript:alert(1)//https://app.example.org',
    'data:text/html,x',
    'file:///etc/passwd',
    'blob:https://app.example.org/1',
    '*',
    'null',
    `/${'a'.repeat(2_000)}`,
  ])('at %j', (text) => {
    expect(codeOf(text)).toBe('VALIDATION_FAILED redirect_uri');
  });

  it('at another origin when every origin may read answers', () => {
    const everyOrigin = { origins: ['*'], ownOrigin: undefined };
    expect(() => landingUrl('https://evil.example.net', everyOrigin)).toThrow('cors_allowed_origins');
    expect(() => landingUrl('https://landing.invalid', everyOrigin)).toThrow('cors_allowed_origins');
  });

  it('with a message that repeats the URL', () => {
    expect(() => landingUrl('https://evil.example.net/<script>', allowed)).toThrow(
      /^The landing URL in redirect_uri must be a path of this server, or begin with an origin in cors_allowed_origins$/,
    );
  });
});
