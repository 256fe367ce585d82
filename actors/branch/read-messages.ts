import type { VersionedMessage } from '#runtime/actor/message-version.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { EntityTags } from './condition-messages.ts';

/** A node, named by path or by id. */
export type NodePlace = { readonly path: string } | { readonly id: string };

/** The moment a read shows: absent means the head. */
export interface ReadMoment {
  readonly at?: Revision;
}

/** A read in one workspace. */
export interface WorkspaceRead extends ReadMoment {
  readonly workspace: string;
}

/** A read of nodes that may omit parts of them. */
export interface NodesRead extends WorkspaceRead, VersionedMessage {
  /**
   * Paths of the properties to return, as in `PropertySelection`; translations and relations are then omitted. Absent:
   * everything.
   */
  readonly fields?: readonly string[];
  /** Paths of the properties whose references are expanded, see `Expansion`. Absent: none. */
  readonly expand?: readonly string[];
}

/** One node. Answer: `JsonText` of a node object, or `Unchanged`. */
export interface ReadNode extends NodesRead {
  readonly type: 'ReadNode';
  readonly place: NodePlace;
  /** Adds the entity tag to the answer; frames of older members cannot carry it. */
  readonly tagged?: true;
  /** Answers `Unchanged` when the current entity tag is one of these. */
  readonly unless?: EntityTags;
  /** Resolves translations for a locale; a node hidden in it is not found. */
  readonly lang?: string;
}

/** One property value. Answer: `{value, tag}` with the tag of its node, or `Unchanged`. */
export interface ReadProperty extends WorkspaceRead, VersionedMessage {
  readonly type: 'ReadProperty';
  readonly place: NodePlace;
  /** As in {@link ReadNode}. */
  readonly unless?: EntityTags;
  readonly property: readonly string[];
  readonly lang?: string;
}

/** Direct children in editorial order. Answer: `JsonAnswer`, a `NodePage` or the whole array. */
export interface ListChildren extends NodesRead {
  readonly type: 'ListChildren';
  readonly place: NodePlace;
  /** Repository and branch as addressed, which a cursor of this listing is also bound to. */
  readonly scope: string;
  /** If this and `cursor` are absent, the answer is the whole listing as one array. */
  readonly limit?: number;
  readonly cursor?: string;
  readonly lang?: string;
}

/** References and relations that point to a node, in pages. Answer: `JsonAnswer` of `{items, next_cursor, total}`. */
export interface ListIncomingReferences extends WorkspaceRead, VersionedMessage {
  readonly type: 'ListIncomingReferences';
  readonly place: NodePlace;
  /** As in {@link ListChildren}. */
  readonly scope: string;
  readonly limit: number;
  readonly cursor?: string;
}

/** A subtree. Answer: `JsonAnswer`. */
export interface ReadTree extends NodesRead {
  readonly type: 'ReadTree';
  readonly place: NodePlace;
  /** Levels below the node, 1 to 100. */
  readonly levels: number;
  /** `flat`: array in tree order; `array`: nodes with nested `children`; `map`: `{name: {node, children}}`. */
  readonly form: 'flat' | 'array' | 'map';
  readonly lang?: string;
}
