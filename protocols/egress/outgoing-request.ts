import { validateHeaderValue } from 'node:http';
import { invalid } from '#runtime/errors/service-error.ts';
import type { EgressAllowance } from './allowance.ts';
import { type CheckedUrl, checkedUrl } from './checked-url.ts';
import { refused, unacceptable } from './egress-errors.ts';

/** A request as it is sent to one server. */
export interface OutgoingRequest {
  readonly target: CheckedUrl;
  /** In upper case. */
  readonly method: string;
  readonly headers: Headers;
  readonly body: Uint8Array | undefined;
}

/** What the caller asks for, as in `fetch`. */
export interface AskedRequest {
  readonly method?: string | undefined;
  readonly headers?: RequestInit['headers'];
  /** Text, bytes or a form; streams are refused, because a redirect sends a body again. */
  readonly body?: RequestInit['body'];
}

/** Bytes of the headers of a request. */
const HEADER_BYTES_MAX = 32 * 1024;

/** Headers that belong to the connection or say how the body is sent. */
const connectionHeaders: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

/**
 * Checks a request of a caller.
 *
 * @throws {ServiceError} `EGRESS_REFUSED` for its URL, `VALIDATION_FAILED` for anything else
 */
export function outgoingRequest(
  url: string | URL,
  asked: AskedRequest,
  allowance: EgressAllowance,
): OutgoingRequest {
  const target = checkedUrl(url, allowance);
  const method = (asked.method ?? 'GET').toUpperCase();
  if (!allowance.methods.includes(method))
    throw invalid(`The method must be one of ${allowance.methods.join(', ')}`, { field: 'method' });
  const headers = checkedHeaders(asked.headers, allowance);
  const body = bytesOf(asked.body, headers);
  if (body !== undefined && (method === 'GET' || method === 'HEAD'))
    throw invalid(`A ${method} request has no body`, { field: 'body' });
  if (!headers.has('accept')) headers.set('accept', '*/*');
  if (!headers.has('user-agent')) headers.set('user-agent', 'grove');
  return { target, method, headers, body };
}

function checkedHeaders(given: RequestInit['headers'], allowance: EgressAllowance): Headers {
  const headers = headersOf(given);
  let bytes = 0;
  for (const [name, value] of headers) {
    if (connectionHeaders.has(name) || (allowance.headers !== 'any' && !allowance.headers.includes(name)))
      throw invalid(`The header '${name}' may not be set`, { field: 'headers' });
    bytes += name.length + value.length;
  }
  if (bytes > HEADER_BYTES_MAX)
    throw invalid(`The headers have more than ${HEADER_BYTES_MAX} bytes`, { field: 'headers' });
  return headers;
}

function headersOf(given: RequestInit['headers']): Headers {
  try {
    const headers = new Headers(given);
    // Stricter than what `fetch` takes: no control characters.
    for (const [name, value] of headers) validateHeaderValue(name, value);
    return headers;
  } catch (cause) {
    throw invalid('The headers have a name or a value with characters that are not allowed', {
      field: 'headers',
      cause,
    });
  }
}

function bytesOf(body: RequestInit['body'], headers: Headers): Uint8Array | undefined {
  if (body === undefined || body === null) return undefined;
  if (typeof body === 'string') return withType(headers, 'text/plain;charset=UTF-8', Buffer.from(body));
  if (body instanceof URLSearchParams) {
    const type = 'application/x-www-form-urlencoded;charset=UTF-8';
    return withType(headers, type, Buffer.from(body.toString()));
  }
  // Copied: the caller may go on writing into its own.
  if (body instanceof ArrayBuffer) return new Uint8Array(body.slice(0));
  if (ArrayBuffer.isView(body))
    return Uint8Array.from(new Uint8Array(body.buffer, body.byteOffset, body.byteLength));
  throw invalid('The body must be a text, a form or bytes', { field: 'body' });
}

function withType(headers: Headers, type: string, bytes: Uint8Array): Uint8Array {
  if (!headers.has('content-type')) headers.set('content-type', type);
  return bytes;
}

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Headers that say something about the body (RFC 9110, section 8.3), which a request without one has not. */
const bodyHeaders = ['content-encoding', 'content-language', 'content-location', 'content-type'];

/**
 * Headers that go to another origin than the caller named. All others may be credentials: servers of one purpose expect
 * them in headers of any name.
 */
const plainHeaders: ReadonlySet<string> = new Set([
  'accept',
  'accept-language',
  'user-agent',
  'mcp-protocol-version',
]);

/** Whether a response asks for the request to be sent elsewhere. @param location its header `Location` */
export function isRedirect(status: number, location: string | undefined): location is string {
  return redirects.has(status) && location !== undefined;
}

/**
 * The request that a redirect asks for, by RFC 9110, section 15.4. It is checked as the first one was. Another origin
 * receives no credentials: neither headers that may contain some, nor a body.
 *
 * @throws {ServiceError} `EGRESS_REFUSED`, `UPSTREAM_INVALID` for a location that is no URL
 */
export function redirected(
  from: OutgoingRequest,
  status: number,
  location: string,
  allowance: EgressAllowance,
): OutgoingRequest {
  const { host, isSecure, url } = from.target;
  // Bytes that are not ASCII are UTF-8, which Node reads as Latin 1.
  const text = Buffer.from(location, 'latin1').toString('utf8');
  const next = URL.parse(text, url.href);
  if (next === null) throw unacceptable(`The server '${host}' redirects to something that is not a URL`);
  const target = checkedUrl(next, allowance);
  if (isSecure && !target.isSecure)
    throw refused('redirect', `The server '${host}' redirects from https to http, which is never followed`);
  const becomesGet =
    (status === 303 && from.method !== 'HEAD') ||
    ((status === 301 || status === 302) && from.method === 'POST');
  const body = becomesGet ? undefined : from.body;
  const isSameOrigin = target.url.origin === url.origin;
  if (!isSameOrigin && body !== undefined)
    throw refused(
      'redirect',
      `The server '${host}' redirects a request with a body to '${target.host}', which is not followed`,
    );
  const headers = new Headers(from.headers);
  if (body === undefined) for (const name of bodyHeaders) headers.delete(name);
  if (!isSameOrigin)
    for (const name of [...headers.keys()]) if (!plainHeaders.has(name)) headers.delete(name);
  const method = becomesGet ? 'GET' : from.method;
  if (!allowance.methods.includes(method))
    throw refused('redirect', `The server '${host}' redirects to a ${method} request, which is not allowed`);
  return { target, method, headers, body };
}
