import { afterEach, expect, it } from 'vitest';
import { createLog, type Log } from '#runtime/telemetry/log-context.ts';
import { TestClock } from '#test/support/test-clock.ts';
import { codeOf, guardOf, open, startDns, startRaw, stopAll, strict } from './egress-fixture.ts';

afterEach(stopAll);

/** A log and the lines it wrote. */
function logged(clock: TestClock): { readonly log: Log; readonly lines: string[] } {
  const lines: string[] = [];
  return {
    log: createLog({ level: 'info', clock, sink: { write: (line) => void lines.push(line) } }),
    lines,
  };
}

it('has the addresses that a name leads to, which the error has not', async () => {
  const dns = await startDns();
  dns.zone.set('private.example.org', { a: ['10.1.2.3'] });
  const clock = new TestClock();
  const { lines, log } = logged(clock);
  const guard = guardOf(strict, { clock, log, dnsServers: [dns.address] });
  expect(await codeOf(guard.check('https://private.example.org/', { tenant: 'acme' }))).toBe(
    'EGRESS_REFUSED',
  );
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0] as string)).toMatchObject({
    level: 'info',
    msg: 'an outgoing request failed',
    tenant: 'acme',
    code: 'EGRESS_REFUSED',
    error: { message: 'private.example.org is 10.1.2.3' },
  });
  // What callers did wrong is in their error.
  expect(await codeOf(guard.check('https://10.1.2.3/', { tenant: 'acme' }))).toBe('EGRESS_REFUSED');
  clock.advance(1_000);
  expect(await codeOf(guard.check('https://10.1.2.3/', { tenant: 'acme' }))).toBe('EGRESS_REFUSED');
  expect(lines).toHaveLength(1);
});

it('has the reason for a failed request, and nothing of the response', async () => {
  const server = await startRaw((socket) => void socket.write('SSH-2.0-hush\r\n'));
  const clock = new TestClock();
  const { lines, log } = logged(clock);
  const guard = guardOf(open, { clock, log });
  const url = `http://127.0.0.1:${server.port}/`;
  expect(await codeOf(guard.fetch(url, { tenant: 'acme' }))).toBe('UPSTREAM_INVALID');
  await server.stop();
  clock.advance(1_000);
  expect(await codeOf(guard.fetch(url, { tenant: 'acme' }))).toBe('UPSTREAM_UNREACHABLE');
  expect(lines.map((line) => JSON.parse(line).error.code)).toEqual(['HPE_INVALID_CONSTANT', 'ECONNREFUSED']);
  expect(lines.join('')).not.toContain('hush');
});

it('has one line a second, however many requests fail', async () => {
  const dns = await startDns();
  const clock = new TestClock();
  const { lines, log } = logged(clock);
  const guard = guardOf(strict, { clock, log, dnsServers: [dns.address] });
  const fail = (): Promise<string> => codeOf(guard.check('https://missing.example.org/', { tenant: 'acme' }));
  for (let times = 0; times < 5; times += 1) await fail();
  clock.advance(999);
  await fail();
  expect(lines).toHaveLength(1);
  clock.advance(1);
  await fail();
  expect(lines.map((line) => JSON.parse(line).leftOut)).toEqual([0, 5]);
});
