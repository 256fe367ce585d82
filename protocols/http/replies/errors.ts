import { STATUS_CODES } from 'node:http';
import { type ErrorCode, errorRegistry } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import type { ErrorShape, HttpReply } from '../route.ts';

/** Default seconds of `Retry-After`, by HTTP status, for errors without a value of their own. */
const retryAfterSeconds: Readonly<Record<number, number>> = { 429: 30, 503: 1 };

/** The `error` field of `{error, message}` bodies. */
function queryErrorName(status: number): string {
  if (status >= 500) return 'Internal';
  return (STATUS_CODES[status] ?? 'Bad Request').replaceAll(' ', '');
}

function bodyOf(error: ServiceError, message: string, shape: ErrorShape, nowMs: number): unknown {
  const { code, field, details } = error;
  if (shape === 'query') return { error: queryErrorName(error.entry.status), message };
  if (shape === 'management') return { success: false, data: null, error: message };
  return {
    code,
    message,
    ...(details === undefined ? {} : { details }),
    ...(field === undefined ? {} : { field }),
    timestamp: new Date(nowMs).toISOString(),
  };
}

function headersOf(error: ServiceError): Record<string, string> {
  const { status } = error.entry;
  const headers: Record<string, string> = {};
  const fallback = retryAfterSeconds[status];
  if (fallback !== undefined) {
    const asked = error.details?.retry_after_seconds;
    headers['Retry-After'] = String(typeof asked === 'number' ? Math.max(1, Math.ceil(asked)) : fallback);
  }
  if (status === 401) headers['WWW-Authenticate'] = 'Bearer';
  const allow = error.details?.allow;
  if (error.code === 'METHOD_NOT_ALLOWED' && typeof allow === 'string') headers.Allow = allow;
  const patch = error.details?.accept_patch;
  if (error.code === 'UNSUPPORTED_MEDIA_TYPE' && typeof patch === 'string') headers['Accept-Patch'] = patch;
  return headers;
}

/** Converts a thrown value: a `ServiceError` is kept, anything else becomes `INTERNAL_SERVER_ERROR`. */
export function serviceErrorOf(thrown: unknown): ServiceError {
  if (thrown instanceof ServiceError) return thrown;
  return new ServiceError('INTERNAL_SERVER_ERROR', undefined, { cause: thrown });
}

/**
 * The response for an error. A code that is not public is sent with its registry title only. `UNPROCESSABLE_BODY` is
 * sent as the plain text of its message, whatever the shape. `details.retry_after_seconds` of a 429 or 503 sets
 * `Retry-After`, `details.allow` of a 405 `Allow`, `details.accept_patch` of a 415 `Accept-Patch`.
 *
 * @param thrown the thrown value
 * @param nowMs milliseconds since the Unix epoch, for `timestamp`
 * @see docs/interface/conventions.md#errors
 */
export function errorReply(thrown: unknown, shape: ErrorShape, nowMs: number): HttpReply {
  const error = serviceErrorOf(thrown);
  const entry = errorRegistry[error.code];
  const message = entry.isPublic ? error.message : entry.title;
  const shown = entry.isPublic ? error : new ServiceError(error.code);
  const headers = headersOf(error);
  if (error.code === 'UNPROCESSABLE_BODY') {
    return { status: entry.status, headers, raw: message, contentType: 'text/plain; charset=utf-8' };
  }
  return { status: entry.status, headers, json: bodyOf(shown, message, shape, nowMs) };
}

/** Whether the cause of an error is logged: it is a fault of the server, not of the caller. */
export function isOurFault(code: ErrorCode): boolean {
  return errorRegistry[code].status === 500;
}
