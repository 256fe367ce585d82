import type { Buffer } from 'node:buffer';

/** As `readUInt32BE`, which is slower because it checks the place. */
export function readUint32(bytes: Buffer, at: number): number {
  return (
    (((bytes[at] as number) << 24) |
      ((bytes[at + 1] as number) << 16) |
      ((bytes[at + 2] as number) << 8) |
      (bytes[at + 3] as number)) >>>
    0
  );
}

/** As `writeUInt32BE`, which is slower because it checks the place and the value. */
export function writeUint32(bytes: Buffer, at: number, value: number): void {
  bytes[at] = value >>> 24;
  bytes[at + 1] = value >>> 16;
  bytes[at + 2] = value >>> 8;
  bytes[at + 3] = value;
}
