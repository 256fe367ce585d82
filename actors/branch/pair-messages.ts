import type { ReadEventsAfter } from '#runtime/bus/history-messages.ts';
import type { NodeChange, RevisionRecord } from '#runtime/tree/revision-record.ts';

/** What branches of a repository ask each other; nobody else may. @see pair-queries.ts */

/**
 * A revision and those before it along `parent`, as this branch has them or merged them; for other branches
 * only. Answer: array of `GraphRecord`, empty when this branch has never had the revision.
 */
export interface ReadGraph {
  readonly type: 'ReadGraph';
  readonly revision: string;
}

/** A place in the changes of some revisions. */
export interface ChangesPlace {
  /** Index of the revision. */
  readonly revision: number;
  /** Stored parts of its changes that have been read. */
  readonly part: number;
}

/** What some revisions of this branch changed, in parts; for other branches only. Answer: {@link ChangedPart}. */
export interface ReadChanged {
  readonly type: 'ReadChanged';
  /** Those this branch did not make are passed over. */
  readonly revisions: readonly string[];
  readonly from: ChangesPlace;
}

/** What {@link ReadChanged} answers. */
export interface ChangedPart {
  readonly nodes: readonly NodeAddress[];
  readonly definitions: readonly DefinitionAddress[];
  /** Where to go on; null at the end. */
  readonly next: ChangesPlace | null;
}

/** A node of a branch. */
export interface NodeAddress {
  readonly workspace: string;
  readonly id: string;
}

/** A schema definition of a branch. */
export interface DefinitionAddress {
  readonly kind: 'node_type' | 'archetype' | 'element_type';
  readonly name: string;
}

/**
 * Nodes as of a revision; for other branches only. Answer: array of `NodeRecord` or undefined, or undefined when
 * this branch does not hold the content of that revision. Where nodes are large, the array ends before the last of
 * those asked for; it has one at least.
 */
export interface ReadStates {
  readonly type: 'ReadStates';
  readonly at: string;
  readonly nodes: readonly NodeAddress[];
}

/** Definitions as of a revision; for other branches only. Answer: as {@link ReadStates}, with stored definitions. */
export interface ReadDefinitionStates {
  readonly type: 'ReadDefinitionStates';
  readonly at: string;
  readonly definitions: readonly DefinitionAddress[];
}

/**
 * The record of a revision this branch has, with a part of its node changes; for other branches only. Answer:
 * {@link RecordPart}, or undefined when this branch has no such revision.
 */
export interface ReadRecordPart {
  readonly type: 'ReadRecordPart';
  readonly revision: string;
  readonly part: number;
}

/** What {@link ReadRecordPart} answers. */
export interface RecordPart {
  readonly record: RevisionRecord;
  /** Name of the branch it was made on. */
  readonly branch: string;
  /** Undefined behind the last part. */
  readonly changes: readonly NodeChange[] | undefined;
}

/**
 * Which node has a value of a property that is unique at the head of this branch; for other branches only. Answer: its
 * id, or undefined.
 */
export interface ReadUniqueHolder {
  readonly type: 'ReadUniqueHolder';
  readonly workspace: string;
  readonly nodeType: string;
  readonly property: string;
  /** As the index has it. */
  readonly value: string;
}

/** Every query of a branch that only the engine may ask. */
export type EngineQuery =
  | ReadGraph
  | ReadChanged
  | ReadRecordPart
  | ReadStates
  | ReadDefinitionStates
  | ReadUniqueHolder
  | ReadEventsAfter;
