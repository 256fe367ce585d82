import { createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { systemRandom } from '#runtime/base/random.ts';
import { makeServerCertificates } from '#operator/local-cluster/certificates.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';
import {
  authority,
  codeOf,
  errorOf,
  guardOf,
  open,
  startDns,
  startHttp,
  startHttps,
  stopAll,
  TestServer,
  untilLeft,
} from './egress-fixture.ts';

afterEach(stopAll);

const caller = { tenant: 'acme' };

/** A server that accepts connections and stays silent. */
function startSilent(): Promise<TestServer> {
  return new TestServer(createServer((socket) => void socket.resume())).start();
}

/** A server with TLS for 127.0.0.1, and the authority of its certificate. */
async function startTls(
  nowMs: number,
  version?: 'TLSv1.1',
): Promise<{ readonly url: string; readonly authorities: readonly string[] }> {
  const { authority: its, server } = makeServerCertificates(['127.0.0.1'], nowMs, systemRandom);
  const versions =
    version === undefined ? {} : { minVersion: version, maxVersion: version, ciphers: 'ALL:@SECLEVEL=0' };
  const made = createTlsServer(
    { cert: server.certificate, key: server.key, ...versions },
    (socket: Socket) => {
      socket.end('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
    },
  );
  made.on('tlsClientError', () => undefined);
  const { port } = await new TestServer(made).start();
  return { url: `https://127.0.0.1:${port}/`, authorities: [its] };
}

describe('a connection with TLS', () => {
  it('is made where the certificate names the host, and is used again', async () => {
    const server = await startHttps((request, response) => void response.end(request.headers.host));
    const dns = await startDns();
    dns.zone.set('secure.example.org', { a: ['127.0.0.1'] });
    dns.zone.set('also-secure.example.org', { a: ['127.0.0.1'] });
    const guard = guardOf(open, { authorities: [authority], dnsServers: [dns.address] });
    for (const host of [
      'secure.example.org',
      'SECURE.example.org.',
      '127.0.0.1',
      'also-secure.example.org',
    ]) {
      const response = await guard.fetch(`https://${host}:${server.port}/`, caller);
      expect(await response.text()).toBe(`${host.toLowerCase().replace(/\.$/, '')}:${server.port}`);
    }
    // The names have connections of their own, although they lead to one address.
    expect(server.connections).toBe(3);
  });

  it('is refused where the certificate names another host', async () => {
    const server = await startHttps((_request, response) => void response.end('x'));
    const dns = await startDns();
    dns.zone.set('insecure.example.org', { a: ['127.0.0.1'] });
    dns.zone.set('a.secure.example.org', { a: ['127.0.0.1'] });
    const guard = guardOf(open, { authorities: [authority], dnsServers: [dns.address] });
    for (const host of ['insecure.example.org', 'a.secure.example.org', '127.0.0.2', '[::ffff:127.0.0.1]']) {
      const error = await errorOf(guard.fetch(`https://${host}:${server.port}/`, caller));
      expect(error.code).toBe('UPSTREAM_UNREACHABLE');
    }
    const error = await errorOf(guard.fetch(`https://insecure.example.org:${server.port}/`, caller));
    expect(error.message).toContain('(ERR_TLS_CERT_ALTNAME_INVALID)');
    await untilLeft(server);
  });

  it('is refused where no known authority signed the certificate, also with the variable that turns checks off', async () => {
    const server = await startHttps((_request, response) => void response.end('x'));
    const url = `https://127.0.0.1:${server.port}/`;
    const { authority: other } = makeServerCertificates(['127.0.0.1'], Date.now(), systemRandom);
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    try {
      for (const guard of [guardOf(open), guardOf(open, { authorities: [other] })])
        expect(await codeOf(guard.fetch(url, caller))).toBe('UPSTREAM_UNREACHABLE');
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
    }
  });

  it('is refused where the certificate is over, or the version of TLS is old', async () => {
    const valid = await startTls(Date.now());
    expect((await guardOf(open, valid).fetch(valid.url, caller)).status).toBe(200);
    const over = await startTls(Date.now() - 20 * 365 * 86_400_000);
    expect((await errorOf(guardOf(open, over).fetch(over.url, caller))).message).toContain(
      '(CERT_HAS_EXPIRED)',
    );
    const weak = await startTls(Date.now(), 'TLSv1.1');
    const error = await errorOf(guardOf(open, weak).fetch(weak.url, caller));
    expect(error.code).toBe('UPSTREAM_UNREACHABLE');
    expect(error.message).toMatch(/^There is no secure connection to '127\.0\.0\.1'/);
  });

  it('is not made with a server that speaks plain HTTP', async () => {
    const server = await startHttp((_request, response) => void response.end('x'));
    const guard = guardOf(open, { authorities: [authority] });
    expect(await codeOf(guard.fetch(`https://127.0.0.1:${server.port}/`, caller))).toBe(
      'UPSTREAM_UNREACHABLE',
    );
  });

  it('never redirects to one without TLS', async () => {
    const plain = await startHttp((_request, response) => void response.end('x'));
    const server = await startHttps((_request, response) => {
      response.writeHead(302, { location: `http://127.0.0.1:${plain.port}/` }).end();
    });
    const guard = guardOf(open, { authorities: [authority] });
    const error = await errorOf(guard.fetch(`https://127.0.0.1:${server.port}/`, caller));
    expect([error.code, error.details]).toEqual(['EGRESS_REFUSED', { reason: 'redirect' }]);
    expect(plain.connections).toBe(0);
  });
});

describe('a connection that is being made', () => {
  it('has a time, in which a silent server of TLS does not answer', async () => {
    const server = await startSilent();
    const clock = new TestClock();
    const work = errorOf(guardOf(open, { clock }).fetch(`https://127.0.0.1:${server.port}/`, caller));
    await until(() => server.openConnections === 1, 'the connection is made');
    clock.advance(open.connectMs - 1);
    expect(clock.alarms).toBe(2);
    clock.advance(1);
    expect((await work).message).toBe("The server '127.0.0.1' did not accept a connection within 10000 ms");
    await untilLeft(server);
    expect(clock.alarms).toBe(0);
  });

  it('ends at once with its caller', async () => {
    const server = await startSilent();
    const clock = new TestClock();
    const controller = new AbortController();
    const reason = new Error('gone');
    const request = { ...caller, signal: controller.signal };
    const work = guardOf(open, { clock }).fetch(`https://127.0.0.1:${server.port}/`, request);
    await until(() => server.openConnections === 1, 'the connection is made');
    controller.abort(reason);
    await expect(work).rejects.toBe(reason);
    await untilLeft(server);
    expect(clock.alarms).toBe(0);
  });

  it('fails where nothing listens, with a text without addresses', async () => {
    const server = await startHttp(() => undefined);
    const { port } = server;
    await server.stop();
    const dns = await startDns();
    dns.zone.set('closed.example.org', { a: ['127.0.0.1', '127.0.0.2'] });
    const guard = guardOf(open, { dnsServers: [dns.address] });
    const error = await errorOf(guard.fetch(`http://closed.example.org:${port}/`, caller));
    expect([error.code, error.message]).toEqual([
      'UPSTREAM_UNREACHABLE',
      "No connection to 'closed.example.org' could be made",
    ]);
    expect(error.details).toBeUndefined();
  });
});

describe('unused connections', () => {
  it('are kept to a few of one server, and to a bounded number of all', async () => {
    const servers: TestServer[] = [];
    const held: (() => void)[] = [];
    for (let count = 0; count < 18; count += 1)
      servers.push(await startHttp((_request, response) => void held.push(() => response.end('x'))));
    const guard = guardOf({ ...open, concurrentMax: 200, concurrentPerTenantMax: 200 });
    const work = servers.flatMap(({ port }) =>
      Array.from({ length: 6 }, async () => {
        const response = await guard.fetch(`http://127.0.0.1:${port}/`, caller);
        return await response.text();
      }),
    );
    await until(() => held.length === work.length, 'all requests arrived');
    for (const answer of held) answer();
    await Promise.all(work);
    await until(() => {
      const counts = servers.map(({ openConnections }) => openConnections);
      return Math.max(...counts) <= 4 && counts.reduce((sum, count) => sum + count) <= 64;
    }, 'surplus connections are closed');
    // And those are closed after some seconds.
    for (const server of servers) await untilLeft(server);
  });
});
