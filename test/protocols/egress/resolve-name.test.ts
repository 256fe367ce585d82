import { afterEach, expect, it } from 'vitest';
import { resolveName } from '#protocols/egress/resolve-name.ts';
import { until } from '#test/support/until.ts';
import { codeOf, startDns, stopAll } from './egress-fixture.ts';

afterEach(stopAll);

const never = new AbortController().signal;

it('finds all addresses of both families, IPv4 first', async () => {
  const dns = await startDns();
  dns.zone.set('both.example.org', { a: ['192.0.2.1', '192.0.2.2'], aaaa: ['2001:db8::1', '2001:db8::2'] });
  expect(await resolveName('both.example.org', [dns.address], never)).toEqual([
    '192.0.2.1',
    '192.0.2.2',
    '2001:db8::1',
    '2001:db8::2',
  ]);
  expect(dns.asked.toSorted()).toEqual(['A both.example.org', 'AAAA both.example.org']);
});

it('follows a chain of names', async () => {
  const dns = await startDns();
  dns.zone.set('first.example.org', { cname: 'second.example.org' });
  dns.zone.set('second.example.org', { cname: 'third.example.net' });
  dns.zone.set('third.example.net', { a: ['192.0.2.3'] });
  expect(await resolveName('first.example.org', [dns.address], never)).toEqual(['192.0.2.3']);
});

it('finds nothing for a name that does not exist, has no addresses, or leads in a circle', async () => {
  const dns = await startDns();
  dns.zone.set('empty.example.org', {});
  dns.zone.set('end.example.org', { cname: 'missing.example.org' });
  expect(await resolveName('missing.example.org', [dns.address], never)).toEqual([]);
  expect(await resolveName('empty.example.org', [dns.address], never)).toEqual([]);
  expect(await resolveName('end.example.org', [dns.address], never)).toEqual([]);
});

it('is content with one family where the other one fails', async () => {
  const dns = await startDns();
  dns.zone.set('half.example.org', { a: ['192.0.2.4'], errorOfAaaa: 'SERVFAIL' });
  dns.zone.set('none.example.org', { errorOfAaaa: 'SERVFAIL' });
  expect(await resolveName('half.example.org', [dns.address], never)).toEqual(['192.0.2.4']);
  expect(await codeOf(resolveName('none.example.org', [dns.address], never))).toBe('UPSTREAM_UNREACHABLE');
});

it('asks the next server where one does not run', async () => {
  const [gone, answering] = [await startDns(), await startDns()];
  const servers = [gone.address, answering.address];
  await gone.stop();
  answering.zone.set('name.example.org', { a: ['192.0.2.5'] });
  expect(await resolveName('name.example.org', servers, never)).toEqual(['192.0.2.5']);
});

it('fails where no server gives an answer', async () => {
  const dns = await startDns();
  dns.zone.set('broken.example.org', { error: 'SERVFAIL' });
  dns.zone.set('refused.example.org', { error: 'REFUSED' });
  expect(await codeOf(resolveName('broken.example.org', [dns.address], never))).toBe('UPSTREAM_UNREACHABLE');
  expect(await codeOf(resolveName('refused.example.org', [dns.address], never))).toBe('UPSTREAM_UNREACHABLE');
  const { address } = dns;
  await dns.stop();
  expect(await codeOf(resolveName('name.example.org', [address], never))).toBe('UPSTREAM_UNREACHABLE');
});

it('ends at once with its signal', async () => {
  const dns = await startDns();
  dns.zone.set('silent.example.org', { isSilent: true });
  const controller = new AbortController();
  const reason = new Error('enough');
  const resolving = resolveName('silent.example.org', [dns.address], controller.signal);
  await until(() => dns.asked.length > 0, 'the server was asked');
  controller.abort(reason);
  await expect(resolving).rejects.toBe(reason);
  await expect(resolveName('silent.example.org', [dns.address], controller.signal)).rejects.toBe(reason);
});
