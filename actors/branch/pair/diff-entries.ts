import type { StoredKind } from '#runtime/tree/schema-store.ts';

/** The lists of a difference, in their order in the answer. */
export const operations = ['added', 'modified', 'deleted'] as const;

/** One node of a difference. */
export interface DiffEntry {
  readonly node_id: string;
  readonly workspace: string;
  /** Path on the branch; for a deleted node, its last path. */
  readonly path: string;
  readonly operation: (typeof operations)[number];
}

/** One schema definition of a difference. It is named as in conflicts. */
export interface DefinitionDiffEntry {
  readonly node_id: string;
  readonly workspace: null;
  readonly path: string;
  readonly operation: (typeof operations)[number];
  readonly kind: StoredKind;
  readonly name: string;
}

/** All entries of a difference. */
export interface DiffEntries {
  /** Sorted by workspace, then path. */
  readonly nodes: readonly DiffEntry[];
  /** Sorted by path: kind, then name. */
  readonly definitions: readonly DefinitionDiffEntry[];
}
