import { expect, it } from 'vitest';
import { clientPlace } from '#protocols/identity/client-place.ts';

const same = (a: string, b: string): boolean => clientPlace('acme', a) === clientPlace('acme', b);

it('is one for the addresses of a network of version 6, and for an address of version 4', () => {
  expect(same('2001:db8:1:2:3:4:5:6', '2001:db8:1:2:ffff::1')).toBe(true);
  expect(same('2001:0DB8:0001:0002::1', '2001:db8:1:2::')).toBe(true);
  expect(same('2001:db8::1', '2001:db8:0:0:9::')).toBe(true);
  expect(same('::1', '::2')).toBe(true);
  expect(same('2001:db8:1:2::1', '2001:db8:1:3::1')).toBe(false);
  expect(same('10.0.0.1', '10.0.0.1')).toBe(true);
  expect(same('10.0.0.1', '10.0.0.2')).toBe(false);
  expect(same('::ffff:10.0.0.1', '::ffff:10.0.0.2')).toBe(false);
});

it('is another one in each tenant, and of a form that may be stored whatever the address', () => {
  expect(clientPlace('acme', '10.0.0.1')).not.toBe(clientPlace('other', '10.0.0.1'));
  for (const address of ['', '10.0.0.1', '::', 'fe80::1%eth0', 'x'.repeat(10_000), ':::::::::', '\0'])
    expect(clientPlace('acme', address)).toMatch(/^[A-Za-z0-9_-]{43}$/);
});
