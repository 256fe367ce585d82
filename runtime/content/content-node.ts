import type { JsonObject } from './values/json-value.ts';

/** Id of the hidden root of every workspace; no stored node may have it. */
export const ROOT_ID = '/';

/** Longest id a caller may give a node, in UTF-8 bytes. */
export const NODE_ID_BYTES_MAX = 256;

const controlCharacters = /[\x00-\x1f\x7f]/;

/** Whether a text is a valid node id. */
export function isNodeId(text: string): boolean {
  return (
    text !== '' &&
    text !== ROOT_ID &&
    Buffer.byteLength(text) <= NODE_ID_BYTES_MAX &&
    !controlCharacters.test(text) &&
    text.isWellFormed()
  );
}

/** An edge from a node to another node. @see docs/interface/nodes.md#relations */
export interface Relation {
  /** Id of the target. */
  readonly target: string;
  readonly workspace: string;
  readonly target_node_type: string;
  readonly relation_type: string;
  readonly weight: number | null;
}

/** How a revision changed a node. @see docs/interface/revisions.md#revision-records */
export type ChangeOperation = 'added' | 'modified' | 'deleted' | 'reordered';

/**
 * All fields of a node except its properties. Timestamps are ISO 8601 texts, as in the wire format.
 *
 * @see docs/interface/nodes.md#the-node-object
 */
export interface NodeHeader {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly nodeType: string;
  readonly archetype: string | null;
  /** {@link ROOT_ID} for a node at the root. */
  readonly parentId: string;
  readonly orderKey: string;
  readonly version: number;
  readonly createdAt: string;
  readonly createdBy: string;
  readonly updatedAt: string;
  readonly updatedBy: string;
  readonly publishedAt: string | null;
  readonly publishedBy: string | null;
  readonly ownerId: string | null;
  /** Overlays by locale, in stored form. */
  readonly translations: JsonObject | null;
  readonly relations: readonly Relation[];
  /** The revision that wrote this state, as text. */
  readonly revision: string;
  /** The operation of that revision. */
  readonly operation: ChangeOperation;
  /** The locale, when only its overlay was written. */
  readonly changedLocale: string | null;
}
