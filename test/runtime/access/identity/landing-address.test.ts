import { assert as check, constantFrom, property, string, tuple } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allowedLanding, LANDING_CHARACTERS_MAX } from '#runtime/access/identity/landing-address.ts';

const bases = ['https://app.example.org/app', 'https://other.example.org', 'http://127.0.0.1:3000'];

const landing = (text: string): string | undefined => allowedLanding(text, bases);

describe('where a person may land', () => {
  it('is a configured address, or lies under one by whole segments', () => {
    for (const [text, href = text] of [
      ['https://app.example.org/app'],
      ['https://app.example.org/app/'],
      ['https://app.example.org/app/deep/page?next=%2Fhome&x=1'],
      ['https://other.example.org', 'https://other.example.org/'],
      ['https://other.example.org/anything/at/all'],
      ['HTTPS://OTHER.example.org/Case', 'https://other.example.org/Case'],
      ['https://other.example.org:443/', 'https://other.example.org/'],
      ['http://127.0.0.1:3000/x'],
      ['https://app.example.org/app/a/../b', 'https://app.example.org/app/b'],
    ] as readonly (readonly [string, string?])[])
      expect(landing(text), text).toBe(href);
  });

  it('is nothing else, whatever it looks like', () => {
    for (const text of [
      '',
      '/app',
      '//app.example.org/app',
      '//evil.example',
      '/\\evil.example',
      'https:/\\evil.example',
      'https:///evil.example',
      'https:evil.example',
      '\\\\evil.example',
      'https://evil.example',
      'https://app.example.org',
      'https://app.example.org/',
      'https://app.example.org/application',
      'https://app.example.org/app.evil',
      'https://app.example.org/app/../admin',
      'https://app.example.org/app/%2e%2e/admin',
      'https://app.example.org/app/.%2E/admin',
      'https://app.example.org/app%2fadmin',
      'https://app.example.org/app/%5c..%5cadmin',
      'https://app.example.org/%61pp/../x',
      'http://app.example.org/app',
      'https://app.example.org:8443/app',
      'http://127.0.0.1/x',
      'https://app.example.org@evil.example/app',
      'https://app.example.org:443@evil.example/app',
      'https://user@app.example.org/app',
      'https://user:pass@app.example.org/app',
      'https://app.example.org.evil.example/app',
      'https://evil.example/https://app.example.org/app',
      'https://evil.example?https://app.example.org/app',
      'https://app.example.org\\@evil.example/app',
      'https://app.example.org/app#access_token=mine',
      'https://app.example.org/app\r\nSet-Cookie: a=b',
      ' https://app.example.org/app',
      'https://app.example.org/app\t',
      'https://app.exa\u00admple.org/app',
      'javascript:alert(1)',
      'javascript://app.example.org/app%0aalert(1)',
      'data:text/html,x',
      'ftp://app.example.org/app',
      `https://app.example.org/app/${'a'.repeat(LANDING_CHARACTERS_MAX)}`,
    ])
      expect(landing(text), JSON.stringify(text)).toBeUndefined();
  });

  it('has an origin of the list, for every text', async () => {
    const origins = new Set(bases.map((base) => new URL(base).origin));
    const start = constantFrom(
      'https://app.example.org/app',
      'https://other.example.org',
      'https://',
      '//',
      '',
    );
    await check(
      property(tuple(start, string({ unit: 'grapheme' }), string()), (parts) => {
        const found = landing(parts.join(''));
        if (found === undefined) return;
        const url = new URL(found);
        expect(origins).toContain(url.origin);
        expect(url.username + url.password + url.hash).toBe('');
        if (url.hostname === 'app.example.org') expect(url.pathname).toMatch(/^\/app(?:\/|$)/);
      }),
      { numRuns: 2_000 },
    );
  });
});
