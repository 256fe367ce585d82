import { networkInterfaces } from 'node:os';
import { afterEach, describe, expect, it } from 'vitest';
import { CHECK_MS } from '#protocols/egress/checked-hosts.ts';
import type { EgressGuard } from '#protocols/egress/egress-guard.ts';
import type { DnsServer } from '#test/support/dns-server.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';
import {
  codeOf,
  errorOf,
  guardOf,
  open,
  startDns,
  startHttp,
  stopAll,
  strict,
  untilLeft,
} from './egress-fixture.ts';

afterEach(stopAll);

const caller = { tenant: 'acme' };

/** What a guard fetches, as text. */
async function textOf(guard: EgressGuard, url: string): Promise<string> {
  return await (await guard.fetch(url, caller)).text();
}

/** How often the addresses of a name were asked for. */
function questions(dns: DnsServer): number {
  return dns.asked.filter((asked) => asked.startsWith('A ')).length;
}

describe('a URL that is to be saved', () => {
  it.each([
    ['public', { a: ['93.184.216.34'], aaaa: ['2606:2800:220:1::'] }, undefined],
    ['public, IPv6 only', { aaaa: ['2606:2800:220:1::'] }, undefined],
    ['private', { a: ['10.1.2.3'] }, 'EGRESS_REFUSED'],
    ['private after public', { a: ['93.184.216.34', '10.1.2.3'] }, 'EGRESS_REFUSED'],
    ['private in the other family', { a: ['93.184.216.34'], aaaa: ['fd12::1'] }, 'EGRESS_REFUSED'],
    ['loopback', { a: ['127.0.0.1'] }, 'EGRESS_REFUSED'],
    ['mapped loopback', { aaaa: ['0:0:0:0:0:ffff:7f00:1'] }, 'EGRESS_REFUSED'],
    ['unspecified', { a: ['0.0.0.0'] }, 'EGRESS_REFUSED'],
    ['a metadata service', { a: ['169.254.169.254'] }, 'EGRESS_REFUSED'],
    ['of no host', {}, 'EGRESS_REFUSED'],
    ['of broken name servers', { error: 'SERVFAIL' }, 'UPSTREAM_UNREACHABLE'],
  ] as const)('is checked by the addresses of its name: %s', async (_what, entry, code) => {
    const dns = await startDns();
    dns.zone.set('name.example.org', entry);
    const guard = guardOf(strict, { dnsServers: [dns.address] });
    const checking = guard.check('https://name.example.org/', caller);
    if (code === undefined) await checking;
    else expect(await codeOf(checking)).toBe(code);
  });

  it('is refused where a chain of names leads to a private address', async () => {
    const dns = await startDns();
    dns.zone.set('name.example.org', { cname: 'other.example.net' });
    dns.zone.set('other.example.net', { cname: 'third.example.net' });
    dns.zone.set('third.example.net', { a: ['192.168.0.1'] });
    const guard = guardOf(strict, { dnsServers: [dns.address] });
    expect(await codeOf(guard.check('https://name.example.org/', caller))).toBe('EGRESS_REFUSED');
  });

  it('does not tell a name of a private host from a name that does not exist', async () => {
    const dns = await startDns();
    dns.zone.set('real.example.org', { a: ['10.1.2.3'] });
    const guard = guardOf(strict, { dnsServers: [dns.address] });
    const real = await errorOf(guard.check('https://real.example.org/', caller));
    const none = await errorOf(guard.check('https://none.example.org/', caller));
    expect(real.message.replace('real', 'none')).toBe(none.message);
    expect([real.code, real.details]).toEqual([none.code, none.details]);
    expect(real.message).not.toContain('10.1');
    expect(real.message).toContain('[tests] private');
    // For the log of the operator.
    expect(String(real.cause)).toContain('10.1.2.3');
  });

  it('is not resolved where its text is refused, and is not asked of a name server for localhost', async () => {
    const dns = await startDns();
    const guard = guardOf(strict, { dnsServers: [dns.address] });
    expect(await codeOf(guard.check('http://name.example.org/', caller))).toBe('EGRESS_REFUSED');
    expect(await codeOf(guard.check('https://name.internal/', caller))).toBe('EGRESS_REFUSED');
    await guardOf(open, { dnsServers: [dns.address] }).check('http://localhost:8080/', caller);
    expect(dns.asked).toEqual([]);
  });

  it('is refused for every address of this machine', async () => {
    const own = Object.values(networkInterfaces())
      .flatMap((entries) => entries ?? [])
      .map(({ address, family }) => (family === 'IPv6' ? `[${address}]` : address));
    expect(own.length).toBeGreaterThan(0);
    const guard = guardOf(strict);
    for (const host of own)
      expect(await codeOf(guard.check(`https://${host}/`, caller))).toBe('EGRESS_REFUSED');
  });

  it('is refused for a public address of this machine, which no firewall is in front of', async () => {
    const dns = await startDns();
    dns.zone.set('own.example.org', { a: ['93.184.216.34'] });
    dns.zone.set('own6.example.org', { aaaa: ['2606:2800:220:1::5'] });
    const ownAddresses = (): string[] => ['127.0.0.1', '93.184.216.34', '2606:2800:220:1::5'];
    const guard = guardOf(strict, { dnsServers: [dns.address], ownAddresses });
    const hosts = ['own.example.org', 'own6.example.org', '93.184.216.34', '[::ffff:93.184.216.34]'];
    for (const host of hosts)
      expect(await codeOf(guard.check(`https://${host}/`, caller))).toBe('EGRESS_REFUSED');
    await guard.check('https://93.184.216.35/', caller);
    await guardOf(open, { dnsServers: [dns.address], ownAddresses }).check(
      'https://own.example.org/',
      caller,
    );
  });

  it('is given a time for its name', async () => {
    const dns = await startDns();
    dns.zone.set('silent.example.org', { isSilent: true });
    const clock = new TestClock();
    const checking = codeOf(
      guardOf(strict, { clock, dnsServers: [dns.address] }).check('https://silent.example.org/', caller),
    );
    await until(() => dns.asked.length > 0, 'the server was asked');
    clock.advance(strict.resolveMs);
    expect(await checking).toBe('UPSTREAM_TIMEOUT');
    expect(clock.alarms).toBe(0);
  });
});

