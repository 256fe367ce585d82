import type { Relation } from '#runtime/content/content-node.ts';
import type { NodeRecord } from './record/node-record.ts';
import { variantMark } from './node-tag.ts';

/** The visible relations of a node when some of them are left out. */
export interface ShownRelations {
  readonly relations: readonly Relation[];
  /** Identifies what is left out or what is shown, for entity tags; undefined when nothing is shown. */
  readonly mark: string | undefined;
}

/**
 * What the mark of {@link ShownRelations} is computed over: the places of the relations that are left out, or those that are
 * shown. For a caller who may not read every node it must not tell whether something is left out.
 */
export type RelationMark = 'hidden' | 'shown';

/** Whether a node exists and is visible to the caller. Yields after each large row that it reads. */
export type SeesNode = (workspace: string, id: string) => Generator<undefined, boolean>;

/** Targets looked up between two yields. */
const STEP_TARGETS = 64;

/**
 * Leaves out relations whose target is missing. They stay stored with their unchanged source, and are shown again when
 * the target returns, for example by a revert.
 *
 * @param sees whether a target exists
 * @returns undefined when all are shown and what is hidden is marked; yields between steps of bounded length
 * @see docs/interface/nodes.md#relations
 */
export function* shownRelations(
  record: Pick<NodeRecord, 'hasRelations' | 'header'>,
  sees: SeesNode,
  marked: RelationMark = 'hidden',
): Generator<undefined, ShownRelations | undefined> {
  if (!record.hasRelations) return undefined;
  const { relations } = record.header;
  const shown: Relation[] = [];
  const hidden: number[] = [];
  for (const [index, relation] of relations.entries()) {
    if (yield* sees(relation.workspace, relation.target)) shown.push(relation);
    else hidden.push(index);
    if (index % STEP_TARGETS === STEP_TARGETS - 1) yield undefined;
  }
  if (marked === 'shown') {
    const edges = shown.map(({ relation_type, target, workspace }) => [workspace, target, relation_type]);
    return { relations: shown, mark: shown.length === 0 ? undefined : variantMark(edges) };
  }
  return hidden.length === 0 ? undefined : { relations: shown, mark: variantMark(hidden) };
}
