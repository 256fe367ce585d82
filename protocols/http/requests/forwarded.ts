import { isIP } from 'node:net';
import type { HttpRequest } from '../route.ts';

/** Entry of `X-Forwarded-For` with a port; the port of a client says nothing. */
const withPort = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d{1,5})?$/;

/**
 * The address that a trusted proxy states for its client: the last entry, which the proxy itself has added. Earlier
 * entries, and earlier headers of the name, may be made up by the client.
 *
 * @returns undefined when there is none, or it is no address
 */
export function forwardedAddress(request: Pick<HttpRequest<unknown>, 'headerList'>): string | undefined {
  const last = request.headerList('x-forwarded-for')?.split(',').at(-1)?.trim();
  if (last === undefined) return undefined;
  const found = withPort.exec(last);
  const address = found?.[1] ?? found?.[2] ?? last;
  return isIP(address) === 0 ? undefined : address;
}
