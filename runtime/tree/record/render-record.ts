import { jsonPieces } from '#runtime/base/text/sliced-json.ts';
import type { NodeHeader, Relation } from '#runtime/content/content-node.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';
import { quoted, stampsText } from './header-text.ts';
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

/** A record that is rendered. */
export interface Rendered extends RecordParts {
  /** Decoded only for a part of a node. */
  readonly header: NodeHeader;
}

/** The node object of an answer as JSON text. */
export function renderRecord(record: Rendered, derived: DerivedFields): string {
  const { isPart, properties, text } = derived;
  const shown = text ?? (properties === undefined ? undefined : JSON.stringify(properties));
  const stored = record.slice(0, shown === undefined ? record.frontEnd : record.propertiesAt);
  return isPart === true
    ? renderPart(record, stored, shown as string, derived)
    : renderBehind(record, stored, shown, derived);
}

/** As {@link renderRecord}, in steps, for a large record. */
export function* renderRecordInSteps(record: Rendered, derived: DerivedFields): Generator<undefined, string> {
  const { properties, text } = derived;
  // The large part of it exists already.
  if (text !== undefined) return renderRecord(record, derived);
  if (properties === undefined) {
    const stored = yield* record.sliceInSteps(0, record.frontEnd);
    return renderBehind(record, stored, undefined, derived);
  }
  const pieces: string[] = [];
  for (const piece of jsonPieces(properties)) {
    pieces.push(piece);
    yield undefined;
  }
  return renderBehind(record, record.slice(0, record.propertiesAt), pieces.join(''), derived);
}

/**
 * @param before the text up to the properties, or after them where `shown` does not replace them
 * @param shown JSON of the properties that replace the stored ones
 */
function renderBehind(
  record: Rendered,
  before: string,
  shown: string | undefined,
  derived: DerivedFields,
): string {
  const { frontEnd, middleEnd } = record;
  const front = shown === undefined ? before : before + shown.slice(1, -1);
  const isEmpty = shown === undefined ? record.textAt === record.tableAt : shown === '{}';
  const middle = record.slice(frontEnd, middleEnd);
  const stored = record.slice(middleEnd, record.backEnd);
  const back = derived.relations === undefined ? stored : withRelations(stored, derived.relations);
  const typeText = derived.typeText(record.nodeType);
  const children = derived.children === undefined ? '' : `,"children":${derived.children}`;
  return (
    `${front}${isEmpty ? '' : ','}${typeText}},${middle},"has_children":${derived.hasChildren}` +
    `,"workspace":"${derived.workspace}"${back}${children}}`
  );
}

/** @param stored the text up to the properties @param shown JSON of the properties that replace the stored ones */
function renderPart(
  record: Rendered,
  stored: string,
  shown: string,
  { children, hasChildren, workspace }: DerivedFields,
): string {
  const { header } = record;
  const middle = record.slice(record.frontEnd, record.middleEnd);
  return (
    `${stored}${shown.slice(1)},${middle},"has_children":${hasChildren},"workspace":"${workspace}"` +
    `${stampsText(header)},"owner_id":${quoted(header.ownerId)}` +
    `${children === undefined ? '' : `,"children":${children}`}}`
  );
}

/** The last part of a node object with other relations, which are its last field. */
function withRelations(back: string, relations: readonly Relation[]): string {
  // Inside a string a quote follows a backslash.
  const at = back.lastIndexOf(',"relations":[');
  return `${back.slice(0, at)},"relations":${JSON.stringify(relations)}`;
}
