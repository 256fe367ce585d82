import type { ChangeOperation } from '#runtime/content/content-node.ts';

/**
 * What a revision did to a node, from its state before the revision to its state after it:
 *
 * - `created`, `deleted`: it did not exist before or after;
 * - `updated`: its content, type, archetype, owner or a translation differs, or it was written without a difference;
 * - `property_changed`: its properties differ; always together with `updated`;
 * - `published`, `unpublished`: it became published or unpublished; a published node may be created or deleted;
 * - `renamed`: its name differs; `moved`: the path of its parent differs, also because an ancestor was moved or renamed;
 * - `reordered`: its position among the same siblings differs;
 * - `relation_added`, `relation_removed`: it has relations that it had not, or lacks some that it had.
 */
export type ChangeKind =
  | 'created'
  | 'updated'
  | 'deleted'
  | 'published'
  | 'unpublished'
  | 'moved'
  | 'renamed'
  | 'reordered'
  | 'relation_added'
  | 'relation_removed'
  | 'property_changed';

/** What is stored of a change for consumers that select changes without reading nodes. */
export interface ChangeDetails {
  /** Empty for a node that a merge recorded and left as it is. */
  readonly kinds: readonly ChangeKind[];
  /** Path before the revision, where it differs from the path of the change. */
  readonly pathBefore?: string;
  /** Type before the revision, where it differs from the type of the change. */
  readonly typeBefore?: string;
  /** Names of the changed top-level properties; null: too many, any of them. Absent where none changed. */
  readonly properties?: readonly string[] | null;
  /** Number of changed properties where {@link properties} is null; absent where they were not counted. */
  readonly propertyCount?: number;
  /** Locales whose translation differs; of a created or deleted node all that it has. Absent for none. */
  readonly locales?: readonly string[];
}

/** One node changed by a revision. `locale` when only the overlay of that locale was written. */
export interface NodeChange {
  readonly node_id: string;
  readonly workspace: string;
  readonly operation: ChangeOperation;
  readonly path: string;
  readonly node_type: string;
  readonly translation_locale?: string;
  /** Not part of the wire form. Absent in revisions of older builds: anything may have changed then. */
  readonly details?: ChangeDetails;
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
  /** Who made it, where the actor was given by its caller and is another one. */
  readonly author?: string;
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
