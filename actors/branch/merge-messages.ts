import type { JsonObject } from '#runtime/content/values/json-value.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { CommitInfo } from './commit-messages.ts';

/**
 * The commands and queries of a branch for merging. Field names of results are those of the wire.
 *
 * @see docs/interface/merges.md
 */

/** Merges another branch into this one. The caller checks whether it is protected. Result: {@link MergeResult}. */
export interface MergeBranch {
  readonly type: 'MergeBranch';
  /** Actor of the other branch, of the same repository. */
  readonly source: string;
  /** Name of the other branch. */
  readonly sourceName: string;
  readonly strategy: 'ThreeWay' | 'FastForward';
  readonly commit?: CommitInfo;
  /** Only reports the result; writes nothing. */
  readonly dryRun: boolean;
}

/** The resolution of one conflict. */
export interface MergeResolution {
  /** `node_id` of the conflict. */
  readonly nodeId: string;
  /** Null: a definition. Absent: the conflict of this id, which must be the only one. */
  readonly workspace?: string | null;
  /** Present for a conflict about one locale. */
  readonly locale?: string;
  /** Whether to take the target's state, the source's state, or properties given by the caller. */
  readonly type: ResolutionType;
  /** For `manual`: properties, values of the locale by pointer, or the definition. Null: delete it. */
  readonly properties?: JsonObject | null;
}

/** How a conflict can be resolved. */
export type ResolutionType = 'keep-ours' | 'keep-theirs' | 'manual';

/**
 * Merges another branch into this one with a resolution for each conflict. The caller checks whether this branch is
 * protected. Result: {@link MergeResult}; if it lists conflicts without a resolution, nothing was written.
 */
export interface ResolveMerge {
  readonly type: 'ResolveMerge';
  /** Actor of the other branch, of the same repository. */
  readonly source: string;
  /** Name of the other branch. */
  readonly sourceName: string;
  readonly resolutions: readonly MergeResolution[];
  /** Heads the resolutions were made for; absent: the current heads. */
  readonly expectedSourceHead?: string;
  readonly expectedTargetHead?: string;
  readonly commit?: CommitInfo;
  /** Only reports the result; writes nothing. */
  readonly dryRun: boolean;
}

/** The result of a merge. */
export interface MergeResult {
  /** False when there are conflicts; then nothing was written. */
  readonly success: boolean;
  /** The milliseconds part of the head. */
  readonly revision: number;
  /** Head of the target after the merge. */
  readonly head: string;
  readonly conflicts: readonly MergeConflict[];
  readonly fast_forward: boolean;
  /** Nodes the merge commit changed. */
  readonly nodes_changed: number;
  /** Schema definitions the merge commit changed. */
  readonly definitions_changed: number;
  /**
   * Nodes that decide who may do what (users, roles, groups, security settings) among those that the merge commit changed;
   * of a fast-forward, among those that differ in the adopted revisions.
   */
  readonly access_changes: number;
  /** Heads of the two before the merge. */
  readonly target_head: string;
  readonly source_head: string;
}

/**
 * The conflicts a merge of another branch into this one would have. For administrators. Answer: {@link ConflictList}, or a
 * `JsonPieces` of it when the nodes are large.
 */
export interface ListConflicts {
  readonly type: 'ListConflicts';
  /** Absent: the head. */
  readonly at?: Revision;
  /** Actor of the branch that would be merged, of the same repository. */
  readonly source: string;
  /** Absent: the head of the source. */
  readonly sourceAt?: Revision;
}

/** The kinds of conflict between two branches. */
export type ConflictType =
  | 'BothModified'
  | 'BothAdded'
  | 'DeletedBySourceModifiedByTarget'
  | 'ModifiedBySourceDeletedByTarget';

/**
 * The kinds of violation of a node or a definition in the merged state.
 *
 * - `InvalidContent`: the properties of a node do not satisfy its type, archetype or elements.
 * - `MissingDefinition`: a definition that a node or another definition needs was deleted.
 * - `InvalidDefinition`: a definition does not resolve.
 * - `DuplicateValue`: two nodes have the same value of a unique property.
 * - `ChildNotAllowed`: the type of a node does not allow the type of a child.
 * - `TypeNotAllowed`: the workspace does not allow the type of a node that the merge adds.
 * - `PathTooLong`: a node would have a path that is too long.
 */
export type ViolationType =
  | 'InvalidContent'
  | 'MissingDefinition'
  | 'InvalidDefinition'
  | 'DuplicateValue'
  | 'ChildNotAllowed'
  | 'TypeNotAllowed'
  | 'PathTooLong';

/** A node or a definition involved in a violation, named as in conflicts. */
export interface ConflictParty {
  readonly node_id: string;
  /** Null for a definition. */
  readonly workspace: string | null;
  readonly path: string;
}

/** A violation in the merged state that neither side has alone. */
export interface MergeViolation {
  readonly violation_type: ViolationType;
  /** Description for a person. */
  readonly message: string;
  /** The property in violation. */
  readonly property?: string;
  /** The first of the others involved; empty for the lists of a workspace. */
  readonly with: readonly ConflictParty[];
  /** The number of nodes and definitions that this one makes invalid. */
  readonly count?: number;
}

/** A conflict between two branches about a node, one locale of a node, or a schema definition. */
export interface MergeConflict {
  /** For a definition: kind and name, `node_type:site:Page`. */
  readonly node_id: string;
  /** Null for a definition. */
  readonly workspace: string | null;
  /** Path on the target, or on the source if the target lacks the node. For a definition `/{kind}/{name}`. */
  readonly path: string;
  readonly conflict_type: ConflictType;
  /** Properties in the common ancestor, or the definition; for a locale the values by pointer. Null: absent. */
  readonly base_properties: JsonObject | null;
  readonly target_properties: JsonObject | null;
  readonly source_properties: JsonObject | null;
  /** Path of the node in each of the three states; null: absent. Present when the conflict is about the node itself. */
  readonly base_path?: string | null;
  readonly target_path?: string | null;
  readonly source_path?: string | null;
  /** Whether the node is published in each of the three states; present as the paths are. */
  readonly base_published?: boolean | null;
  readonly target_published?: boolean | null;
  readonly source_published?: boolean | null;
  /** Present when the conflict is about one locale only. */
  readonly translation_locale?: string;
  /** Present if the conflict is that the merged state would be invalid; possibly only one side changed the node. */
  readonly violations?: readonly MergeViolation[];
}

/** Answer to {@link ListConflicts}, with the heads that were compared. */
export interface ConflictList {
  readonly target_head: string;
  readonly source_head: string;
  readonly common_ancestor: string;
  /** Sorted by workspace, path and locale. */
  readonly conflicts: readonly MergeConflict[];
}
