import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { codedEtag } from './etag.ts';
import { replyHeader } from './reply-head.ts';
import type { HttpReply, ReplyHeaders } from '../route.ts';

/** A content coding this server can apply. */
export type ContentCoding = 'br' | 'gzip';

const brotli = promisify(brotliCompress);
const gzipped = promisify(gzip);

/** Brotli at level 4 and gzip at level 5 take about as long as gzip at its default level and give smaller text. */
const brotliQuality = 4;
const gzipLevel = 5;

const compressible =
  /^(?:text\/(?!event-stream)|application\/(?:json|javascript|xml|sql|yaml|[\w.+-]+\+(?:json|xml))|image\/svg)/i;

/** Whether bodies of this content type compress well enough. */
export function isCompressible(contentType: string): boolean {
  return compressible.test(contentType);
}

function weightOf(acceptEncoding: string, coding: string): number | undefined {
  const pattern = new RegExp(
    `(?:^|,)\\s*${coding}\\s*(?:;\\s*q\\s*=\\s*([01](?:\\.\\d{0,3})?))?\\s*(?=,|$)`,
    'i',
  );
  const found = pattern.exec(acceptEncoding);
  return found === null ? undefined : Number(found[1] ?? '1');
}

/**
 * The coding to apply for an `Accept-Encoding` header: the highest weight, Brotli on a tie.
 *
 * @returns `undefined` when neither is accepted
 * @see RFC 9110 section 12.5.3
 */
export function codingFor(acceptEncoding: string | undefined): ContentCoding | undefined {
  if (acceptEncoding === undefined) return undefined;
  const rest = weightOf(acceptEncoding, '\\*') ?? 0;
  const br = weightOf(acceptEncoding, 'br') ?? rest;
  const gz = weightOf(acceptEncoding, 'gzip') ?? rest;
  if (br <= 0 && gz <= 0) return undefined;
  return br >= gz ? 'br' : 'gzip';
}

/**
 * Compresses on the thread pool, a bounded number of bodies at once: durable flushes and password hashing use the
 * same threads, so a burst of large responses must not occupy all of them.
 */
export class Compressor {
  readonly #atOnceMax: number;
  #running = 0;

  /** @param atOnceMax maximum number of concurrent compressions */
  constructor(atOnceMax: number) {
    this.#atOnceMax = atOnceMax;
  }

  /**
   * @param body a function that makes it is called only when it is compressed. A long text must be encoded before: the
   *   library encodes a text in one step.
   * @returns the compressed bytes, or `undefined` at once when too many compressions are running
   */
  compress(
    body: string | Uint8Array | (() => Promise<Uint8Array>),
    coding: ContentCoding,
  ): Promise<Buffer> | undefined {
    if (this.#running >= this.#atOnceMax) return undefined;
    this.#running += 1;
    const work =
      typeof body === 'function' ? body().then((made) => coded(made, coding)) : coded(body, coding);
    return work.finally(() => {
      this.#running -= 1;
    });
  }
}

function coded(body: string | Uint8Array, coding: ContentCoding): Promise<Buffer> {
  if (coding === 'gzip') return gzipped(body, { level: gzipLevel });
  const params = {
    [constants.BROTLI_PARAM_QUALITY]: brotliQuality,
    [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
  };
  return brotli(body, { params });
}

/** How a compressible reply is sent. */
export interface CompressionPlan {
  /** `undefined` when the client accepts none. */
  readonly coding: ContentCoding | undefined;
  /** Headers of the uncompressed form. */
  readonly plainHeaders: ReplyHeaders;
  /** Headers of the compressed form: the coding, and the entity tag of that form. */
  readonly codedHeaders: ReplyHeaders;
}

/**
 * Decides how a long reply is sent; both forms declare that they vary by `Accept-Encoding`.
 *
 * @returns `undefined` for a reply that must not be changed: incompressible content, a range, a reply that has a
 *   coding already or forbids transformation
 */
export function planCompression(
  reply: HttpReply,
  acceptEncoding: string | undefined,
): CompressionPlan | undefined {
  const { headers } = reply;
  if (!isCompressible(reply.contentType ?? 'application/json') || reply.status === 206) return undefined;
  if (replyHeader(headers, 'content-encoding') !== undefined) return undefined;
  if (/\bno-transform\b/i.test(replyHeader(headers, 'cache-control') ?? '')) return undefined;
  const coding = codingFor(acceptEncoding);
  const plain: Record<string, string | readonly string[]> = {};
  const coded: Record<string, string | readonly string[]> = {};
  let vary = 'Accept-Encoding';
  for (const name in headers) {
    const value = headers[name] as string | readonly string[];
    const lowerName = name.toLowerCase();
    if (lowerName === 'vary') {
      vary = `${value}, ${vary}`;
      continue;
    }
    plain[name] = value;
    const isTag = coding !== undefined && lowerName === 'etag' && typeof value === 'string';
    coded[name] = isTag ? codedEtag(value, coding) : value;
  }
  plain.Vary = vary;
  coded.Vary = vary;
  if (coding !== undefined) coded['Content-Encoding'] = coding;
  return { coding, plainHeaders: plain, codedHeaders: coded };
}
