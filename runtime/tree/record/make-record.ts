import { isLargeJson } from '#runtime/base/text/sliced-json.ts';
import type { NodeHeader } from '#runtime/content/content-node.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { encode, encodeInSteps } from './encode-record.ts';
import { NodeRecord } from './node-record.ts';
import { encodeProperties, encodePropertiesInSteps } from './property-bytes.ts';
import { STEP_BYTES } from './steps.ts';

/** Creates a record from a header and properties. */
export function makeNodeRecord(header: NodeHeader, properties: JsonObject): NodeRecord {
  const encoded = encodeProperties(properties);
  return new NodeRecord(encode(header, encoded, encoded.mayRefer), header, properties);
}

/** As {@link makeNodeRecord}, in steps: yields only when the properties are large. */
export function* makeNodeRecordInSteps(
  header: NodeHeader,
  properties: JsonObject,
): Generator<undefined, NodeRecord> {
  if (!isLargeJson(properties)) return makeNodeRecord(header, properties);
  const pieces = yield* encodePropertiesInSteps(properties);
  return new NodeRecord(yield* encodeInSteps(header, pieces, undefined), header, properties);
}

/** Creates a record with another header and the properties of an existing one, without decoding them. */
export function withHeader(record: NodeRecord, header: NodeHeader): NodeRecord {
  return new NodeRecord(encode(header, record.propertyBytes(), record.mayRefer), header, record.decoded);
}

/** As {@link withHeader}, in steps: yields only when the record is large. */
export function* withHeaderInSteps(record: NodeRecord, header: NodeHeader): Generator<undefined, NodeRecord> {
  if (!record.isLarge) return withHeader(record, header);
  const mayRefer = yield* record.mayReferInSteps();
  const { table, text } = record.propertyBytes();
  const pieces: Uint8Array[] = [];
  for (let from = 0; from < text.length; from += STEP_BYTES)
    pieces.push(text.subarray(from, from + STEP_BYTES));
  const bytes = yield* encodeInSteps(header, { table, pieces }, mayRefer);
  const next = new NodeRecord(bytes, header, record.decoded);
  next.shareIndexTexts(record);
  return next;
}
