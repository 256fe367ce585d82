/** Groups of an IPv6 address that a network has; the rest is chosen by the device, and changes every day. */
const NETWORK_GROUPS = 4;

const GROUPS = 8;

/** Beginning of an IPv6 address that stands for one of version 4: of a client of a socket for both versions. */
const MAPPED = '0:0:0:0:0:ffff';

/**
 * What tells clients apart by their address: of version 4 the address, of version 6 its network, because everybody has
 * billions of addresses in it. An address of version 4 is the same in either form.
 *
 * @param address in text; another text is its own network
 */
export function clientNetwork(address: string): string {
  if (!address.includes(':')) return address;
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || address.includes('.')) return mapped ?? address;
  const [head = '', tail] = address.toLowerCase().split('::') as [string, string?];
  const left = groupsOf(head);
  const right = tail === undefined ? [] : groupsOf(tail);
  const zeros = Array.from({ length: Math.max(0, GROUPS - left.length - right.length) }, () => '0');
  const groups = [...left, ...zeros, ...right];
  if (groups.length === GROUPS && groups.slice(0, 6).join(':') === MAPPED)
    return groups.slice(6).flatMap(bytesOf).join('.');
  return groups.slice(0, NETWORK_GROUPS).join(':');
}

function groupsOf(text: string): readonly string[] {
  return text === '' ? [] : text.split(':').map((group) => group.replace(/^0+(?=.)/, ''));
}

/** The two bytes of a group, of which an address of version 4 has two. */
function bytesOf(group: string): readonly number[] {
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 0xff];
}
