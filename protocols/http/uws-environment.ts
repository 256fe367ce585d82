/**
 * Settings uWebSockets.js reads from the environment while it loads; import this module before it.
 *
 * The library responds to some requests itself, before any of our code runs:
 * - a request head above `UWS_HTTP_MAX_HEADERS_SIZE` (4 KiB unless set; 16 KiB here): 431 and close;
 * - HTTP/1.0, absolute-form targets, `OPTIONS *`, and anything that does not parse as a request line: 505 and close.
 *   A request line whose ` HTTP/1.1` the network splits in two fails to parse as well;
 * - `Transfer-Encoding` together with `Content-Length`, an invalid chunk or length: 400 and close;
 * - an invalid header line (without a colon, folded, or with a space, a control character or a byte beyond ASCII in
 *   its name): it waits 10 to 12 s for more of the head and closes without a response. Its parser reports an invalid
 *   head as incomplete, no callback runs before a head is complete, and the timeout is compiled in, so nothing here
 *   can close earlier. A proxy in front responds with 400 at once;
 * - trailers after the last chunk of a body: parsed as another request, see `HttpExchange.endsConnection`;
 * - a header without a name: this header and all after it are dropped, for the library itself too. A proxy in front
 *   must not forward one, or it could find another end of the request; HAProxy and nginx respond with 400;
 * - bytes beyond ASCII at the end of a header value: they are cut off. Elsewhere in a value they are kept, and an
 *   `Idempotency-Key` with them is refused;
 * - a missing `Host`: 400 and close;
 * - a second request on a connection whose first is answered asynchronously (pipelining): close without a response.
 *   Pipelined requests that are answered in the same turn are served in order;
 * - silence: 10 to 12 s without a byte of an awaited head or body, or a body slower than 16 KiB/s, closes; so does an
 *   idle kept-alive connection. `Expect: 100-continue` is granted by the library.
 *
 * It also adds `Date` and its own `uWebSockets: 20` to every response, which cannot be turned off.
 */
export const requestHeadBytesMax = 16_384;

/** Limits of a request head that the library may be given: below, ordinary requests would be answered 431. */
const HEAD_BYTES_LEAST = 8_192;
const HEAD_BYTES_MOST = 65_536;

/**
 * Checks a value of `UWS_HTTP_MAX_HEADERS_SIZE`. The library reads whatever begins with a digit and takes the rest for
 * 0, so a wrong value would make a server that is ready and answers every request with 431.
 *
 * @returns why a process must not start with it, for people; undefined: it may
 */
export function requestHeadProblem(text: string | undefined): string | undefined {
  const bytes = Number(text);
  if (text === undefined || (/^\d+$/.test(text) && bytes >= HEAD_BYTES_LEAST && bytes <= HEAD_BYTES_MOST))
    return undefined;
  return `UWS_HTTP_MAX_HEADERS_SIZE must be a whole number from ${HEAD_BYTES_LEAST} to ${HEAD_BYTES_MOST} (bytes of a request head), not '${text}': unset it for ${requestHeadBytesMax}`;
}

process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(requestHeadBytesMax);
