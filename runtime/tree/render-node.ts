import type { JsonObject, JsonValue } from '#runtime/content/json-value.ts';
import { parentName } from '#runtime/content/path.ts';
import type { ResolvedNodeType } from '#runtime/content/type-resolver.ts';
import { translationsField } from '#runtime/content/translation.ts';
import type { NodeRecord } from './node-record.ts';

/** What a node object shows that its record does not hold. */
export interface RenderFacts {
  readonly workspace: string;
  readonly hasChildren: boolean;
  /** Undefined when the type has been deleted. */
  readonly type: ResolvedNodeType | undefined;
  /** Replaces the stored properties, for a locale or where fields are withheld. */
  readonly properties?: JsonObject;
  /** JSON text of a further field `children`. */
  readonly children?: string;
}

const derivedTexts = new WeakMap<ResolvedNodeType, string>();
const NO_TYPE = '"$supertypes":[],"$mixins":[]}';

/** `$supertypes` and `$mixins` are derived from the type at every read and never stored. */
function derivedText(type: ResolvedNodeType | undefined): string {
  if (type === undefined) return NO_TYPE;
  let text = derivedTexts.get(type);
  if (text === undefined) {
    text = `"$supertypes":${JSON.stringify(type.supertypes)},"$mixins":${JSON.stringify(type.mixins)}}`;
    derivedTexts.set(type, text);
  }
  return text;
}

function quoted(value: string | null): string {
  return value === null ? 'null' : JSON.stringify(value);
}

/**
 * The node object of a read as JSON text, made of the stored text without decoding properties.
 *
 * @see Content, Query, Functions and Versioning Interface: Node object
 */
export function renderNode(record: NodeRecord, facts: RenderFacts): string {
  const h = record.header;
  const stored = facts.properties === undefined ? record.propertiesText : JSON.stringify(facts.properties);
  const properties = (stored === '{}' ? '{' : `${stored.slice(0, -1)},`) + derivedText(facts.type);
  const translations = h.translations === null ? 'null' : JSON.stringify(translationsField(h.translations));
  const relations = h.relations.length === 0 ? '[]' : JSON.stringify(h.relations);
  const children = facts.children === undefined ? '' : `,"children":${facts.children}`;
  return (
    `{"id":${JSON.stringify(h.id)},"name":${JSON.stringify(h.name)},"path":${JSON.stringify(h.path)}` +
    `,"node_type":"${h.nodeType}","archetype":${quoted(h.archetype)},"properties":${properties}` +
    `,"parent":${JSON.stringify(parentName(h.path))},"order_key":"${h.orderKey}"` +
    `,"has_children":${facts.hasChildren},"version":${h.version}` +
    `,"created_at":"${h.createdAt}","updated_at":"${h.updatedAt}"` +
    `,"created_by":${JSON.stringify(h.createdBy)},"updated_by":${JSON.stringify(h.updatedBy)}` +
    `,"published_at":${quoted(h.publishedAt)},"published_by":${quoted(h.publishedBy)}` +
    `,"translations":${translations},"workspace":"${facts.workspace}"` +
    `,"owner_id":${quoted(h.ownerId)},"relations":${relations}${children}}`
  );
}

/** The value of a derived property, or undefined when the name is an ordinary one. */
export function derivedProperty(type: ResolvedNodeType | undefined, name: string): JsonValue | undefined {
  if (name === '$supertypes') return type?.supertypes ?? [];
  if (name === '$mixins') return type?.mixins ?? [];
  return undefined;
}
