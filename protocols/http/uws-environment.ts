/**
 * Settings uWebSockets.js reads from the environment while it loads; import this module before it.
 *
 * The library answers some requests itself, before any code of ours sees them:
 * - a request head above `UWS_HTTP_MAX_HEADERS_SIZE` (4 KiB unless set; 16 KiB here): 431 and close;
 * - HTTP/1.0, absolute-form targets, `OPTIONS *`, and anything that does not parse as a request line: 505 and
 *   close. A request line whose ` HTTP/1.1` is cut in two by the network reads as such too;
 * - `Transfer-Encoding` beside `Content-Length`, a broken chunk or length: 400 and close;
 * - a header line that is none, such as one without a colon: it waits for more of the head, for 10 to 12 s, and closes
 *   without an answer. A proxy in front answers 400 at once;
 * - trailers behind the last chunk of a body: taken for another request, see `HttpExchange.endsConnection`;
 * - a missing `Host`: close without an answer;
 * - a second request on a connection whose first is answered asynchronously (pipelining): close without an
 *   answer. Pipelined requests that are answered in the same turn are served in order;
 * - silence: 10 to 12 s without a byte of an awaited head or body, or a body slower than 16 KiB/s, closes;
 *   so does an idle kept-alive connection. `Expect: 100-continue` is granted by itself.
 *
 * It also adds `Date` and its own `uWebSockets: 20` to every answer, which cannot be turned off.
 */
export const requestHeadBytesMax = 16_384;

process.env.UWS_HTTP_MAX_HEADERS_SIZE ??= String(requestHeadBytesMax);
