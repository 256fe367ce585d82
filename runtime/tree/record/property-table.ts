import { Buffer } from 'node:buffer';
import { quoted } from './quoted.ts';
import { TABLE_ENTRY_BYTES } from './record-layout.ts';
import { readUint32 } from './uint32.ts';

/** A property to be found in many records. */
export class WantedProperty {
  /** Its name as JSON, as records have it. */
  readonly key: Buffer;
  /** Its number in the record in which it was found last: records of one type often have the same properties. */
  number = 0;

  constructor(name: string) {
    this.key = Buffer.from(quoted(name));
  }
}

/** Names that are kept. */
const KNOWN_MAX = 256;

const known = new Map<string, WantedProperty>();

/** A property by its name; for single look-ups. */
export function wantedProperty(name: string): WantedProperty {
  let wanted = known.get(name);
  if (wanted === undefined) {
    wanted = new WantedProperty(name);
    if (known.size >= KNOWN_MAX) known.clear();
    known.set(name, wanted);
  }
  return wanted;
}

/**
 * Finds a property in the table of a record.
 *
 * @param from where the properties begin
 * @param tableAt where the table begins
 * @param tableEnd where it ends
 * @returns the place of its entry, or -1
 */
export function findProperty(
  bytes: Buffer,
  from: number,
  tableAt: number,
  tableEnd: number,
  wanted: WantedProperty,
): number {
  const { key } = wanted;
  const likely = tableAt + wanted.number * TABLE_ENTRY_BYTES;
  if (likely < tableEnd) {
    const start = likely === tableAt ? from : keyBehind(bytes, from, likely - TABLE_ENTRY_BYTES);
    if (isKey(bytes, from, likely, start, key)) return likely;
  }
  let start = from;
  for (let entry = tableAt; entry < tableEnd; entry += TABLE_ENTRY_BYTES) {
    if (isKey(bytes, from, entry, start, key)) {
      wanted.number = (entry - tableAt) / TABLE_ENTRY_BYTES;
      return entry;
    }
    start = keyBehind(bytes, from, entry);
  }
  return -1;
}

/** Whether an entry is that of a key. @param start where the key of the entry begins */
function isKey(bytes: Buffer, from: number, entry: number, start: number, key: Buffer): boolean {
  return from + readUint32(bytes, entry) - start === key.length && isAt(bytes, start, key);
}

/** Where the key behind an entry begins: every key but the first follows a comma. */
function keyBehind(bytes: Buffer, from: number, entry: number): number {
  return from + readUint32(bytes, entry + TABLE_ENTRY_BYTES / 2) + 1;
}

/** Whether bytes are at a place. */
export function isAt(bytes: Buffer, at: number, wanted: Uint8Array): boolean {
  for (let index = 0; index < wanted.length; index += 1)
    if (bytes[at + index] !== wanted[index]) return false;
  return true;
}
