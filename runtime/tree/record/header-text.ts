import type { ChangeOperation, NodeHeader, Relation } from '#runtime/content/content-node.ts';
import { parentName } from '#runtime/content/path.ts';
import { translationsField } from '#runtime/content/translations/translation.ts';
import type { JsonObject } from '#runtime/content/values/json-value.ts';

/** What only the engine knows. */
export type InnerFields = [
  parentId: string,
  revision: string,
  operation: ChangeOperation,
  changedLocale: string | null,
  translations: JsonObject | null,
];

/** The node object on the wire, without its derived fields. */
export interface WireNode {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly node_type: string;
  readonly archetype: string | null;
  readonly order_key: string;
  readonly version: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly created_by: string;
  readonly updated_by: string;
  readonly published_at: string | null;
  readonly published_by: string | null;
  readonly owner_id: string | null;
  readonly relations: readonly Relation[];
}

/** JSON of a text that may be missing. */
export function quoted(value: string | null): string {
  return value === null ? 'null' : JSON.stringify(value);
}

/** The node object up to its properties. */
export function frontText(h: NodeHeader): string {
  return (
    `{"id":${JSON.stringify(h.id)},"name":${JSON.stringify(h.name)},"path":${JSON.stringify(h.path)}` +
    `,"node_type":${JSON.stringify(h.nodeType)},"archetype":${quoted(h.archetype)},"properties":{`
  );
}

/** The fields behind the properties and what is derived of the type. */
export function middleText(h: NodeHeader): string {
  return `"parent":${JSON.stringify(parentName(h.path))},"order_key":${JSON.stringify(h.orderKey)}`;
}

/** Version, times and authors. */
export function stampsText(h: NodeHeader): string {
  return (
    `,"version":${h.version},"created_at":"${h.createdAt}","updated_at":"${h.updatedAt}"` +
    `,"created_by":${JSON.stringify(h.createdBy)},"updated_by":${JSON.stringify(h.updatedBy)}` +
    `,"published_at":${quoted(h.publishedAt)},"published_by":${quoted(h.publishedBy)}`
  );
}

/** The fields behind the derived ones, up to the end of the node object. */
export function backText(h: NodeHeader): string {
  const translations = h.translations === null ? 'null' : JSON.stringify(translationsField(h.translations));
  const relations = h.relations.length === 0 ? '[]' : JSON.stringify(h.relations);
  return `${stampsText(h)},"translations":${translations},"owner_id":${quoted(h.ownerId)},"relations":${relations}`;
}

/** The inner fields. */
export function innerText(h: NodeHeader): string {
  const inner: InnerFields = [h.parentId, h.revision, h.operation, h.changedLocale, h.translations];
  return JSON.stringify(inner);
}
