import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { mailAllowance, type MailAllowance, operatorMailAllowance } from '#protocols/egress/allowance.ts';
import type { HostSurroundings } from '#protocols/egress/checked-hosts.ts';
import { GuardedDialer } from '#protocols/egress/guarded-dial.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { loadOptions } from '#runtime/config/load-options.ts';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { errorOf, startDns, startRaw, stopAll } from './egress-fixture.ts';

const { email } = loadOptions({}, () => undefined);
const strict = mailAllowance(email);
const open: MailAllowance = { ...strict, allowPrivateAddresses: true, ports: [] };

const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await stopAll();
});

const never = new AbortController().signal;

async function dial(
  host: string,
  port: number,
  allowance: MailAllowance,
  more: Partial<HostSurroundings & { readonly isSecure: boolean; readonly signal: AbortSignal }> = {},
): Promise<Socket> {
  const { isSecure = true, signal = never, ...surroundings } = more;
  const dialer = new GuardedDialer(allowance, { clock: systemClock, ...surroundings });
  const socket = await dialer.dial({ host, port, isSecure }, signal);
  sockets.push(socket);
  return socket;
}

const reasonOf = ({ code, details }: ServiceError): unknown => [code, details?.reason];

describe('a connection to a mail server', () => {
  it('is made to an address of the check, by name and by address', async () => {
    const server = await startRaw((socket) => socket.end('hello'));
    const dns = await startDns();
    dns.zone.set('mail.example.org', { a: ['127.0.0.1'] });
    for (const host of ['127.0.0.1', 'localhost', 'mail.example.org']) {
      const socket = await dial(host, server.port, open, { dnsServers: [dns.address] });
      socket.write('x');
      const [bytes] = (await once(socket, 'data')) as [Buffer];
      expect(String(bytes)).toBe('hello');
      expect(socket.remoteAddress).toBe('127.0.0.1');
    }
    expect(server.connections).toBe(3);
  });

  it('never goes to this machine and to private networks, unless that is allowed', async () => {
    const server = await startRaw((socket) => socket.end());
    const dns = await startDns();
    dns.zone.set('mail.example.org', { a: ['127.0.0.1'] });
    dns.zone.set('mixed.example.org', { a: ['192.0.43.7', '10.0.0.7'] });
    for (const host of ['127.0.0.1', '10.0.0.1', '::1', '192.168.1.1']) {
      const error = await errorOf(dial(host, 25, strict));
      expect(reasonOf(error)).toEqual(['EGRESS_REFUSED', 'address']);
    }
    for (const host of ['localhost', 'mail', 'mail.internal'])
      expect(reasonOf(await errorOf(dial(host, 25, strict)))).toEqual(['EGRESS_REFUSED', 'host']);
    for (const host of ['mail.example.org', 'mixed.example.org', 'none.example.org']) {
      const error = await errorOf(dial(host, 25, strict, { dnsServers: [dns.address] }));
      expect(reasonOf(error)).toEqual(['EGRESS_REFUSED', 'address']);
      expect(error.message).not.toMatch(/127\.0|10\.0/);
    }
    expect(server.connections).toBe(0);
  });

  it('never goes to link-local addresses and metadata services, whoever named the server', async () => {
    for (const allowance of [strict, open, operatorMailAllowance()])
      for (const host of ['169.254.169.254', '100.100.100.200', 'fd00:ec2::254'])
        expect(reasonOf(await errorOf(dial(host, 25, allowance)))).toEqual(['EGRESS_REFUSED', 'address']);
  });

  it('goes to ports of mail servers, unless others are configured', async () => {
    for (const port of [22, 80, 443, 5432, 6379])
      expect(reasonOf(await errorOf(dial('192.0.43.7', port, strict)))).toEqual(['EGRESS_REFUSED', 'port']);
    const { email: configured } = loadOptions(
      { SVC_CONFIG: 'c' },
      () => '[email]\nallowed_ports = ["1025"]\n',
    );
    const { ports } = mailAllowance(configured);
    expect([strict.ports, ports]).toEqual([[25, 465, 587, 2525], [1025]]);
  });

  it('needs TLS, unless private addresses are allowed', async () => {
    const error = await errorOf(dial('192.0.43.7', 25, strict, { isSecure: false }));
    expect(reasonOf(error)).toEqual(['EGRESS_REFUSED', 'scheme']);
    const server = await startRaw((socket) => socket.end());
    await dial('127.0.0.1', server.port, open, { isSecure: false });
  });

  it('refuses what is no host', async () => {
    for (const host of [
      '',
      'a b',
      'user@mail.example.org',
      'mail.example.org:25',
      'mail.example.org/x',
      '[::1]',
      'a\r\nb',
      '*',
    ])
      expect(reasonOf(await errorOf(dial(host, 25, open))), host).toEqual(['EGRESS_REFUSED', 'host']);
  });

  it('fails when nobody is there, when the name server is silent, and when its caller leaves', async () => {
    const server = await startRaw(() => undefined);
    const { port } = server;
    await server.stop();
    expect((await errorOf(dial('127.0.0.1', port, open))).code).toBe('UPSTREAM_UNREACHABLE');
    const dns = await startDns();
    dns.zone.set('slow.example.org', { isSilent: true });
    const clock = new TestClock();
    const slow = dial('slow.example.org', 25, open, { clock, dnsServers: [dns.address] });
    const late = errorOf(slow);
    clock.advance(open.resolveMs);
    expect((await late).code).toBe('UPSTREAM_TIMEOUT');
    const caller = new AbortController();
    const left = dial('slow.example.org', 25, open, { dnsServers: [dns.address], signal: caller.signal });
    const reason = new Error('the caller left');
    caller.abort(reason);
    await expect(left).rejects.toBe(reason);
  });
});
