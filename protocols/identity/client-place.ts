import { createHash } from 'node:crypto';
import { clientNetwork } from '#runtime/access/client-network.ts';

/**
 * Where a client is, as the identities of a tenant store it: a hash of its address, of an IPv6 address only of its
 * network.
 *
 * @param address of the client, in text
 */
export function clientPlace(tenant: string, address: string): string {
  return createHash('sha256')
    .update(`${tenant}\0${clientNetwork(address)}`)
    .digest('base64url');
}
