import { ServiceError } from '#runtime/errors/service-error.ts';
import { isJsonContentType } from './json-body.ts';
import { checkAnnouncedLength } from './request-body.ts';
import type { BodyKind, HttpRequest } from '../route.ts';

/** Whether a route takes a body. */
export function takesBody({ body }: { readonly body: BodyKind }): boolean {
  return body !== 'none' && body !== 'ignored';
}

/**
 * Refuses a body by its headers, before any of it is read.
 *
 * @param contentLength the header's value
 * @param bytesMax for routes without a bound of their own
 * @throws {ServiceError} `PAYLOAD_TOO_LARGE`; `UNSUPPORTED_MEDIA_TYPE` for a content coding, and for a media type
 *   that the route does not take
 */
export function checkBodyHead<Principal>(
  request: Pick<HttpRequest<Principal>, 'header' | 'route'>,
  contentLength: string | undefined,
  bytesMax: number,
): void {
  const { body, bodyBytesMax, docs, method } = request.route;
  checkAnnouncedLength(contentLength, { bytesMax: bodyBytesMax ?? bytesMax, isAnonymous: false });
  const coding = request.header('content-encoding');
  if (coding !== undefined && coding.toLowerCase() !== 'identity') {
    throw new ServiceError(
      'UNSUPPORTED_MEDIA_TYPE',
      `A body coded as '${coding}' is not taken; send it plain.`,
    );
  }
  if (body !== 'json' && body !== 'optional-json') return;
  const contentType = request.header('content-type');
  const isEmpty = body === 'optional-json' && contentLength === '0';
  if (isEmpty || isJsonContentType(contentType, docs.jsonTypes)) return;
  const taken = docs.jsonTypes?.join(', ');
  throw new ServiceError(
    'UNSUPPORTED_MEDIA_TYPE',
    `The body must be ${taken ?? 'JSON'}, not '${contentType}'.`,
    taken !== undefined && method === 'PATCH' ? { details: { accept_patch: taken } } : {},
  );
}
