import { Buffer } from 'node:buffer';
import { parseExactJson } from '#runtime/base/text/exact-json.ts';
import { jsonPieces } from '#runtime/base/text/sliced-json.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { STEP_BYTES } from './steps.ts';
import { readUint32, writeUint32 } from './uint32.ts';
import { quoted } from './quoted.ts';
import { TABLE_ENTRY_BYTES } from './record-layout.ts';

/** The stored key of a reference. */
const REFERENCE_KEY = '"svc:ref"';

/** Property texts in stored order, with the table of their offsets. */
export interface PropertyBytes {
  readonly count: number;
  /** Ends of keys and values, as stored. */
  readonly table: Uint8Array;
  /** `"key":value,…` without braces. */
  readonly text: Uint8Array;
}

/** As {@link PropertyBytes}, with the text in pieces. */
export interface PropertyPieces extends Pick<PropertyBytes, 'table'> {
  readonly pieces: readonly Uint8Array[];
}

/** Properties that were just encoded. */
export interface EncodedProperties extends PropertyBytes {
  /** Whether they may contain a reference. */
  readonly mayRefer: boolean;
}

/** Whether the text of properties may contain a reference. */
export function refers(bytes: Buffer, from: number, to: number): boolean {
  return bytes.subarray(from, to).includes(REFERENCE_KEY);
}

/** As {@link refers}, in steps. */
export function* refersInSteps(bytes: Buffer, from: number, to: number): Generator<undefined, boolean> {
  for (let at = from; at < to; at += STEP_BYTES) {
    if (refers(bytes, at, Math.min(at + STEP_BYTES + REFERENCE_KEY.length - 1, to))) return true;
    yield undefined;
  }
  return false;
}

/** The stored form of properties. */
export function encodeProperties(properties: JsonObject): EncodedProperties {
  const keys = Object.keys(properties);
  const table = Buffer.allocUnsafe(keys.length * TABLE_ENTRY_BYTES);
  let text = '';
  for (let index = 0; index < keys.length; index++) {
    const key = keys[index] as string;
    text += `${index === 0 ? '' : ','}${quoted(key)}`;
    writeUint32(table, index * TABLE_ENTRY_BYTES, text.length);
    text += `:${valueJson(properties[key] as JsonValue)}`;
    writeUint32(table, index * TABLE_ENTRY_BYTES + 4, text.length);
  }
  const bytes = Buffer.from(text);
  // Offsets are in bytes. In a text that is all ASCII, as most are, they equal the number of characters.
  if (bytes.length !== text.length) countBytes(table, text);
  return { count: keys.length, table, mayRefer: text.includes(REFERENCE_KEY), text: bytes };
}

/** Converts the offsets of a table from characters to bytes. */
function countBytes(table: Buffer, text: string): void {
  let from = 0;
  let bytes = 0;
  for (let at = 0; at < table.length; at += TABLE_ENTRY_BYTES / 2) {
    const end = readUint32(table, at);
    bytes += Buffer.byteLength(text.slice(from, end));
    from = end;
    writeUint32(table, at, bytes);
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

/** As `JSON.stringify`, but much faster for a long string without characters to escape. */
function valueJson(value: JsonValue): string {
  return typeof value === 'string' && value.length > LONG_TEXT ? quoted(value) : JSON.stringify(value);
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
    add(`${index === 0 ? '' : ','}${quoted(key)}`);
    writeUint32(table, index * TABLE_ENTRY_BYTES, bytes);
    add(':');
    for (const piece of jsonPieces(properties[key])) {
      add(piece);
      yield undefined;
    }
    writeUint32(table, index * TABLE_ENTRY_BYTES + 4, bytes);
  }
  return { table, pieces };
}
