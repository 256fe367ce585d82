import { BlockList, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { RestRequest } from '../rest-route.ts';

/** What a proxy says for whom it asks with. */
const forwardedHeaders = ['x-forwarded-for', 'forwarded', 'via'] as const;

/** Whether a proxy sent a request, as far as it says so: it is for somebody elsewhere then. */
export function isForwarded(request: RestRequest): boolean {
  return forwardedHeaders.some((name) => request.header(name) !== undefined);
}

/** Whether an address is one of the loopback interface, IPv4 inside IPv6 included. */
export function isLoopbackAddress(address: string): boolean {
  const mapped = /^(?:::ffff:|0000:0000:0000:0000:0000:ffff:)(.+)$/i.exec(address)?.[1] ?? address;
  return (
    /^127\.\d+\.\d+\.\d+$/.test(mapped) ||
    /^7f[0-9a-f]{2}:[0-9a-f]{1,4}$/i.test(mapped) ||
    mapped === '::1' ||
    mapped === '0000:0000:0000:0000:0000:0000:0000:0001'
  );
}

/**
 * Whether an address is one of this machine: of the loopback interface, or of any other. A member that listens on the
 * address of one interface alone is reached from the machine itself by that one.
 */
export function isOwnAddress(address: string): boolean {
  if (isLoopbackAddress(address)) return true;
  const own = new BlockList();
  for (const each of Object.values(networkInterfaces()).flat())
    if (each !== undefined) own.addAddress(each.address, each.family === 'IPv6' ? 'ipv6' : 'ipv4');
  return own.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
