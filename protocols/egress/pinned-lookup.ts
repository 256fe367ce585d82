import type { LookupFunction } from 'node:net';
import { assert } from '#runtime/base/assert.ts';

/** Time for one address before the next one is tried, in milliseconds. */
export const ATTEMPT_MS = 1_000;

/** Answers with checked addresses instead of resolving a name. Node does not call it for a host that is an address. */
export function pinnedLookup(host: string, addresses: readonly string[]): LookupFunction {
  const entries = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  return (name, options, callback) => {
    assert(name === host, 'a connection is made to another host than the one that was checked');
    const [first] = entries;
    assert(first !== undefined, 'a checked host has an address');
    if (options.all === true) callback(null, entries);
    else callback(null, first.address, first.family);
  };
}
