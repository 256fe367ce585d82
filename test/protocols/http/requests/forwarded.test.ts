import { describe, expect, it } from 'vitest';
import { createExternalOrigin } from '#protocols/http/requests/forwarded.ts';

/** A request with these headers, of which only one may have each name. */
function request(headers: Readonly<Record<string, string>>) {
  const header = (name: string): string | undefined => headers[name];
  return { header, headerList: header };
}

const originOf = (
  headers: Readonly<Record<string, string>>,
  options: { readonly baseUrl?: string; readonly isTrusted?: boolean } = {},
): string =>
  createExternalOrigin({
    baseUrl: options.baseUrl,
    trustForwardedHeaders: options.isTrusted ?? false,
  })(request(headers));

const forwarded = {
  host: 'member-1:8080',
  'x-forwarded-host': 'content.example.org',
  'x-forwarded-proto': 'https',
};

describe('the origin of links', () => {
  it('is SVC_BASE_URL where that is set, whatever a request says', () => {
    for (const isTrusted of [false, true])
      expect(originOf(forwarded, { baseUrl: 'https://canonical.example', isTrusted })).toBe(
        'https://canonical.example',
      );
  });

  it('is that of the request otherwise, and forwarded headers count only where they are trusted [ORIGIN-002]', () => {
    expect(originOf(forwarded)).toBe('http://member-1:8080');
    expect(originOf(forwarded, { isTrusted: true })).toBe('https://content.example.org');
  });

  it.each<[string, Readonly<Record<string, string>>, string]>([
    ['the last entry of a list', { 'x-forwarded-host': 'evil.example, a.example' }, 'http://a.example'],
    [
      'a port',
      { 'x-forwarded-host': 'a.example:8443', 'x-forwarded-proto': 'HTTPS' },
      'https://a.example:8443',
    ],
    [
      'a usual port as none',
      { 'x-forwarded-host': 'A.Example:443', 'x-forwarded-proto': 'https' },
      'https://a.example',
    ],
    ['an IPv6 address', { 'x-forwarded-host': '[::1]:8080' }, 'http://[::1]:8080'],
    [
      'no protocol but these two',
      { 'x-forwarded-host': 'a.example', 'x-forwarded-proto': 'javascript' },
      'http://a.example',
    ],
    ['the protocol without a host', { host: 'b.example', 'x-forwarded-proto': 'https' }, 'https://b.example'],
  ])('takes from a proxy %s', (_, headers, origin) => {
    expect(originOf({ host: 'member', ...headers }, { isTrusted: true })).toBe(origin);
  });

  it.each([
    'a.example/path',
    'user@a.example',
    'a.example?x',
    'a.example#x',
    'a.example\\@b.example',
    'a b',
    'a.example:99999',
    '',
    '[zz]',
    '-',
    'ä.example',
  ])('is never made of the host %j', (host) => {
    expect(originOf({ host })).toBe('http://localhost');
    expect(originOf({ host: 'good.example', 'x-forwarded-host': host }, { isTrusted: true })).toBe(
      'http://good.example',
    );
  });
});
