import type { IncomingHttpHeaders } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import type { EgressAllowance } from '#protocols/egress/allowance.ts';
import type { GuardedRequest } from '#protocols/egress/egress-guard.ts';
import { errorOf, guardOf, open, startDns, startHttp, stopAll, type TestServer } from './egress-fixture.ts';

afterEach(stopAll);

/** A request as a server received it. */
interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/**
 * Servers that redirect `/<status>?<location>` and answer everything else with what they received.
 *
 * @returns fetches a path of the first server, with `here` and `there` in it replaced by the two origins
 */
async function redirecting(allowance: EgressAllowance = open): Promise<{
  readonly fetch: (path: string, asked?: Partial<GuardedRequest>) => Promise<Response>;
  readonly there: TestServer;
}> {
  const start = async (): Promise<TestServer> =>
    await startHttp((request, response) => {
      const [, status, location] = /^\/(\d+)\?(.*)$/.exec(request.url ?? '') ?? [];
      if (status !== undefined && location !== undefined) {
        response.writeHead(Number(status), { location: decodeURIComponent(location) }).end('moved');
        return;
      }
      const parts: Buffer[] = [];
      request.on('data', (part: Buffer) => void parts.push(part));
      request.on('end', () => {
        const { headers, method = '', url = '' } = request;
        response.end(
          JSON.stringify({ method, url, headers, body: String(Buffer.concat(parts)) } satisfies Seen),
        );
      });
    });
  const [here, there] = [await start(), await start()];
  const dns = await startDns();
  dns.zone.set('private.example.org', { a: ['169.254.169.254'] });
  const guard = guardOf(allowance, { dnsServers: [dns.address] });
  const withOrigins = (text: string): string =>
    text
      .replaceAll('{here}', `http://127.0.0.1:${here.port}`)
      .replaceAll('{there}', `http://127.0.0.1:${there.port}`);
  const fetch = (path: string, asked: Partial<GuardedRequest> = {}): Promise<Response> =>
    guard.fetch(withOrigins(`{here}${path}`), { tenant: 'acme', ...asked });
  return { fetch, there };
}

async function seenIn(response: Response): Promise<Seen> {
  return (await response.json()) as Seen;
}

