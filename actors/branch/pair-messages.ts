import type { ReadEventsAfter } from '#runtime/bus/history-messages.ts';
import type { PartRead } from '#runtime/shard/large-value.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { NodeChange, RevisionRecord } from '#runtime/tree/revision-record.ts';

/** Queries between branches of a repository, which no other caller may send. @see pair-queries.ts */

/**
 * A revision and its ancestors along `parent`, which this branch has or has merged; for other branches only. Answer:
 * array of `GraphRecord`, empty when this branch never had the revision.
 */
export interface ReadGraph {
  readonly type: 'ReadGraph';
  readonly revision: string;
}

/** A position in the changes of some revisions. */
export interface ChangesPlace {
  /** Index of the revision. */
  readonly revision: number;
  /** Number of stored parts of its changes already read. */
  readonly part: number;
}

/** The changes of some revisions of this branch, in parts; for other branches only. Answer: {@link ChangedPart}. */
export interface ReadChanged {
  readonly type: 'ReadChanged';
  /** Revisions that this branch did not make are skipped. */
  readonly revisions: readonly string[];
  readonly from: ChangesPlace;
}

/** Answer to {@link ReadChanged}. */
export interface ChangedPart {
  readonly nodes: readonly NodeAddress[];
  readonly definitions: readonly DefinitionAddress[];
  /** Position of the next part; null at the end. */
  readonly next: ChangesPlace | null;
}

/** The address of a node on a branch. */
export interface NodeAddress {
  readonly workspace: string;
  readonly id: string;
}

/** The address of a schema definition on a branch. */
export interface DefinitionAddress {
  readonly kind: 'node_type' | 'archetype' | 'element_type';
  readonly name: string;
}

/**
 * Nodes as of a revision; for other branches only. Answer: array of `NodeRecord` or undefined; undefined as a whole
 * when this branch does not have the content of that revision. If nodes are large, the array may end before the last
 * requested node; it has at least one entry. A {@link HalfRead} when one of them is so large that it takes another query.
 */
export interface ReadStates {
  readonly type: 'ReadStates';
  readonly at: string;
  readonly nodes: readonly NodeAddress[];
  /** The answer to the query before, about the same nodes. */
  readonly half?: HalfRead | undefined;
}

/**
 * An answer that is not complete, because the next node is large. The event loop may run before the rest of it is read.
 * Then the branch may have another state: what was read of a value counts only while the node still has that value.
 */
export class HalfRead {
  /** The nodes before it. */
  readonly states: readonly (NodeRecord | undefined)[];
  /** Its present state, if that was read and does not decide what its state at the earlier revision is. */
  readonly present: NodeRecord | undefined;
  /** What was read of the state that is looked at. */
  readonly reading: PartRead | undefined;

  constructor(
    states: readonly (NodeRecord | undefined)[],
    present: NodeRecord | undefined,
    reading: PartRead | undefined,
  ) {
    this.states = states;
    this.present = present;
    this.reading = reading;
  }
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

/** Answer to {@link ReadRecordPart}. */
export interface RecordPart {
  readonly record: RevisionRecord;
  /** Name of the branch it was made on. */
  readonly branch: string;
  /** Undefined after the last part. */
  readonly changes: readonly NodeChange[] | undefined;
}

/**
 * The node that has a value of a unique property at the head of this branch; for other branches only. Answer: its id,
 * or undefined.
 */
export interface ReadUniqueHolder {
  readonly type: 'ReadUniqueHolder';
  readonly workspace: string;
  readonly nodeType: string;
  readonly property: string;
  /** The value as encoded in the index. */
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
