import { invalid, ServiceError } from '#runtime/errors/service-error.ts';

/** The hash algorithm of blobs, by its name in node:crypto. */
export const BLOB_HASH = 'sha256';

const shape = /^[0-9a-f]{64}$/;

/** Whether a text is a valid blob hash. */
export function isBlobHash(text: string): boolean {
  return shape.test(text);
}

/** @throws {ServiceError} `VALIDATION_FAILED` unless it is 64 lower-case hex digits: it may become a file name */
export function requireBlobHash(text: string): string {
  if (!isBlobHash(text)) throw invalid('A content hash is 64 lower-case hex digits', { field: 'hash' });
  return text;
}

/** The error for a missing blob. */
export function blobNotFound(hash: string): ServiceError {
  return new ServiceError('NOT_FOUND', `No content has the hash ${hash}`);
}

/** The error for a blob whose bytes do not match its hash. */
export function blobCorrupted(hash: string): ServiceError {
  return new ServiceError('DATA_CORRUPTED', `The stored content with the hash ${hash} is damaged`);
}
