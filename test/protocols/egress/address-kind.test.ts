import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AddressKind, addressKind } from '#protocols/egress/address-kind.ts';
import { checkedUrl } from '#protocols/egress/checked-url.ts';
import { open, strict } from './egress-fixture.ts';

/**
 * The special-purpose registries of IANA for IPv4 and IPv6: first and last address of each entry. `true` in the second
 * column: globally reachable by the registry.
 */
const registry: readonly (readonly [string, boolean, AddressKind, string, string])[] = [
  ['this network', false, 'forbidden', '0.0.0.0', '0.255.255.255'],
  ['private-use', false, 'private', '10.0.0.0', '10.255.255.255'],
  ['shared address space', false, 'private', '100.64.0.0', '100.127.255.255'],
  ['loopback', false, 'private', '127.0.0.0', '127.255.255.255'],
  ['link local', false, 'forbidden', '169.254.0.0', '169.254.255.255'],
  ['private-use', false, 'private', '172.16.0.0', '172.31.255.255'],
  ['IETF protocol assignments', false, 'forbidden', '192.0.0.0', '192.0.0.255'],
  ['documentation TEST-NET-1', false, 'forbidden', '192.0.2.0', '192.0.2.255'],
  ['AS112-v4', true, 'public', '192.31.196.0', '192.31.196.255'],
  ['AMT', true, 'public', '192.52.193.0', '192.52.193.255'],
  ['deprecated 6to4 relay anycast', false, 'forbidden', '192.88.99.0', '192.88.99.255'],
  ['private-use', false, 'private', '192.168.0.0', '192.168.255.255'],
  ['direct delegation AS112', true, 'public', '192.175.48.0', '192.175.48.255'],
  ['benchmarking', false, 'forbidden', '198.18.0.0', '198.19.255.255'],
  ['documentation TEST-NET-2', false, 'forbidden', '198.51.100.0', '198.51.100.255'],
  ['documentation TEST-NET-3', false, 'forbidden', '203.0.113.0', '203.0.113.255'],
  ['multicast', false, 'forbidden', '224.0.0.0', '239.255.255.255'],
  ['reserved, limited broadcast', false, 'forbidden', '240.0.0.0', '255.255.255.255'],
  ['loopback', false, 'private', '::1', '::1'],
  ['unspecified', false, 'forbidden', '::', '::'],
  ['IPv4-compatible, deprecated', false, 'forbidden', '::2', '::ffff:ffff'],
  [
    'local-use IPv4/IPv6 translation',
    false,
    'forbidden',
    '64:ff9b:1::',
    '64:ff9b:1:ffff:ffff:ffff:ffff:ffff',
  ],
  ['discard-only', false, 'forbidden', '100::', '100::ffff:ffff:ffff:ffff'],
  ['dummy prefix', false, 'forbidden', '100:0:0:1::', '100:0:0:1:ffff:ffff:ffff:ffff'],
  ['IETF protocol assignments', false, 'forbidden', '2001::', '2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['Teredo', false, 'forbidden', '2001::', '2001:0:ffff:ffff:ffff:ffff:ffff:ffff'],
  // Reachable by the registry; nothing there is a server that users name.
  ['port control protocol anycast', true, 'forbidden', '2001:1::1', '2001:1::1'],
  ['benchmarking', false, 'forbidden', '2001:2::', '2001:2:0:ffff:ffff:ffff:ffff:ffff'],
  ['ORCHIDv2', true, 'forbidden', '2001:20::', '2001:2f:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['documentation', false, 'forbidden', '2001:db8::', '2001:db8:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['6to4', false, 'forbidden', '2002::', '2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['AS112-v6', true, 'public', '2620:4f:8000::', '2620:4f:8000:ffff:ffff:ffff:ffff:ffff'],
  ['documentation', false, 'forbidden', '3fff::', '3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['segment routing', false, 'forbidden', '5f00::', '5f00:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['unique local', false, 'private', 'fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['link-local', false, 'forbidden', 'fe80::', 'febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['site-local, deprecated', false, 'forbidden', 'fec0::', 'feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  ['multicast', false, 'forbidden', 'ff00::', 'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
];

/** An IPv4 address as a number. */
const ipv4 = fc.oneof(
  fc.integer({ min: 0, max: 0xffffffff }),
  // Near the ends of networks, where mistakes are.
  fc
    .tuple(
      fc.constantFrom(
        ...registry.flatMap((row) => row.slice(3) as string[]).filter((text) => !text.includes(':')),
      ),
      fc.integer({ min: -2, max: 2 }),
    )
    .map(([text, by]) => Math.min(0xffffffff, Math.max(0, numberOf(text) + by))),
);

function numberOf(address: string): number {
  return address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0);
}

function bytesOf(value: number): number[] {
  return [24, 16, 8, 0].map((shift) => (value / 2 ** shift) & 0xff);
}

function groupsOf(value: number): string {
  return `${Math.floor(value / 0x10000).toString(16)}:${(value % 0x10000).toString(16)}`;
}

describe('the kind of an address', () => {
  it.each(registry)('of %s', (_name, isReachable, kind, first, last) => {
    expect([addressKind(first), addressKind(last)]).toEqual([kind, kind]);
    if (!isReachable) expect(kind).not.toBe('public');
  });

  it.each([
    ['1.0.0.0', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
    [
      '169.253.255.255',
      '169.255.0.0',
      '172.15.255.255',
      '172.32.0.0',
      '192.0.1.0',
      '192.167.255.255',
      '192.169.0.0',
    ],
    ['198.17.255.255', '198.20.0.0', '223.255.255.255', '8.8.8.8', '168.63.129.15', '168.63.129.17'],
    [
      '2001:200::',
      '2000::',
      '2001:db7:ffff::',
      '2001:db9::',
      '2003::',
      '2606:4700::1111',
      '3ffe:ffff::',
      '3fff:1000::',
    ],
  ])('is public directly beside special networks: %s, …', (...addresses) => {
    expect(addresses.filter((address) => addressKind(address) !== 'public')).toEqual([]);
  });

  it.each([
    ['169.254.169.254', 'AWS, Azure, Google Cloud and others'],
    ['169.254.170.2', 'tasks of AWS'],
    ['169.254.170.23', 'pods of AWS'],
    ['100.100.100.200', 'Alibaba Cloud'],
    ['168.63.129.16', 'Azure, host agent'],
    ['192.0.0.192', 'Oracle Cloud, classic'],
    ['fd00:ec2::254', 'AWS'],
    ['fd00:ec2::23', 'pods of AWS'],
    ['fd20:ce::254', 'Google Cloud'],
    ['fd00:c1::a9fe:a9fe', 'Oracle Cloud'],
    ['::ffff:169.254.169.254', 'mapped'],
    ['64:ff9b::a9fe:a9fe', 'translated'],
  ])('is forbidden for the metadata service %s (%s)', (address) => {
    expect(addressKind(address)).toBe('forbidden');
  });

  it('is forbidden with a zone id', () => {
    expect(addressKind('fe80::1%eth0')).toBe('forbidden');
    expect(addressKind('2606:4700::1111%eth0')).toBe('forbidden');
  });

  it('is the same for every spelling of an IPv4 address in a URL', () => {
    fc.assert(
      fc.property(ipv4, fc.nat(), (value, choice) => {
        const bytes = bytesOf(value);
        const dotted = bytes.join('.');
        const octal = (byte: number): string => `0${byte.toString(8)}`;
        const hex = (byte: number): string => `0X${byte.toString(16)}`;
        const spellings = [
          dotted,
          `${dotted}.`,
          String(value),
          `0x${value.toString(16)}`,
          `0${value.toString(8)}`,
          bytes.map(octal).join('.'),
          bytes.map(hex).join('.'),
          bytes.map((byte, at) => [String(byte), octal(byte), hex(byte)][(choice + at) % 3]).join('.'),
          `${bytes[0]}.${value % 2 ** 24}`,
          `${bytes[0]}.${bytes[1]}.0x${(value % 2 ** 16).toString(16)}`,
          [...dotted].map((letter) => `%${letter.charCodeAt(0).toString(16)}`).join(''),
          // Full-width digits and the ideographic full stop.
          dotted.replace(/\d/g, (digit) => String.fromCharCode(0xff10 + Number(digit))).replaceAll('.', '。'),
        ];
        for (const spelling of spellings) expect(new URL(`https://${spelling}/`).hostname).toBe(dotted);
        const kind = addressKind(dotted);
        expect(spellings.map(kindOfHost)).toEqual(spellings.map(() => kind));
      }),
    );
  });

  it('is that of the embedded address for every spelling of a mapped or translated one', () => {
    fc.assert(
      fc.property(ipv4, fc.constantFrom('::ffff:', '64:ff9b::'), (value, prefix) => {
        const dotted = bytesOf(value).join('.');
        const kind = addressKind(dotted);
        const full = prefix === '::ffff:' ? '0:0:0:0:0:ffff:' : '0064:ff9b:0:0:0:0:';
        const spellings = [
          prefix + dotted,
          prefix + groupsOf(value),
          full + groupsOf(value),
          full.toUpperCase() + dotted,
        ];
        expect(spellings.map(addressKind)).toEqual(spellings.map(() => kind));
        expect(spellings.map((spelling) => kindOfHost(`[${spelling}]`))).toEqual(spellings.map(() => kind));
      }),
    );
  });

  it('never is public for IPv6 outside of global unicast, and the same however it is written', () => {
    const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(groups, (parts) => {
        const long = parts.map((part) => part.toString(16).padStart(4, '0')).join(':');
        const kind = addressKind(long);
        const url = new URL(`https://[${long}]/`);
        expect(addressKind(url.hostname.slice(1, -1))).toBe(kind);
        expect(addressKind(long.toUpperCase())).toBe(kind);
        if (((parts[0] as number) & 0xe000) !== 0x2000) expect(kind).not.toBe('public');
      }),
    );
  });
});

/** The kind as the rules for URLs show it. */
function kindOfHost(host: string): AddressKind {
  const isTaken = (allowance: typeof open): boolean => {
    try {
      return checkedUrl(`https://${host}/`, allowance).isAddress;
    } catch {
      return false;
    }
  };
  if (isTaken(strict)) return 'public';
  return isTaken(open) ? 'private' : 'forbidden';
}
