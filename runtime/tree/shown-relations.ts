import type { Relation } from '#runtime/content/content-node.ts';
import type { NodeRecord } from './node-record.ts';
import { variantMark } from './node-tag.ts';

/** What is shown of the relations of a node when some lead to nothing. */
export interface ShownRelations {
  readonly relations: readonly Relation[];
  /** Stands for which ones are left out, in entity tags. */
  readonly mark: string;
}

/** Whether the caller may know of a node. */
export type SeesNode = (workspace: string, id: string) => boolean;

/** Targets looked up between two rests. */
const STEP_TARGETS = 64;

/**
 * Leaves out relations whose target is not there. They stay stored with their source, which did not change: when the
 * target comes back, as by a revert, they are shown again.
 *
 * @param sees whether a target is there
 * @returns undefined when all are shown; yields where the work may rest
 * @see docs/interface/nodes.md#relations
 */
export function* shownRelations(
  record: NodeRecord,
  sees: SeesNode,
): Generator<undefined, ShownRelations | undefined> {
  if (!record.hasRelations) return undefined;
  const { relations } = record.header;
  const shown: Relation[] = [];
  const hidden: number[] = [];
  for (const [index, relation] of relations.entries()) {
    if (sees(relation.workspace, relation.target)) shown.push(relation);
    else hidden.push(index);
    if (index % STEP_TARGETS === STEP_TARGETS - 1) yield undefined;
  }
  return hidden.length === 0 ? undefined : { relations: shown, mark: variantMark(hidden) };
}
