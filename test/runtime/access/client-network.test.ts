import { expect, it } from 'vitest';
import { clientNetwork } from '#runtime/access/client-network.ts';

it('is the first half of an address of version 6', () => {
  for (const address of ['2001:db8:1:2:3:4:5:6', '2001:0DB8:0001:0002::1', '2001:db8:1:2::'])
    expect([address, clientNetwork(address)]).toEqual([address, '2001:db8:1:2']);
  expect(clientNetwork('2001:db8::1')).toBe('2001:db8:0:0');
  expect(clientNetwork('::1')).toBe(clientNetwork('0000:0000:0000:0000:0000:0000:0000:0001'));
});

it('is an address of version 4 as a whole, in whichever form it is given', () => {
  for (const address of [
    '203.0.113.9',
    '::ffff:203.0.113.9',
    '::FFFF:cb00:7109',
    '0000:0000:0000:0000:0000:ffff:cb00:7109',
  ])
    expect([address, clientNetwork(address)]).toEqual([address, '203.0.113.9']);
  expect(clientNetwork('::ffff:10.0.0.1')).not.toBe(clientNetwork('::ffff:10.0.0.2'));
  expect(clientNetwork('::ffff:a00:1')).not.toBe(clientNetwork('::ffff:a00:2'));
});

it('is some text for a text that is no address', () => {
  for (const text of ['', 'localhost', ':', ':::::::::', '::ffff:999', 'x'.repeat(10_000)])
    expect(typeof clientNetwork(text)).toBe('string');
});
