import type { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { layoutOf, NODE_RECORD_FORMAT } from './formats.ts';
import { CHECKED_FROM, CRC_AT, type RecordLayout } from './record-layout.ts';
import { STEP_BYTES } from './steps.ts';

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

/** Verifies the checksum of stored bytes in steps when they are large, so that {@link checkedLayout} need not. */
export function* verifyInSteps(bytes: Uint8Array): Generator<undefined, void> {
  if (bytes.length <= STEP_BYTES) return;
  const crc = yield* checksumInSteps(bytes);
  if (crc === new DataView(bytes.buffer, bytes.byteOffset).getUint32(CRC_AT)) verified.add(bytes);
}

/**
 * The layout of stored bytes whose checksum is right.
 *
 * @param stored the object that {@link verifyInSteps} may have verified
 * @param bytes the same bytes
 * @throws {ServiceError} `DATA_CORRUPTED`
 */
export function checkedLayout(stored: Uint8Array, bytes: Buffer): RecordLayout {
  const layout = knownLayout(bytes, bytes.length);
  if (!verified.has(stored)) requireChecksum(bytes, bytes.length);
  return layout;
}

/**
 * The layout of stored bytes. Their checksum is not verified.
 *
 * @param length of the bytes that are there; their memory may be longer
 * @throws {ServiceError} `DATA_CORRUPTED` for a format that this build does not know, and for too few bytes
 */
export function knownLayout(bytes: Buffer, length: number): RecordLayout {
  const format = bytes[0];
  const layout = layoutOf(format);
  if (layout !== undefined && length >= layout.bytesMin) return layout;
  if (length > CHECKED_FROM && format !== undefined && format > NODE_RECORD_FORMAT)
    throw new ServiceError(
      'DATA_CORRUPTED',
      `a node has record format ${format}; start a newer build to read it`,
    );
  throw damagedRecord();
}

/** @throws {ServiceError} `DATA_CORRUPTED` when the checksum of a record is not that of its bytes */
export function requireChecksum(bytes: Buffer, length: number): void {
  if (crc32(bytes.subarray(CHECKED_FROM, length)) !== bytes.readUInt32BE(CRC_AT)) throw damagedRecord();
}

/** The error for bytes that are no record any more. */
export function damagedRecord(): ServiceError {
  return new ServiceError(
    'DATA_CORRUPTED',
    'A stored node fails its checksum and is not served; restore it from a backup',
  );
}
