/** How a head delimits its request. */
export interface Framing {
  /** The `Content-Length`, if there is one. */
  readonly contentLength: string | undefined;
  /** Whether the body uses chunked transfer encoding. */
  readonly isChunked: boolean;
  /** What is wrong with the head, for people; the end of the request is then unknown. */
  readonly fault: string | undefined;
}

/** The framing of most requests without a body. */
const nothing: Framing = Object.freeze({ contentLength: undefined, isChunked: false, fault: undefined });

/**
 * Reads the framing headers of a request. uWebSockets.js uses the first `Content-Length`, treats an empty one as
 * absent, and treats any `Transfer-Encoding` as chunked. Where a proxy before it or a server behind it may read the
 * same head in another way, one request could be smuggled in another, so such heads are refused. So are heads with
 * two hosts, because a proxy may have used the other one.
 *
 * @param headers names in lower case and values, alternating
 * @see RFC 9112 sections 3.2 and 6.3
 */
export function framingOf(headers: readonly string[]): Framing {
  let contentLength: string | undefined;
  let coding: string | undefined;
  let hosts = 0;
  for (let index = 0; index < headers.length; index += 2) {
    const name = headers[index] as string;
    if (name === 'content-length') {
      if (contentLength !== undefined) return broken('The request states its Content-Length twice.');
      contentLength = headers[index + 1] as string;
    } else if (name === 'transfer-encoding') {
      if (coding !== undefined) return broken('The request states its Transfer-Encoding twice.');
      coding = headers[index + 1] as string;
    } else if (name === 'host') {
      hosts += 1;
      if (hosts > 1) return broken('The request names its Host twice.');
    }
  }
  if (contentLength === undefined && coding === undefined) return nothing;
  if (contentLength !== undefined && coding !== undefined)
    return broken('The request has a Content-Length beside a Transfer-Encoding.');
  if (contentLength !== undefined && !/^\d+$/.test(contentLength))
    return broken('The Content-Length of the request is no number.');
  if (coding !== undefined && coding.toLowerCase() !== 'chunked')
    return broken('No Transfer-Encoding but chunked is taken.');
  return { contentLength, isChunked: coding !== undefined, fault: undefined };
}

function broken(fault: string): Framing {
  return { contentLength: undefined, isChunked: false, fault };
}
