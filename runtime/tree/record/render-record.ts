import { jsonPieces } from '#runtime/base/text/sliced-json.ts';
import type { Relation } from '#runtime/content/content-node.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { Column } from './record-layout.ts';
import type { RecordParts } from './record-parts.ts';

/** Fields of a node object that are not in its record. */
export interface DerivedFields {
  readonly workspace: string;
  readonly hasChildren: boolean;
  /** `"$supertypes":[…],"$mixins":[…]` of a node type. Called after everything has been copied from the record. */
  typeText(nodeType: string): string;
  /** Replace the stored properties. */
  readonly properties?: JsonObject;
  /** Replace the stored relations. */
  readonly relations?: readonly Relation[] | undefined;
  /** As {@link properties}, as the text of a JSON object. */
  readonly text?: string;
  /** Whether {@link text} is the whole answer: without translations, relations and type fields. */
  readonly isPart?: boolean;
  /** JSON text of a further field `children`. */
  readonly children?: string;
}

/** The node object of an answer as JSON text. */
export function renderRecord(record: RecordParts, derived: DerivedFields): string {
  const { isPart, properties, text } = derived;
  const shown = text ?? (properties === undefined ? undefined : JSON.stringify(properties));
  const stored = record.slice(
    record.frontAt,
    shown === undefined ? record.propertiesEnd : record.propertiesAt,
  );
  return isPart === true
    ? renderPart(record, stored, shown as string, derived)
    : renderBehind(record, stored, shown, derived);
}

/** As {@link renderRecord}, in steps, for a large record. */
export function* renderRecordInSteps(
  record: RecordParts,
  derived: DerivedFields,
): Generator<undefined, string> {
  const { properties, text } = derived;
  // The large part of it exists already.
  if (text !== undefined) return renderRecord(record, derived);
  if (properties === undefined) {
    const stored = yield* record.sliceInSteps(record.frontAt, record.propertiesEnd);
    return renderBehind(record, stored, undefined, derived);
  }
  const pieces: string[] = [];
  for (const piece of jsonPieces(properties)) {
    pieces.push(piece);
    yield undefined;
  }
  return renderBehind(record, record.slice(record.frontAt, record.propertiesAt), pieces.join(''), derived);
}

/**
 * @param before the text up to the properties, or after them where `shown` does not replace them
 * @param shown JSON of the properties that replace the stored ones
 */
function renderBehind(
  record: RecordParts,
  before: string,
  shown: string | undefined,
  derived: DerivedFields,
): string {
  const { bytes, layout } = record;
  const { children, hasChildren, relations, workspace } = derived;
  const front = shown === undefined ? before : before + shown.slice(1, -1);
  const isEmpty = shown === undefined ? record.count === 0 : shown === '{}';
  const fields = layout.fieldsText(bytes, bytes.length, relations);
  const type = derived.typeText(layout.text(bytes, bytes.length, Column.nodeType) as string);
  return (
    `${front}${isEmpty ? '' : ','}${type}},"has_children":${hasChildren},"workspace":"${workspace}"` +
    `,${fields}${children === undefined ? '' : `,"children":${children}`}}`
  );
}

/** @param stored the text up to the properties @param shown JSON of the properties that replace the stored ones */
function renderPart(
  { bytes, layout }: RecordParts,
  stored: string,
  shown: string,
  { children, hasChildren, workspace }: DerivedFields,
): string {
  return (
    `${stored}${shown.slice(1)},"has_children":${hasChildren},"workspace":"${workspace}"` +
    `,${layout.shortFieldsText(bytes, bytes.length)}` +
    `${children === undefined ? '' : `,"children":${children}`}}`
  );
}
