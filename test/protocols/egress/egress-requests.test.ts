import type { IncomingHttpHeaders } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { AskedRequest } from '#protocols/egress/outgoing-request.ts';
import { errorOf, guardOf, open, startHttp, stopAll } from './egress-fixture.ts';

afterEach(stopAll);

/** Sends a request to a server that answers with what it received. */
async function echoed(
  asked: AskedRequest,
  allowance = open,
): Promise<{ readonly headers: IncomingHttpHeaders; readonly body: string; readonly url: string }> {
  const server = await startHttp((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => void parts.push(part));
    request.on('end', () => {
      const { headers, url } = request;
      response.end(JSON.stringify({ headers, url, body: String(Buffer.concat(parts)) }));
    });
  });
  const guard = guardOf(allowance);
  const response = await guard.fetch(`http://127.0.0.1:${server.port}/a%20b?c=d#e`, {
    tenant: 'acme',
    ...asked,
  });
  return (await response.json()) as { headers: IncomingHttpHeaders; body: string; url: string };
}

describe('a request', () => {
  it.each([
    ['text', 'text', 'text/plain;charset=UTF-8'],
    [new URLSearchParams({ a: 'b c' }), 'a=b+c', 'application/x-www-form-urlencoded;charset=UTF-8'],
    [Uint8Array.of(0, 0x61, 0x62, 0).subarray(1, 3), 'ab', undefined],
    [Uint8Array.of(0x61).buffer, 'a', undefined],
    ['', '', 'text/plain;charset=UTF-8'],
    [undefined, '', undefined],
  ] as const)('sends its body with its length and type: %s', async (body, text, type) => {
    const seen = await echoed({ method: 'post', body });
    expect(seen.body).toBe(text);
    expect(seen.headers['content-length']).toBe(String(text.length));
    expect(seen.headers['content-type']).toBe(type);
    expect(seen.headers['transfer-encoding']).toBeUndefined();
  });

  it.each(['PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'])(
    'of %s sends a body with its length',
    async (method) => {
      // Without it, a server reads the body as the next request.
      const body = 'GET /next HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n';
      const seen = await echoed({ method, body }, { ...open, methods: [method] });
      expect([seen.url, seen.body, seen.headers['content-length']]).toEqual([
        '/a%20b?c=d',
        body,
        String(body.length),
      ]);
    },
  );

  it('sends the headers of the caller, and its own', async () => {
    const seen = await echoed({ headers: { 'X-Key': 'v', 'User-Agent': 'other' } });
    expect(seen.url).toBe('/a%20b?c=d');
    expect(seen.headers).toMatchObject({
      'x-key': 'v',
      'user-agent': 'other',
      accept: '*/*',
      'accept-encoding': 'gzip',
      connection: 'keep-alive',
    });
    expect(seen.headers.host).toMatch(/^127\.0\.0\.1:\d+$/);
  });

  it.each([
    ['Host', 'example.com'],
    ['Content-Length', '5'],
    ['Transfer-Encoding', 'chunked'],
    ['Connection', 'close'],
    ['Upgrade', 'h2c'],
    ['Expect', '100-continue'],
    ['TE', 'trailers'],
    ['Proxy-Authorization', 'x'],
    ['X-Bad', 'a\r\nHost: b'],
    ['X-Bad', 'a\0b'],
    ['X-Bad', 'a\u0001b'],
    ['Bad Name', 'x'],
    ['X-Unicode', 'ä€'],
    ['X-Long', 'a'.repeat(40_000)],
  ])('may not set the header %s', async (name, value) => {
    const error = await errorOf(echoed({ headers: { [name]: value } }));
    expect([error.code, error.field]).toEqual(['VALIDATION_FAILED', 'headers']);
  });

  it('sets only headers of its allowance', async () => {
    const listed = { ...open, headers: ['x-key'] };
    expect((await echoed({ headers: { 'x-key': 'v' } }, listed)).headers['x-key']).toBe('v');
    expect((await errorOf(echoed({ headers: { 'x-other': 'v' } }, listed))).field).toBe('headers');
  });

  it.each(['DELETE', 'CONNECT', 'TRACE', 'G ET', ''])(
    'has a method of its allowance, not %j',
    async (method) => {
      const error = await errorOf(echoed({ method }));
      expect([error.code, error.field]).toEqual(['VALIDATION_FAILED', 'method']);
    },
  );

  it.each([
    ['GET', 'x'],
    ['HEAD', 'x'],
    ['POST', new ReadableStream()],
    ['POST', new FormData()],
    ['POST', new Blob(['x'])],
  ])('has no other body: %s %s', async (method, body) => {
    const error = await errorOf(echoed({ method, body }));
    expect([error.code, error.field]).toEqual(['VALIDATION_FAILED', 'body']);
  });
});
