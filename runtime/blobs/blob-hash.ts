import { invalid, ServiceError } from '#runtime/errors/service-error.ts';

/** The hash that names blobs, as node:crypto calls it. */
export const BLOB_HASH = 'sha256';

const shape = /^[0-9a-f]{64}$/;

/** Whether a text may name a blob. */
export function isBlobHash(text: string): boolean {
  return shape.test(text);
}

/** @throws {ServiceError} `VALIDATION_FAILED` for anything but 64 lower-case hex digits: it may become a file name */
export function requireBlobHash(text: string): string {
  if (!isBlobHash(text)) throw invalid('A content hash is 64 lower-case hex digits', { field: 'hash' });
  return text;
}

/** The answer for a blob that is not there. */
export function blobNotFound(hash: string): ServiceError {
  return new ServiceError('NOT_FOUND', `No content has the hash ${hash}`);
}

/** The answer for a blob whose bytes are not what was stored. */
export function blobCorrupted(hash: string): ServiceError {
  return new ServiceError('DATA_CORRUPTED', `The stored content with the hash ${hash} is damaged`);
}
