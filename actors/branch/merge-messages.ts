import type { JsonObject } from '#runtime/content/json-value.ts';
import type { Revision } from '#runtime/content/revision.ts';
import type { CommitInfo } from './commit-messages.ts';

/**
 * What a branch can be told and asked about merging. Field names of results are the wire's own.
 *
 * @see docs/interface/merges.md
 */

/** Merges another branch into this one. Who knows checks whether it is protected. Result: {@link MergeResult}. */
export interface MergeBranch {
  readonly type: 'MergeBranch';
  /** Actor of the other branch, of the same repository. */
  readonly source: string;
  /** Its name. */
  readonly sourceName: string;
  readonly strategy: 'ThreeWay' | 'FastForward';
  readonly commit?: CommitInfo;
  /** Reports, and writes nothing. */
  readonly dryRun: boolean;
}

/** How one conflict is settled. */
export interface MergeResolution {
  /** As the conflict names it. */
  readonly nodeId: string;
  /** Null: a definition. Absent: the conflict of this id; there must be no two. */
  readonly workspace?: string | null;
  /** Present for a conflict about one locale. */
  readonly locale?: string;
  /** The target's state, the source's state, or properties of the caller's. */
  readonly type: ResolutionType;
  /** For `manual`: properties, values of the locale by pointer, or the definition. Null: it is not to be there. */
  readonly properties?: JsonObject | null;
}

/** How a conflict can be settled. */
export type ResolutionType = 'keep-ours' | 'keep-theirs' | 'manual';

/**
 * Merges another branch into this one where they are in conflict, each conflict settled by a resolution. Who knows
 * checks whether this branch is protected. Result: {@link MergeResult}; conflicts without a resolution are in it,
 * and then nothing was written.
 */
export interface ResolveMerge {
  readonly type: 'ResolveMerge';
  /** Actor of the other branch, of the same repository. */
  readonly source: string;
  /** Its name. */
  readonly sourceName: string;
  readonly resolutions: readonly MergeResolution[];
  /** Heads the resolutions were made for; absent: whatever they are now. */
  readonly expectedSourceHead?: string;
  readonly expectedTargetHead?: string;
  readonly commit?: CommitInfo;
  /** Reports, and writes nothing. */
  readonly dryRun: boolean;
}

/** What a merge did. */
export interface MergeResult {
  /** False when there are conflicts; nothing was written then. */
  readonly success: boolean;
  /** Milliseconds of the head. */
  readonly revision: number;
  /** Where the target stands now. */
  readonly head: string;
  readonly conflicts: readonly MergeConflict[];
  readonly fast_forward: boolean;
  /** Nodes the merge commit changed. */
  readonly nodes_changed: number;
  /** Schema definitions the merge commit changed. */
  readonly definitions_changed: number;
  /** Where the two stood. */
  readonly target_head: string;
  readonly source_head: string;
}

/** What would stop a merge of another branch into this one. For administrators. Answer: {@link ConflictList}. */
export interface ListConflicts {
  readonly type: 'ListConflicts';
  /** Absent: the head. */
  readonly at?: Revision;
  /** Actor of the branch that would be merged, of the same repository. */
  readonly source: string;
  /** Absent: the head of the source. */
  readonly sourceAt?: Revision;
}

/** How two branches disagree. */
export type ConflictType =
  | 'BothModified'
  | 'BothAdded'
  | 'DeletedBySourceModifiedByTarget'
  | 'ModifiedBySourceDeletedByTarget';

/**
 * What is wrong with a node or a definition in the merged state.
 *
 * - `InvalidContent`: the properties of a node do not satisfy its type, archetype or elements.
 * - `MissingDefinition`: a definition that a node or another definition needs was deleted.
 * - `InvalidDefinition`: a definition does not resolve.
 * - `DuplicateValue`: two nodes have one value of a unique property.
 * - `ChildNotAllowed`: the type of a node does not allow the type of a child.
 * - `TypeNotAllowed`: the workspace does not allow the type of a node that the merge brings.
 */
export type ViolationType =
  | 'InvalidContent'
  | 'MissingDefinition'
  | 'InvalidDefinition'
  | 'DuplicateValue'
  | 'ChildNotAllowed'
  | 'TypeNotAllowed';

/** A node or a definition that takes part in a violation, named as in conflicts. */
export interface ConflictParty {
  readonly node_id: string;
  /** Null for a definition. */
  readonly workspace: string | null;
  readonly path: string;
}

/** Something that is wrong in the merged state and on neither side alone. */
export interface MergeViolation {
  readonly violation_type: ViolationType;
  /** What is wrong, for a person. */
  readonly message: string;
  /** The property it is about. */
  readonly property?: string;
  /** The first of the others that take part; empty for the lists of a workspace. */
  readonly with: readonly ConflictParty[];
  /** The number of nodes and definitions that become invalid by this one. */
  readonly count?: number;
}

/** One thing two branches disagree about: a node, one locale of it, or a schema definition. */
export interface MergeConflict {
  /** Of a definition: kind and name, `node_type:site:Page`. */
  readonly node_id: string;
  /** Null for a definition. */
  readonly workspace: string | null;
  /** On the target; on the source for a node the target does not have. Of a definition `/{kind}/{name}`. */
  readonly path: string;
  readonly conflict_type: ConflictType;
  /** Properties when the two last met, or the definition; of a locale the values by pointer. Null: not there. */
  readonly base_properties: JsonObject | null;
  readonly target_properties: JsonObject | null;
  readonly source_properties: JsonObject | null;
  /** Where the node is in each of the three states; null: it is not there. Present when it is about a node itself. */
  readonly base_path?: string | null;
  readonly target_path?: string | null;
  readonly source_path?: string | null;
  /** Whether the node is published in each of the three states, as the paths. */
  readonly base_published?: boolean | null;
  readonly target_published?: boolean | null;
  readonly source_published?: boolean | null;
  /** Present when the two disagree about one locale only. */
  readonly translation_locale?: string;
  /** Present if it is in conflict because the merged state would be invalid; one side alone may have changed it. */
  readonly violations?: readonly MergeViolation[];
}

/** What {@link ListConflicts} answers, with the heads it was found out at. */
export interface ConflictList {
  readonly target_head: string;
  readonly source_head: string;
  readonly common_ancestor: string;
  /** By workspace, path and locale. */
  readonly conflicts: readonly MergeConflict[];
}
