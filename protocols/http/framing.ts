/** How a head says where its request ends. */
export interface Framing {
  /** The `Content-Length`, if there is one. */
  readonly contentLength: string | undefined;
  /** Whether the body comes in chunks. */
  readonly isChunked: boolean;
  /** What is wrong with it, for people; then nobody knows where the request ends. */
  readonly fault: string | undefined;
}

/** Of most requests without a body. */
const nothing: Framing = Object.freeze({ contentLength: undefined, isChunked: false, fault: undefined });

/**
 * Reads what a head says of the length of its request. uWebSockets.js goes by the first `Content-Length`, takes an empty
 * one for none, and takes any `Transfer-Encoding` for chunks: wherever somebody before or behind it may read the same
 * head in another way, one request could be hidden in another, so such heads are refused. So are heads with two hosts,
 * of which somebody before it may have taken the other one.
 *
 * @param headers names in lower case and values, in turns
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
