import { ServiceError } from '#runtime/errors/service-error.ts';

/** The character uWebSockets.js inserts where the request line was not UTF-8. */
const replacementCharacter = '\uFFFD';

/** The form of nearly all segments: they need no decoding or refusal. */
const plainSegment = /^[\w-]+$/;

function unreadable(raw: string, why: string): ServiceError {
  return new ServiceError('INVALID_PATH', `The path segment '${raw}' ${why}.`);
}

/**
 * Decodes one raw path segment.
 *
 * @param options.allowSlash lets `%2F` stand for a slash inside the segment (branch and tag names)
 * @throws {ServiceError} `INVALID_PATH` for broken percent-encoding, bytes that are not UTF-8, a NUL, and for a
 *   segment that decodes to `.`, `..` or (without `allowSlash`) contains a slash
 */
export function decodeSegment(raw: string, options?: { readonly allowSlash?: boolean }): string {
  if (plainSegment.test(raw)) return raw;
  let text = raw;
  if (raw.includes('%')) {
    try {
      text = decodeURIComponent(raw);
    } catch {
      throw unreadable(raw, 'has broken percent-encoding');
    }
  } else if (raw.includes(replacementCharacter)) {
    throw unreadable(raw, 'is not UTF-8');
  }
  if (text === '.' || text === '..') throw unreadable(raw, 'may not stand for a directory step');
  if (text.includes('\0')) throw unreadable(raw, 'holds a NUL character');
  if (options?.allowSlash !== true && text.includes('/')) throw unreadable(raw, 'holds an encoded slash');
  return text;
}

/** The decoded segments of a tail. */
export interface DecodedTail {
  readonly segments: readonly string[];
  /** Whether the raw tail ends in a slash, the bare `/` included. */
  readonly hasTrailingSlash: boolean;
}

/**
 * Splits a raw `{name*}` tail on `/` and decodes each segment.
 *
 * @param raw `''`, `'/'`, `'/a/b%20c'` or `'/a/b%20c/'`
 * @throws {ServiceError} `INVALID_PATH` as `decodeSegment`, and for an empty segment
 */
export function decodeTail(raw: string): DecodedTail {
  if (raw === '' || raw === '/') return { segments: [], hasTrailingSlash: raw === '/' };
  const hasTrailingSlash = raw.endsWith('/');
  const inner = raw.slice(1, hasTrailingSlash ? -1 : raw.length);
  const segments = inner.split('/').map((segment) => {
    if (segment === '') throw new ServiceError('INVALID_PATH', `The path '${raw}' has an empty segment.`);
    return decodeSegment(segment);
  });
  return { segments, hasTrailingSlash };
}
