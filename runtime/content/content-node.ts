import type { JsonObject } from './json-value.ts';

/** Id that stands for the hidden root of every workspace; no stored node may have it. */
export const ROOT_ID = '/';

/** Longest id a caller may give a node, in UTF-8 bytes. */
export const NODE_ID_BYTES_MAX = 256;

const controlCharacters = /[\x00-\x1f\x7f]/;

/** Whether a text can be the id of a node. */
export function isNodeId(text: string): boolean {
  return (
    text !== '' &&
    text !== ROOT_ID &&
    Buffer.byteLength(text) <= NODE_ID_BYTES_MAX &&
    !controlCharacters.test(text) &&
    text.isWellFormed()
  );
}

/** An edge from a node to another one. @see docs/interface/nodes.md#relations */
export interface Relation {
  /** Id of the target. */
  readonly target: string;
  readonly workspace: string;
  readonly target_node_type: string;
  readonly relation_type: string;
  readonly weight: number | null;
}

/** How a revision touched a node. @see docs/interface/revisions.md#revision-records */
export type ChangeOperation = 'added' | 'modified' | 'deleted' | 'reordered';

/**
 * Everything about a node but its properties. Timestamps are ISO 8601 texts, as they go over the wire.
 *
 * @see docs/interface/nodes.md#the-node-object
 */
export interface NodeHeader {
  readonly id: string;
  readonly name: string;
  readonly path: string;
  readonly nodeType: string;
  readonly archetype: string | null;
  /** {@link ROOT_ID} at the root. */
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
  /** What that revision did. */
  readonly operation: ChangeOperation;
  /** Locale whose overlay alone was written, if so. */
  readonly changedLocale: string | null;
}
