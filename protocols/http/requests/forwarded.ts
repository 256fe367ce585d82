import { isIP } from 'node:net';
import type { HttpRequest } from '../route.ts';

/** The headers of a request, as far as this file reads them. */
type Headers = Pick<HttpRequest<unknown>, 'header' | 'headerList'>;

/** Returns the origin that clients use, without a slash at the end, for links and for the names of tokens. */
export type ExternalOrigin = (request: Headers) => string;

/** What decides about the origin. */
export interface OriginOptions {
  /** `SVC_BASE_URL`; it is the answer for every request. */
  readonly baseUrl: string | undefined;
  /** Whether a proxy has set the `X-Forwarded-*` headers of every request. */
  readonly trustForwardedHeaders: boolean;
}

/** A name or an address of a host with an optional port, and nothing that ends the authority of a URL. */
const hostShape = /^(?:[a-z\d](?:[a-z\d.-]{0,253}[a-z\d])?\.?|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i;

/** Entry of `X-Forwarded-For` with a port; the port of a client says nothing. */
const withPort = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d{1,5})?$/;

/**
 * Makes the function that every link, landing address and issuer comes from, so that all of them agree. Without
 * `SVC_BASE_URL` the origin is that of the request, which its sender chooses: whoever sends links to others needs
 * `SVC_BASE_URL`.
 *
 * @returns a function that never throws; a host that cannot be one counts as absent, and the address of this machine
 *   is the last resort
 * @see docs/interface/conventions.md#behind-a-proxy
 */
export function createExternalOrigin({ baseUrl, trustForwardedHeaders }: OriginOptions): ExternalOrigin {
  if (baseUrl !== undefined) return () => baseUrl;
  return (request) => {
    if (trustForwardedHeaders) {
      const protocol = lastEntry(request, 'x-forwarded-proto')?.toLowerCase() === 'https' ? 'https' : 'http';
      const host = lastEntry(request, 'x-forwarded-host');
      const named = originOf(protocol, host) ?? originOf(protocol, request.header('host'));
      if (named !== undefined) return named;
    }
    return originOf('http', request.header('host')) ?? 'http://localhost';
  };
}

/**
 * The address that a trusted proxy states for its client: the last entry, which the proxy itself has added. Earlier
 * entries, and earlier headers of the name, may be made up by the client.
 *
 * @returns undefined when there is none, or it is no address
 */
export function forwardedAddress(request: Headers): string | undefined {
  const last = lastEntry(request, 'x-forwarded-for');
  if (last === undefined) return undefined;
  const found = withPort.exec(last);
  const address = found?.[1] ?? found?.[2] ?? last;
  return isIP(address) === 0 ? undefined : address;
}

/** The last entry of a list, in whichever header of the name it is. */
function lastEntry(request: Headers, name: string): string | undefined {
  const last = request.headerList(name)?.split(',').at(-1)?.trim();
  return last === '' ? undefined : last;
}

function originOf(protocol: 'http' | 'https', host: string | undefined): string | undefined {
  if (host === undefined || !hostShape.test(host)) return undefined;
  try {
    return new URL(`${protocol}://${host}`).origin;
  } catch {
    // A port above 65535, or an address with too many parts.
    return undefined;
  }
}
