/**
 * Settings uWebSockets.js reads from the environment while it loads; import this module before it.
 *
 * The library answers some requests itself, before any code of ours sees them:
 * - a request head above `UWS_HTTP_MAX_HEADERS_SIZE` (4 KiB unless set; 16 KiB here): 431 and close;
 * - HTTP/1.0, absolute-form targets, `OPTIONS *`, and anything that does not parse as a request line: 505 and
 *   close. A request line whose ` HTTP/1.1` is cut in two by the network reads as such too;
 * - `Transfer-Encoding` beside `Content-Length`, a broken chunk or length: 400 and close;
 * - a header line that is none (without a colon, folded, with a space, a control character or a byte beyond ASCII in its
 *   name): it waits for more of the head, for 10 to 12 s, and closes without an answer. Its parser says "not whole yet" of
 *   both, nobody is told of bytes before a head is whole, and the time is compiled in, so nothing here can close earlier.
 *   A proxy in front answers 400 at once;
 * - trailers behind the last chunk of a body: taken for another request, see `HttpExchange.endsConnection`;
 * - a header without a name: it and the headers behind it are seen by nobody, the library itself included. What stands in
 *   front must not let one through, or it could find another end of the request; HAProxy and nginx answer 400;
 * - bytes beyond ASCII at the end of a header value: they are cut off, so that nobody sees them. Elsewhere in a value they
 *   are seen, and an `Idempotency-Key` with them is refused;
 * - a missing `Host`: 400 and close;
 * - a second request on a connection whose first is answered asynchronously (pipelining): close without an
 *   answer. Pipelined requests that are answered in the same turn are served in order;
 * - silence: 10 to 12 s without a byte of an awaited head or body, or a body slower than 16 KiB/s, closes;
 *   so does an idle kept-alive connection. `Expect: 100-continue` is granted by itself.
 *
 * It also adds `Date` and its own `uWebSockets: 20` to every answer, which cannot be turned off.
 */
export const requestHeadBytesMax = 16_384;

process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(requestHeadBytesMax);