describe('a redirect', () => {
  it.each([
    [301, 'GET', 'GET', ''],
    [302, 'GET', 'GET', ''],
    [303, 'GET', 'GET', ''],
    [307, 'GET', 'GET', ''],
    [308, 'GET', 'GET', ''],
    [301, 'POST', 'GET', ''],
    [302, 'POST', 'GET', ''],
    [303, 'POST', 'GET', ''],
    [303, 'PUT', 'GET', ''],
    [301, 'PUT', 'PUT', 'body'],
    [302, 'PUT', 'PUT', 'body'],
    [307, 'POST', 'POST', 'body'],
    [308, 'PUT', 'PUT', 'body'],
  ])('%s turns %s into %s', async (status, method, expected, body) => {
    const { fetch } = await redirecting();
    const asked =
      method === 'GET' ? { method } : { method, body: 'body', headers: { 'content-type': 'text/x' } };
    const response = await fetch(`/${status}?/next%3Fq=1`, { ...asked });
    const seen = await seenIn(response);
    expect([seen.method, seen.url, seen.body]).toEqual([expected, '/next?q=1', body]);
    expect(seen.headers['content-type']).toBe(body === '' ? undefined : 'text/x');
    expect(seen.headers['content-length']).toBe(body === '' ? undefined : '4');
    expect(response.url).toMatch(/\/next\?q=1$/);
  });

  it('keeps all headers at the same origin', async () => {
    const { fetch } = await redirecting();
    const headers = { authorization: 'Bearer x', 'x-api-key': 'k', accept: 'application/json' };
    const seen = await seenIn(await fetch('/302?{here}/a', { headers }));
    expect(seen.headers).toMatchObject(headers);
  });

  it('takes no credentials to another origin, in whatever header they are', async () => {
    const { fetch } = await redirecting();
    const headers = {
      authorization: 'Bearer x',
      cookie: 'a=b',
      'x-api-key': 'k',
      'mcp-session-id': 's',
      accept: 'application/json',
    };
    const seen = await seenIn(await fetch('/302?{there}/a', { headers }));
    expect(Object.keys(seen.headers).toSorted()).toEqual([
      'accept',
      'accept-encoding',
      'connection',
      'host',
      'user-agent',
    ]);
    expect(seen.headers.accept).toBe('application/json');
    // Nor back to the first one.
    const back = await seenIn(
      await fetch(`/302?{there}/302%3F${encodeURIComponent('{here}/a')}`, { headers }),
    );
    expect(back.headers.authorization).toBeUndefined();
  });

  it('takes no body to another origin', async () => {
    const { fetch, there } = await redirecting();
    const asked = { method: 'POST', body: new URLSearchParams({ client_secret: 'hush' }) };
    const error = await errorOf(fetch('/307?{there}/a', asked));
    expect([error.code, error.details]).toEqual(['EGRESS_REFUSED', { reason: 'redirect' }]);
    expect(there.connections).toBe(0);
    const seen = await seenIn(await fetch('/303?{there}/a', asked));
    expect([seen.method, seen.body]).toEqual(['GET', '']);
  });

  it.each([
    ['http://169.254.169.254/latest/meta-data/', 'address'],
    ['//169.254.169.254/', 'address'],
    ['http://private.example.org/', 'address'],
    ['http://0.0.0.0/', 'address'],
    ['http://me:secret@127.0.0.1/', 'credentials'],
    ['file:///etc/passwd', 'scheme'],
    ['http://127.0.0.1:25/', 'port'],
  ])('is checked as the first address is: %s', async (location, reason) => {
    const { fetch } = await redirecting();
    const error = await errorOf(fetch(`/302?${encodeURIComponent(location)}`));
    expect([error.code, error.details]).toEqual(['EGRESS_REFUSED', { reason }]);
  });

  it('is checked against the list of hosts', async () => {
    const { fetch } = await redirecting({ ...open, allowedHosts: ['127.0.0.1'] });
    expect((await errorOf(fetch('/302?http%3A%2F%2F127.0.0.2/'))).details).toEqual({ reason: 'host' });
    expect((await fetch('/302?/a')).status).toBe(200);
  });

  it('is followed a few times only', async () => {
    const { fetch } = await redirecting({ ...open, redirectsMax: 2 });
    const next = (text: string): string => `/302?${encodeURIComponent(text)}`;
    expect((await fetch(next(next('/end')))).status).toBe(200);
    const error = await errorOf(fetch(next(next(next('/end')))));
    expect([error.code, error.details]).toEqual(['EGRESS_REFUSED', { reason: 'redirect' }]);
  });

  it('is the response where the caller follows it, and an error where it expects none', async () => {
    const { fetch, there } = await redirecting();
    const response = await fetch('/302?{there}/a', { redirect: 'manual' });
    expect([response.status, await response.text()]).toEqual([302, 'moved']);
    expect(response.headers.get('location')).toMatch(/\/a$/);
    expect((await errorOf(fetch('/302?{there}/a', { redirect: 'error' }))).details).toEqual({
      reason: 'redirect',
    });
    expect(there.connections).toBe(0);
  });

  it('without a place, or to no URL, is none', async () => {
    const { fetch } = await redirecting();
    expect((await fetch('/304?/a')).status).toBe(304);
    expect((await fetch('/300?/a')).status).toBe(300);
    expect((await errorOf(fetch(`/302?${encodeURIComponent('http://[')}`))).code).toBe('UPSTREAM_INVALID');
  });

  it('does not become a method that is not allowed', async () => {
    const { fetch } = await redirecting({ ...open, methods: ['POST'] });
    expect((await errorOf(fetch('/303?/a', { method: 'POST', body: 'x' }))).details).toEqual({
      reason: 'redirect',
    });
  });
});
