import { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { ServiceError } from '#runtime/errors/service-error.ts';

/** Bytes of the checksum of the key in front of the value. */
const CHECK_BYTES = 4;

/**
 * The stored form of a value of a projection: behind a checksum of its key. A damaged key would otherwise be another key, with
 * a value that verifies.
 *
 * @param key the whole key of the row
 * @param value has its own checksum
 */
export function encodeProjectionValue(key: string, value: Uint8Array): Uint8Array {
  const bytes = Buffer.allocUnsafe(CHECK_BYTES + value.length);
  bytes.writeUInt32BE(checkOf(key), 0);
  bytes.set(value, CHECK_BYTES);
  return bytes;
}

/** Decodes {@link encodeProjectionValue}. @throws {ServiceError} `DATA_CORRUPTED` for a value of another key */
export function decodeProjectionValue(key: string, stored: Uint8Array): Uint8Array {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  if (bytes.length < CHECK_BYTES || bytes.readUInt32BE(0) !== checkOf(key))
    throw new ServiceError('DATA_CORRUPTED', 'The key of a row of a projection fails its checksum');
  return bytes.subarray(CHECK_BYTES);
}

function checkOf(key: string): number {
  return crc32(Buffer.from(key, 'latin1'));
}