describe('a request', () => {
  it('is refused without a connection where the address is not allowed', async () => {
    const server = await startHttp((_request, response) => void response.end('secret'));
    const dns = await startDns();
    dns.zone.set('name.example.org', { a: ['127.0.0.1'] });
    const guard = guardOf(strict, { dnsServers: [dns.address] });
    for (const host of ['127.0.0.1', 'name.example.org', '[::ffff:7f00:1]', 'localhost'])
      expect(await codeOf(guard.fetch(`https://${host}:${server.port}/`, caller))).toBe('EGRESS_REFUSED');
    expect(server.connections).toBe(0);
  });

  it('goes to the address that was checked, whatever the name resolves to next', async () => {
    const server = await startHttp((_request, response) => void response.end('checked'));
    const dns = await startDns();
    // Rebinding: from the second question on, the name leads elsewhere.
    dns.zone.set('rebound.example.org', [{ a: ['127.0.0.1'] }, { a: ['169.254.169.254'] }]);
    const guard = guardOf(open, { dnsServers: [dns.address] });
    const url = `http://rebound.example.org:${server.port}/`;
    expect(await textOf(guard, url)).toBe('checked');
    expect(questions(dns)).toBe(1);
    // The next connection has a check of its own.
    server.resetConnections();
    await untilLeft(server);
    expect(await codeOf(guard.fetch(url, caller))).toBe('EGRESS_REFUSED');
    expect([questions(dns), server.connections]).toEqual([2, 1]);
  });

  it('uses a connection again while the check of its address holds', async () => {
    const server = await startHttp((_request, response) => void response.end('x'));
    const dns = await startDns();
    dns.zone.set('name.example.org', { a: ['127.0.0.1'] });
    const clock = new TestClock();
    const guard = guardOf(open, { clock, dnsServers: [dns.address] });
    const url = `http://name.example.org:${server.port}/`;
    await textOf(guard, url);
    clock.advance(CHECK_MS - 1);
    await textOf(guard, url);
    expect([questions(dns), server.connections]).toEqual([1, 1]);
    // Then the host is checked again; the connection leads to one of its addresses still.
    clock.advance(1);
    await textOf(guard, url);
    expect([questions(dns), server.connections]).toEqual([2, 1]);
    // A connection to an address that the name does not have any more is not used: nothing listens at the new one.
    dns.zone.set('name.example.org', { a: ['127.0.0.2'] });
    clock.advance(CHECK_MS);
    expect(await codeOf(guard.fetch(url, caller))).toBe('UPSTREAM_UNREACHABLE');
    dns.zone.set('name.example.org', { a: ['169.254.169.254'] });
    expect(await codeOf(guard.fetch(url, caller))).toBe('EGRESS_REFUSED');
    expect(server.connections).toBe(1);
  });

  it('does not share connections between origins, tenants, or guards', async () => {
    const server = await startHttp((request, response) => void response.end(request.headers.host));
    const dns = await startDns();
    dns.zone.set('one.example.org', { a: ['127.0.0.1'] });
    dns.zone.set('two.example.org', { a: ['127.0.0.1'] });
    const guard = guardOf(open, { dnsServers: [dns.address] });
    for (const name of ['one', 'two', 'one', 'two'])
      expect(await textOf(guard, `http://${name}.example.org:${server.port}/`)).toBe(
        `${name}.example.org:${server.port}`,
      );
    expect(server.connections).toBe(2);
    const url = `http://one.example.org:${server.port}/`;
    for (let times = 0; times < 2; times += 1) await (await guard.fetch(url, { tenant: 'other' })).text();
    expect(server.connections).toBe(3);
    await textOf(guardOf(open, { dnsServers: [dns.address] }), url);
    expect(server.connections).toBe(4);
  });

  it('tries the other addresses of a name where one does not accept connections', async () => {
    const server = await startHttp((_request, response) => void response.end('reached'));
    const dns = await startDns();
    // Nothing listens on the first two.
    dns.zone.set('some.example.org', { a: ['127.0.0.3', '127.0.0.2', '127.0.0.1'], aaaa: ['::1'] });
    const guard = guardOf(open, { dnsServers: [dns.address] });
    expect(await textOf(guard, `http://some.example.org:${server.port}/`)).toBe('reached');
  });

  it('sends a request again where a kept connection is closed, and no request that may have an effect', async () => {
    let isClosing = false;
    const server = await startHttp((request, response) => {
      if (isClosing) {
        isClosing = false;
        request.socket.resetAndDestroy();
      } else {
        response.end('answered');
      }
    });
    const guard = guardOf(open);
    const url = `http://127.0.0.1:${server.port}/`;
    await textOf(guard, url);
    isClosing = true;
    expect(await textOf(guard, url)).toBe('answered');
    expect(server.connections).toBe(2);
    await textOf(guard, url);
    expect(server.connections).toBe(2);
    isClosing = true;
    expect(await codeOf(guard.fetch(url, { ...caller, method: 'POST', body: 'x' }))).toBe(
      'UPSTREAM_UNREACHABLE',
    );
    expect(server.connections).toBe(2);
    // A new connection that is closed is not tried again.
    isClosing = true;
    expect(await codeOf(guard.fetch(url, caller))).toBe('UPSTREAM_UNREACHABLE');
  });

  it('counts against its tenant and against all, until its response was read', async () => {
    const server = await startHttp((_request, response) => void response.end('x'));
    const guard = guardOf({ ...open, concurrentMax: 3, concurrentPerTenantMax: 2 });
    const url = `http://127.0.0.1:${server.port}/`;
    const held = [await guard.fetch(url, caller), await guard.fetch(url, caller)];
    expect(await codeOf(guard.fetch(url, caller))).toBe('RATE_LIMITED');
    expect(await codeOf(guard.check(url, caller))).toBe('RATE_LIMITED');
    held.push(await guard.fetch(url, { tenant: 'other' }));
    expect(await codeOf(guard.fetch(url, { tenant: 'third' }))).toBe('OVERLOADED');
    await held[0]?.text();
    await held[1]?.body?.cancel();
    await textOf(guard, url);
    await guard.check(url, caller);
    await held[2]?.text();
    for (let times = 0; times < 4; times += 1)
      expect(await codeOf(guard.fetch('https://169.254.1.1/', caller))).toBe('EGRESS_REFUSED');
    await textOf(guard, url);
  });

  it('ends with the guard, and none begins afterwards', async () => {
    const server = await startHttp(() => undefined);
    const guard = guardOf(open);
    const url = `http://127.0.0.1:${server.port}/`;
    const waiting = codeOf(guard.fetch(url, caller));
    await until(() => server.openConnections === 1, 'the request is sent');
    guard.close();
    expect(await waiting).toBe('SHUTTING_DOWN');
    await untilLeft(server);
    expect(await codeOf(guard.fetch(url, caller))).toBe('SHUTTING_DOWN');
    expect(await codeOf(guard.check(url, caller))).toBe('SHUTTING_DOWN');
  });
});
