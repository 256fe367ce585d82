import type { ChangeOperation } from '#runtime/content/content-node.ts';

/** One node a revision touched. `locale` when only the overlay of that locale was written. */
export interface NodeChange {
  readonly node_id: string;
  readonly workspace: string;
  readonly operation: ChangeOperation;
  readonly path: string;
  readonly node_type: string;
  readonly translation_locale?: string;
}

/** One schema definition a revision touched. */
export interface DefinitionChange {
  readonly kind: 'node_type' | 'archetype' | 'element_type';
  readonly name: string;
  readonly operation: 'added' | 'modified' | 'deleted';
}

/** What a commit says about itself. @see docs/interface/revisions.md#revision-records */
export interface RevisionRecord {
  readonly revision: string;
  readonly parent: string | null;
  readonly mergeParent: string | null;
  readonly timestamp: string;
  readonly actor: string;
  readonly message: string;
  readonly isSystem: boolean;
  /** The branch it was made on, where a fast-forward took it over; of others the lineage knows. */
  readonly branch?: string;
  readonly definitions: readonly DefinitionChange[];
  readonly changeCount: number;
  /**
   * How many revisions led to it, itself included, and how many of them were made by the system. Absent in records of
   * the first builds.
   */
  readonly ordinals?: readonly [revisions: number, systemRevisions: number];
  /** Inline when there are few; otherwise in chunks of their own. */
  readonly changes?: readonly NodeChange[];
}
