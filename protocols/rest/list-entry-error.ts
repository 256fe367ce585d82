import { type ErrorCode, errorRegistry } from '#runtime/errors/error-registry.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Why a list entry has only the fields that its parent knows. */
export interface ListEntryError {
  readonly code: ErrorCode;
  readonly message: string;
}

/** Codes of a single actor that is damaged or stopped while everything else works. */
const CONTAINED: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['ACTOR_STOPPED', 'DATA_CORRUPTED']);

/**
 * The error of a list entry whose actor did not respond: one damaged entry must not hide the others.
 *
 * @returns undefined: the error concerns the request or the server, and fails the whole list
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
