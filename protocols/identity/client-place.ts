import { createHash } from 'node:crypto';

/** Groups of an IPv6 address that a network has; the rest is chosen by the device, and changes every day. */
const NETWORK_GROUPS = 4;

const GROUPS = 8;

/**
 * Where a client is, as the identities of a tenant store it: a hash of its address, of an IPv6 address only of its
 * network.
 *
 * @param address of the client, in text
 */
export function clientPlace(tenant: string, address: string): string {
  return createHash('sha256')
    .update(`${tenant}\0${networkOf(address)}`)
    .digest('base64url');
}

function networkOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail] = address.toLowerCase().split('::') as [string, string?];
  const left = groupsOf(head);
  const right = tail === undefined ? [] : groupsOf(tail);
  const zeros = Array.from({ length: Math.max(0, GROUPS - left.length - right.length) }, () => '0');
  return [...left, ...zeros, ...right].slice(0, NETWORK_GROUPS).join(':');
}

function groupsOf(text: string): readonly string[] {
  return text === '' ? [] : text.split(':').map((group) => group.replace(/^0+(?=.)/, ''));
}
