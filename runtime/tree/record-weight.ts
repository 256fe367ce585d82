import type { NodeRecord } from './record/node-record.ts';

/** Memory of one decoded value beside its text, in bytes: an empty array and its place in another one. */
const VALUE_BYTES = 40;

/** Bytes examined between two yields. */
const STEP_BYTES = 256 * 1024;

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;
const openBracket = 0x5b;
const openBrace = 0x7b;

/**
 * Memory that a record takes, in bytes: the record itself, and what its properties take beyond their text when they are
 * decoded. A value of three characters then takes more than ten times as much, so values are counted.
 *
 * @returns yields only for a large record
 */
export function* recordWeight(record: NodeRecord): Generator<undefined, number> {
  return record.bytes.length + (yield* recordValues(record)) * VALUE_BYTES;
}

/**
 * Number of values in the properties of a record, about. Nothing is decoded for it.
 *
 * @returns yields only for a large record
 */
export function* recordValues(record: NodeRecord): Generator<undefined, number> {
  const { text } = record.propertyBytes();
  let values = 0;
  let isText = false;
  let restAt = STEP_BYTES;
  for (let at = 0; at < text.length; at++) {
    const byte = text[at];
    if (byte === quote) isText = !isText;
    else if (isText) at += byte === backslash ? 1 : 0;
    else if (byte === comma || byte === openBracket || byte === openBrace) values += 1;
    if (at < restAt) continue;
    restAt = at + STEP_BYTES;
    yield;
  }
  return values;
}
