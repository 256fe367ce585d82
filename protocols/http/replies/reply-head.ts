import { Buffer } from 'node:buffer';
import { STATUS_CODES } from 'node:http';
import type { HttpResponse as UwsResponse } from 'uWebSockets.js';
import { assert } from '#runtime/base/assert.ts';
import type { ReplyHeaders } from '../route.ts';

const statusLines = new Map<number, string>(
  Object.entries({ ...STATUS_CODES, 499: 'Client Closed Request' }).map(([status, text]) => [
    Number(status),
    `${status} ${text}`,
  ]),
);

/** The text of the status line after the protocol version. */
export function statusLine(status: number): string {
  return statusLines.get(status) ?? `${status} Status`;
}

const headerName = /^[\w!#$%&'*+.^`|~-]+$/;

const NUL = 0x00;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;

/** Whether a value ends no header. Every response asks; a pattern takes twice the time of this loop for a short text. */
function isOneLine(value: string): boolean {
  for (let index = 0; index < value.length; index += 1) {
    const code = value.charCodeAt(index);
    if (code === LINE_FEED || code === CARRIAGE_RETURN || code === NUL) return false;
  }
  return true;
}

/** Headers the writer sets itself; a handler that set them would send them twice. */
const ownHeaders = /^(?:content-length|content-type|transfer-encoding|connection|date|x-request-id)$/i;

/** Maximum number of checked names that are cached; names are constants of our code, so there are few. */
const NAMES_MAX = 1_024;
const checkedNames = new Set<string>();

function checkName(name: string): void {
  assert(headerName.test(name), 'a reply header has a name of token characters');
  assert(!ownHeaders.test(name), 'a reply leaves the headers of its framing to the server');
  if (checkedNames.size < NAMES_MAX) checkedNames.add(name);
}

function checkOne(name: string, value: string): void {
  if (!checkedNames.has(name)) checkName(name);
  // A value may hold user data; a line break in it would end the header and begin another.
  assert(isOneLine(value), 'a reply header value holds no line break');
}

/** Checks a handler's headers before any part of its reply is written; an invalid one is a bug. */
export function checkReplyHeaders(headers: ReplyHeaders): void {
  for (const name in headers) {
    const value = headers[name] as string | readonly string[];
    if (typeof value === 'string') checkOne(name, value);
    else for (const item of value) checkOne(name, item);
  }
}

/** Writes headers that have been checked, all with one call into the library. */
export function writeReplyHeaders(response: UwsResponse, headers: ReplyHeaders): void {
  let lines = '';
  let last: string | undefined;
  for (const name in headers) {
    const value = headers[name] as string | readonly string[];
    for (const item of typeof value === 'string' ? [value] : value) {
      lines = last === undefined ? name : `${lines}: ${last}\r\n${name}`;
      last = item;
    }
  }
  if (last !== undefined) response.writeHeader(lines, last);
}

/** The value of a header by its name in lower case, however the handler spelled it. */
export function replyHeader(headers: ReplyHeaders | undefined, lowerName: string): string | undefined {
  for (const name in headers) {
    if (name.length !== lowerName.length || name.toLowerCase() !== lowerName) continue;
    const value = headers[name] as string | readonly string[];
    return typeof value === 'string' ? value : value.join(', ');
  }
  return undefined;
}

/** Maximum number of content types whose fixed lines are cached; the content types of assets are unbounded. */
const contentTypesMax = 64;

/**
 * Headers for browsers that open an address of the interface. Nothing is guessed to be a page, no other site shows an
 * answer inside a frame, and an address, which may name content, is not passed on to the site of a link.
 */
const browserHeaders = [
  'X-Content-Type-Options: nosniff',
  'X-Frame-Options: DENY',
  'Referrer-Policy: no-referrer',
].join('\r\n');

/**
 * The header lines of every response, joined and encoded once per content type: a call into the library costs more than
 * the bytes it writes, and so does encoding them. They end in the name of the request id's header, so that one
 * `writeHeader(lines, id)` writes them all.
 */
export class FixedHeaders {
  readonly #common: string;
  readonly #commonBytes: Buffer;
  readonly #byContentType = new Map<string, Buffer>();

  /**
   * @param variesByOrigin whether responses differ by `Origin`, that is whether there is a CORS policy
   * @param cacheControl value of `Cache-Control`; undefined: none
   */
  constructor(variesByOrigin: boolean, cacheControl?: string) {
    const vary = variesByOrigin ? 'Vary: Origin\r\n' : '';
    const cache = cacheControl === undefined ? '' : `Cache-Control: ${cacheControl}\r\n`;
    this.#common = `${browserHeaders}\r\n${vary}${cache}X-Request-Id`;
    this.#commonBytes = Buffer.from(this.#common);
  }

  /** @param contentType `undefined` for a response without a body */
  lines(contentType: string | undefined): Uint8Array {
    if (contentType === undefined) return this.#commonBytes;
    const known = this.#byContentType.get(contentType);
    if (known !== undefined) return known;
    assert(isOneLine(contentType), 'a content type holds no line break');
    const lines = Buffer.from(`Content-Type: ${contentType}\r\n${this.#common}`);
    if (this.#byContentType.size < contentTypesMax) this.#byContentType.set(contentType, lines);
    return lines;
  }
}
