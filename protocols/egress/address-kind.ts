import { BlockList } from 'node:net';

/**
 * What may be behind an address:
 *
 * - `public`: a host of the internet.
 * - `private`: a host of the operator, or this machine: loopback, private and shared networks. Requests go there with an
 *   allowance only.
 * - `forbidden`: what no allowance opens. Link-local addresses and the metadata services of clouds, which hand out the
 *   credentials of the machine, and addresses that no host has: multicast, reserved, documentation, translation.
 */
export type AddressKind = 'public' | 'private' | 'forbidden';

/** A network that is not public: first address, length of the prefix, kind. */
type Network = readonly [address: string, prefix: number, kind: Exclude<AddressKind, 'public'>];

/**
 * IPv4 networks that are not public: the special-purpose registry of IANA, and metadata services elsewhere. Stricter
 * than the registry: all of 192.0.0.0/24, and the relays of 6to4. The networks of AS112 and AMT count as public, as
 * registered.
 */
const ipv4Networks: readonly Network[] = [
  ['0.0.0.0', 8, 'forbidden'],
  ['10.0.0.0', 8, 'private'],
  // Shared address space: networks behind carriers, and overlay networks of operators.
  ['100.64.0.0', 10, 'private'],
  // Metadata service of Alibaba Cloud.
  ['100.100.100.200', 32, 'forbidden'],
  ['127.0.0.0', 8, 'private'],
  // Azure's host agent, in a public network.
  ['168.63.129.16', 32, 'forbidden'],
  // Link-local, with most metadata services.
  ['169.254.0.0', 16, 'forbidden'],
  ['172.16.0.0', 12, 'private'],
  ['192.0.0.0', 24, 'forbidden'],
  ['192.0.2.0', 24, 'forbidden'],
  ['192.88.99.0', 24, 'forbidden'],
  ['192.168.0.0', 16, 'private'],
  ['198.18.0.0', 15, 'forbidden'],
  ['198.51.100.0', 24, 'forbidden'],
  ['203.0.113.0', 24, 'forbidden'],
  ['224.0.0.0', 4, 'forbidden'],
  ['240.0.0.0', 4, 'forbidden'],
];

/** IPv6 networks with a kind of their own. What is in none of them and not in {@link publicIpv6} is forbidden. */
const ipv6Networks: readonly Network[] = [
  ['::1', 128, 'private'],
  // Teredo, benchmarking, ORCHID, AMT, AS112 and what else IETF protocols have; Teredo contains IPv4 addresses.
  ['2001::', 23, 'forbidden'],
  ['2001:db8::', 32, 'forbidden'],
  // 6to4 contains IPv4 addresses; its relays are gone.
  ['2002::', 16, 'forbidden'],
  ['3fff::', 20, 'forbidden'],
  ['fc00::', 7, 'private'],
  // Services of AWS for its machines and pods, and the metadata services of Google Cloud and Oracle Cloud.
  ['fd00:ec2::', 32, 'forbidden'],
  ['fd20:ce::254', 128, 'forbidden'],
  ['fd00:c1::a9fe:a9fe', 128, 'forbidden'],
];

/** Prefixes of IPv6 addresses that stand for the IPv4 address at their end: mapped ones, and NAT64 (RFC 6052). */
const embeddingPrefixes = ['::ffff:', '64:ff9b::'];

/** Global unicast, and the prefixes whose IPv4 addresses are judged themselves. */
const publicIpv6: readonly (readonly [string, number])[] = [
  ['2000::', 3],
  ['::ffff:0.0.0.0', 96],
  ['64:ff9b::', 96],
];

const forbidden = networksOf('forbidden');
const privates = networksOf('private');
const reachableIpv6 = new BlockList();
for (const [address, prefix] of publicIpv6) reachableIpv6.addSubnet(address, prefix, 'ipv6');

function networksOf(kind: AddressKind): BlockList {
  const list = new BlockList();
  for (const [address, prefix, itsKind] of ipv4Networks) {
    if (itsKind !== kind) continue;
    list.addSubnet(address, prefix, 'ipv4');
    for (const embedding of embeddingPrefixes) list.addSubnet(embedding + address, 96 + prefix, 'ipv6');
  }
  for (const [address, prefix, itsKind] of ipv6Networks)
    if (itsKind === kind) list.addSubnet(address, prefix, 'ipv6');
  return list;
}

/**
 * The kind of an IP address. An IPv6 address that embeds an IPv4 address has the kind of that one.
 *
 * @param address in a form that `isIP` of `node:net` accepts; with a zone id it is forbidden
 */
export function addressKind(address: string): AddressKind {
  // A zone id names an interface of this machine, so the address is link-local or confused.
  if (address.includes('%')) return 'forbidden';
  const family = address.includes(':') ? 'ipv6' : 'ipv4';
  if (forbidden.check(address, family)) return 'forbidden';
  if (privates.check(address, family)) return 'private';
  return family === 'ipv4' || reachableIpv6.check(address, family) ? 'public' : 'forbidden';
}
