import { Buffer } from 'node:buffer';
import { parseExactJson } from '#runtime/base/text/exact-json.ts';
import { jsonPieces } from '#runtime/base/text/sliced-json.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { TABLE_ENTRY_BYTES } from './layout.ts';

/** Property texts in stored order, with the table of their offsets. */
export interface PropertyBytes {
  readonly count: number;
  /** Ends of keys and values, as stored. */
  readonly table: Uint8Array;
  /** `"key":value,…` without braces. */
  readonly text: Uint8Array;
}

/** As {@link PropertyBytes}, with the text in pieces. */
export interface PropertyPieces extends Omit<PropertyBytes, 'text'> {
  readonly pieces: readonly Uint8Array[];
}

/** The stored form of properties. */
export function encodeProperties(properties: JsonObject): PropertyBytes {
  const keys = Object.keys(properties);
  const table = Buffer.allocUnsafe(keys.length * TABLE_ENTRY_BYTES);
  let text = '';
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string;
    text += `${index === 0 ? '' : ','}${JSON.stringify(key)}`;
    table.writeUInt32BE(text.length, index * TABLE_ENTRY_BYTES);
    text += `:${valueJson(properties[key] as JsonValue)}`;
    table.writeUInt32BE(text.length, index * TABLE_ENTRY_BYTES + 4);
  }
  const bytes = Buffer.from(text);
  // Offsets are in bytes. In a text that is all ASCII, as most are, they equal the number of characters.
  if (bytes.length !== text.length) countBytes(table, text);
  return { count: keys.length, table, text: bytes };
}

/** Converts the offsets of a table from characters to bytes. */
function countBytes(table: Buffer, text: string): void {
  let from = 0;
  let bytes = 0;
  for (let at = 0; at < table.length; at += TABLE_ENTRY_BYTES / 2) {
    const end = table.readUInt32BE(at);
    bytes += Buffer.byteLength(text.slice(from, end));
    from = end;
    table.writeUInt32BE(bytes, at);
  }
}

/** Length of the shortest number text that a double may not represent exactly. */
const INEXACT_LENGTH_MIN = 16;

/** Parses a property value. Scalars, the most frequent case, need no search for long numbers. */
export function parseValue(text: string): JsonValue {
  const first = text.charCodeAt(0);
  // A string, or a text too short for an inexact number.
  if (first === 0x22 || text.length < INEXACT_LENGTH_MIN) return JSON.parse(text) as JsonValue;
  return parseExactJson(text) as JsonValue;
}

/** Length from which a string is long: JSON.stringify is slower than necessary for it. */
const LONG_TEXT = 4_096;

/** Characters that `JSON.stringify` may escape; surrogate pairs are left to it as well. */
const mayNeedEscape = /["\\\u0000-\u001f\ud800-\udfff]/;

/** As `JSON.stringify`, but much faster for a long string without characters to escape. */
function valueJson(value: JsonValue): string {
  const isPlain = typeof value === 'string' && value.length > LONG_TEXT && !mayNeedEscape.test(value);
  return isPlain ? `"${value}"` : JSON.stringify(value);
}

/** As {@link encodeProperties}, in steps; the text comes in pieces. */
export function* encodePropertiesInSteps(properties: JsonObject): Generator<undefined, PropertyPieces> {
  const keys = Object.keys(properties);
  const table = Buffer.allocUnsafe(keys.length * TABLE_ENTRY_BYTES);
  const pieces: Buffer[] = [];
  let bytes = 0;
  const add = (text: string): void => {
    const piece = Buffer.from(text);
    pieces.push(piece);
    bytes += piece.length;
  };
  for (const [index, key] of keys.entries()) {
    add(`${index === 0 ? '' : ','}${JSON.stringify(key)}`);
    table.writeUInt32BE(bytes, index * TABLE_ENTRY_BYTES);
    add(':');
    for (const piece of jsonPieces(properties[key])) {
      add(piece);
      yield undefined;
    }
    table.writeUInt32BE(bytes, index * TABLE_ENTRY_BYTES + 4);
  }
  return { count: keys.length, table, pieces };
}
