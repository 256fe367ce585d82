import type { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { CHECKED_FROM, CRC_AT, NODE_RECORD_FORMAT, TYPE_AT } from './layout.ts';

/** Bytes checksummed, searched or decoded between two yields. */
export const STEP_BYTES = 256 * 1024;

/** The checksum of a record, computed in steps. */
export function* checksumInSteps(bytes: Uint8Array): Generator<undefined, number> {
  let crc = 0;
  for (let from = CHECKED_FROM; from < bytes.length; from += STEP_BYTES) {
    crc = crc32(bytes.subarray(from, Math.min(from + STEP_BYTES, bytes.length)), crc);
    yield;
  }
  return crc;
}

/** Bytes whose checksum was verified in steps. */
const verified = new WeakSet<Uint8Array>();

/** Verifies the checksum of stored bytes in steps when they are large, so that {@link checkRecord} need not. */
export function* verifyInSteps(bytes: Uint8Array): Generator<undefined, void> {
  if (bytes.length <= STEP_BYTES) return;
  const crc = yield* checksumInSteps(bytes);
  if (crc === new DataView(bytes.buffer, bytes.byteOffset).getUint32(CRC_AT)) verified.add(bytes);
}

/**
 * Verifies the format and the checksum of stored bytes.
 *
 * @param stored the object that {@link verifyInSteps} may have verified
 * @param bytes the same bytes
 * @throws {ServiceError} `DATA_CORRUPTED`
 */
export function checkRecord(stored: Uint8Array, bytes: Buffer): void {
  const format = bytes[0];
  const isWhole = bytes.length > TYPE_AT;
  if (isWhole && format !== undefined && format > NODE_RECORD_FORMAT) {
    throw new ServiceError(
      'DATA_CORRUPTED',
      `a node has record format ${format}; start a newer build to read it`,
    );
  }
  if (
    !isWhole ||
    format !== NODE_RECORD_FORMAT ||
    (!verified.has(stored) &&
      crc32(bytes.subarray(CHECKED_FROM, bytes.length)) !== bytes.readUInt32BE(CRC_AT))
  ) {
    throw new ServiceError(
      'DATA_CORRUPTED',
      'A stored node fails its checksum and is not served; restore it from a backup',
    );
  }
}
