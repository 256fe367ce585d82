import { type ErrorCode, errorRegistry } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Why an entry of a list has no more than its owner knows of it. */
export interface ListEntryError {
  readonly code: ErrorCode;
  readonly message: string;
}

/** Codes of an actor that is damaged or stopped by itself, while everything beside it is well. */
const CONTAINED: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['ACTOR_STOPPED', 'DATA_CORRUPTED']);

/**
 * What a list says of an entry whose actor did not answer: the damage of one must not hide the others.
 *
 * @returns undefined: the error is about the request or the server, and is the answer to the whole list
 */
export function listEntryError(error: unknown): ListEntryError | undefined {
  if (!(error instanceof ServiceError) || !CONTAINED.has(error.code)) return undefined;
  const { isPublic, title } = errorRegistry[error.code];
  return { code: error.code, message: isPublic ? error.message : title };
}

/** JSON Schema of {@link ListEntryError}. */
export const listEntryErrorSchema = Object.freeze({
  type: 'object',
  required: ['code', 'message'],
  description: 'Only where the stored data of this entry is damaged: what it hides is `null`.',
  properties: { code: { type: 'string' }, message: { type: 'string' } },
});
