import type { Relation } from '#runtime/content/content-node.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import type { ResolvedNodeType } from '#runtime/content/resolution/type-resolver.ts';
import type { NodeRecord } from './record/node-record.ts';
import type { DerivedFields } from './record/render-record.ts';

/** Fields of a node object that are not in its record. */
export interface RenderFacts {
  readonly workspace: string;
  readonly hasChildren: boolean;
  /** Undefined when the type has been deleted. */
  readonly type: ResolvedNodeType | undefined;
  /** Replace the stored properties, for a locale or where fields are withheld. */
  readonly properties?: JsonObject;
  /** Replace the stored relations, where some are not visible. */
  readonly relations?: readonly Relation[] | undefined;
  /** As {@link properties}, as the text of a JSON object. */
  readonly text?: string;
  /** Whether no other field that may be long is requested, see `DerivedFields`. */
  readonly isPart?: boolean;
  /** JSON text of a further field `children`. */
  readonly children?: string;
}

const typeTexts = new WeakMap<ResolvedNodeType, string>();
const NO_TYPE = '"$supertypes":[],"$mixins":[]';

/** The fields `$supertypes` and `$mixins` as text: derived from the type at every read, never stored. */
export function derivedTypeText(type: ResolvedNodeType | undefined): string {
  if (type === undefined) return NO_TYPE;
  let text = typeTexts.get(type);
  if (text === undefined) {
    text = `"$supertypes":${JSON.stringify(type.supertypes)},"$mixins":${JSON.stringify(type.mixins)}`;
    typeTexts.set(type, text);
  }
  return text;
}

/**
 * The node object of an answer as JSON text, built from the stored text without decoding properties.
 *
 * @returns yields only for a large node
 * @see docs/interface/nodes.md#the-node-object
 */
export function renderNodeInSteps(record: NodeRecord, facts: RenderFacts): Generator<undefined, string> {
  return record.renderInSteps(derivedFields(facts));
}

function derivedFields({ type, ...facts }: RenderFacts): DerivedFields {
  return { ...facts, typeText: () => derivedTypeText(type) };
}

/** The value of a derived property, or undefined when the name is an ordinary one. */
export function derivedProperty(type: ResolvedNodeType | undefined, name: string): JsonValue | undefined {
  if (name === '$supertypes') return type?.supertypes ?? [];
  if (name === '$mixins') return type?.mixins ?? [];
  return undefined;
}
