import { Buffer } from 'node:buffer';
import type { PropertyBytes } from './property-bytes.ts';
import { TABLE_ENTRY_BYTES } from './record-layout.ts';
import { readUint32 } from './uint32.ts';

/** Kinds of JSON values. */
export const jsonKinds = ['string', 'number', 'boolean', 'object', 'array', 'null'] as const;

/** A kind of JSON values. */
export type JsonKind = (typeof jsonKinds)[number];

/** The kind of a value by the first byte of its text; numbers begin with one of several. */
const kindByFirstByte: ReadonlyMap<number, JsonKind> = new Map(
  (
    [
      ['"', 'string'],
      ['{', 'object'],
      ['[', 'array'],
      ['t', 'boolean'],
      ['f', 'boolean'],
      ['n', 'null'],
    ] as const
  ).map(([first, kind]) => [first.charCodeAt(0), kind]),
);

/**
 * Names of top-level properties and the kinds of their values, in stored order, without decoding the values.
 *
 * @param most the most properties
 */
export function* propertyKinds(
  { count, table, text }: PropertyBytes,
  most: number,
): Generator<readonly [name: string, kind: JsonKind], void> {
  const bytes = Buffer.from(text.buffer, text.byteOffset, text.byteLength);
  const ends = Buffer.from(table.buffer, table.byteOffset, table.byteLength);
  let start = 0;
  for (let index = 0; index < Math.min(count, most); index++) {
    const keyEnd = readUint32(ends, index * TABLE_ENTRY_BYTES);
    const key = bytes.utf8Slice(start, keyEnd);
    const name = key.includes('\\') ? (JSON.parse(key) as string) : key.slice(1, -1);
    yield [name, kindByFirstByte.get(bytes[keyEnd + 1] as number) ?? 'number'];
    // Every key but the first follows a comma.
    start = readUint32(ends, index * TABLE_ENTRY_BYTES + TABLE_ENTRY_BYTES / 2) + 1;
  }
}
