import type { VersionedMessage } from '#runtime/actor/message-version.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { EntityTags } from './condition-messages.ts';

/** A node, named by path or by id. */
export type NodePlace = { readonly path: string } | { readonly id: string };

/** When a read looks at: absent means the head. */
export interface ReadMoment {
  readonly at?: Revision;
}

/** A read in one workspace. */
export interface WorkspaceRead extends ReadMoment {
  readonly workspace: string;
}

/** A read of nodes of which parts may be left out. */
export interface NodesRead extends WorkspaceRead, VersionedMessage {
  /**
   * Paths of the properties that are wanted, as in `PropertySelection`; translations and relations are left out then.
   * Absent: everything.
   */
  readonly fields?: readonly string[];
  /** Paths of the properties whose references are expanded, see `Expansion`. Absent: none. */
  readonly expand?: readonly string[];
}

/** One node. Answer: `JsonText` of a node object, or `Unchanged`. */
export interface ReadNode extends NodesRead {
  readonly type: 'ReadNode';
  readonly place: NodePlace;
  /** Whether the answer is to have its tag, which frames of older members cannot carry. */
  readonly tagged?: true;
  /** Answers `Unchanged` when the tag of what is asked for is among these. */
  readonly unless?: EntityTags;
  /** Resolves translations for a locale; a hidden node is missing. */
  readonly lang?: string;
}

/** One property value. Answer: `{value, tag}`, the tag being that of its node, or `Unchanged`. */
export interface ReadProperty extends WorkspaceRead {
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
  /** What a cursor of this listing is bound to besides: repository and branch as addressed. */
  readonly scope: string;
  /** Absent together with `cursor`: the whole listing as one array. */
  readonly limit?: number;
  readonly cursor?: string;
  readonly lang?: string;
}

/**
 * What leads to a node, references in properties and relations, by pages. Answer: `JsonAnswer` of
 * `{items, next_cursor, total}`.
 */
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
