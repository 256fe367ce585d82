import type { CustomFetch } from 'openid-client';
import type { EgressGuard } from '#protocols/egress/egress-guard.ts';

/** What logins use to send requests. */
export type ProviderEgress = Pick<EgressGuard, 'fetch'>;

/** Statuses whose responses have no body. */
const withoutBody: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * Sends the requests of the library through the guard of outgoing requests, which knows where they may go and for how
 * long. Redirects are not followed: no endpoint of a provider has one. The body is read at once, because the library
 * leaves the body of a response with an unexpected status unread, and the request would hold its slot until its time ends.
 *
 * @param signal ends requests when the caller has gone; undefined: they are for others too
 */
export function providerFetch(
  egress: ProviderEgress,
  tenant: string,
  signal: AbortSignal | undefined,
): CustomFetch {
  return async (url, { body, headers, method }) => {
    const response = await egress.fetch(url, { tenant, signal, method, headers, body, redirect: 'manual' });
    const bytes = await response.arrayBuffer();
    const { status } = response;
    return new Response(withoutBody.has(status) ? null : bytes, { status, headers: response.headers });
  };
}
