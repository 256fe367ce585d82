import type { ChangeOperation } from '#runtime/content/content-node.ts';

/** One node changed by a revision. `locale` when only the overlay of that locale was written. */
export interface NodeChange {
  readonly node_id: string;
  readonly workspace: string;
  readonly operation: ChangeOperation;
  readonly path: string;
  readonly node_type: string;
  readonly translation_locale?: string;
}

/** One schema definition changed by a revision. */
export interface DefinitionChange {
  readonly kind: 'node_type' | 'archetype' | 'element_type';
  readonly name: string;
  readonly operation: 'added' | 'modified' | 'deleted';
}

/** The record of a commit. @see docs/interface/revisions.md#revision-records */
export interface RevisionRecord {
  readonly revision: string;
  readonly parent: string | null;
  readonly mergeParent: string | null;
  readonly timestamp: string;
  readonly actor: string;
  readonly message: string;
  readonly isSystem: boolean;
  /** The branch it was made on, for a revision taken over by a fast-forward; for others the lineage has it. */
  readonly branch?: string;
  readonly definitions: readonly DefinitionChange[];
  readonly changeCount: number;
  /**
   * Number of revisions that led to it, itself included, and how many of them were made by the system. Absent in
   * records of the first builds.
   */
  readonly ordinals?: readonly [revisions: number, systemRevisions: number];
  /** Inline when there are few; otherwise stored in chunks. */
  readonly changes?: readonly NodeChange[];
}
