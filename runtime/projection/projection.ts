import type { Turn } from '#runtime/commit/behaviour.ts';
import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { NodeChange } from '#runtime/tree/revision-record.ts';
import type { ProjectionRows } from './projection-rows.ts';

/** A node that came from one state into another. */
export interface NodeStep {
  readonly workspace: string;
  readonly id: string;
  /** What the feed tells of it; absent while the projection is built, because then the node comes from nothing. */
  readonly change: NodeChange | undefined;
  /** Reads the state before; undefined: there was no node. Yields only while it reads a large one. */
  before(): Generator<undefined, NodeRecord | undefined>;
  /** Reads the state after; undefined: there is no node any more. */
  after(): Generator<undefined, NodeRecord | undefined>;
}

/** Effects of some nodes, which are collected and then written together. */
export interface ProjectionBatch {
  /** Collects the effects of a node. It writes nothing. Yields in long loops. */
  take(step: NodeStep): Generator<undefined, void>;
  /** Writes what was collected. Yields in long loops. */
  write(): Generator<undefined, void>;
}

/**
 * An index of the nodes of a branch that is kept beside their commits and not in them: it is built from a scan at a
 * revision, then follows the change feed.
 *
 * Its rows are a function of the nodes of one state and of nothing else, and a batch leads from the rows of one state to
 * those of another. They are in the shard of the branch, so all replicas have them, and are written by the commit that
 * stores how far the projection is. So they always belong to a position of the feed, whatever crashes or fails over.
 */
export interface Projection {
  /** Names its rows; it must not change between versions. */
  readonly name: string;
  /** Rises when the same nodes would have other rows. Rows of another version are built anew. */
  readonly version: number;
  /** The longest time in milliseconds for which a commit waits for others, to be taken in with them. */
  readonly delayMs: number;
  /** Begins a batch. @param rows its own rows, to which only {@link ProjectionBatch.write} may write */
  batch(turn: Turn, rows: ProjectionRows): ProjectionBatch;
}
