import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { nearestName } from '#runtime/config/nearest-name.ts';

const names = ['port', 'host', 'data_dir', 'body_bytes_max', 'batch_bytes_max'];

describe('nearestName', () => {
  it.each([
    ['prot', 'port'],
    ['PORT', 'port'],
    ['datadir', 'data_dir'],
    ['body_byte_max', 'body_bytes_max'],
    ['batch_bytes_mx', 'batch_bytes_max'],
    ['hst', 'host'],
  ])('finds the closest name to %s', (wanted, expected) => {
    expect(nearestName(wanted, names)).toBe(expected);
  });

  it.each(['completely_else', 'x', '', 'ab'])(
    'suggests nothing for %j, which resembles nothing',
    (wanted) => {
      expect(nearestName(wanted, names)).toBeUndefined();
    },
  );

  it('finds a name after any single slip', () => {
    const name = 'idle_actor_close_ms';
    fc.assert(
      fc.property(fc.nat(name.length - 2), fc.constantFrom('drop', 'swap', 'double'), (at, slip) => {
        const [a, b] = [name[at] as string, name[at + 1] as string];
        const middle = { drop: b, swap: b + a, double: a + a + b }[slip];
        expect(nearestName(name.slice(0, at) + middle + name.slice(at + 2), [...names, name])).toBe(name);
      }),
    );
  });
});
