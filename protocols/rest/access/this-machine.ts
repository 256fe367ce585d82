import { BlockList, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { RestRequest } from '../rest-route.ts';

/** Headers in which proxies state the original caller. */
const forwardedHeaders = ['x-forwarded-for', 'forwarded', 'via'] as const;

/** Whether a request carries a proxy's headers; its caller is then on another machine. */
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
 * Whether an address belongs to this machine: to the loopback interface, or to any other. A member that listens on
 * one interface's address only is reached from its own machine by that address.
 */
export function isOwnAddress(address: string): boolean {
  if (isLoopbackAddress(address)) return true;
  const own = new BlockList();
  for (const each of Object.values(networkInterfaces()).flat())
    if (each !== undefined) own.addAddress(each.address, each.family === 'IPv6' ? 'ipv6' : 'ipv4');
  return own.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
