import type { NodeRecord } from '#runtime/tree/record/node-record.ts';
import type { Side } from '../../pair/branch-pair.ts';
import { definitionId, definitionPath } from '../../pair/definition-names.ts';
import type { ConflictParty } from '../../merge-messages.ts';
import type { NodeAddress } from '../../pair-messages.ts';
import type { MergeInput } from '../merge-input.ts';
import { nodeKeyOf } from '../merge-sides.ts';
import type { MergedTree } from '../merged-tree.ts';
import { shownPath } from '../shown-path.ts';
import type { ChangedDefinition, MergedSchemas } from './merged-schemas.ts';
import { definitionLabel, isDefinition, type Party } from './violation.ts';

/** The result of a merge under the decisions made so far. */
export interface MergeView extends MergeInput {
  readonly tree: MergedTree;
  readonly schemas: MergedSchemas;
  /** Nodes in conflict without a decision, by `nodeKeyOf`. No violations are derived from them. */
  readonly disputed: ReadonlySet<string>;
}

/** A node of the merged state. */
export interface MergedNode extends NodeAddress {
  readonly key: string;
  /** The state that its content and its path come from. */
  readonly state: NodeRecord;
  /** The side of that state. */
  readonly home: Side;
}

/**
 * Every changed node that is in the merged state, without those in conflict. Yields undefined where the work may pause.
 */
export function* mergedNodes(view: MergeView): Generator<MergedNode | undefined, void> {
  const { disputed, sides, tree } = view;
  for (const changes of [sides.own, sides.other]) {
    for (const [key, { nodeId: id, workspace }] of changes) {
      if (disputed.has(key) || (changes === sides.other && sides.own.has(key))) continue;
      const state = yield* tree.stateOf({ workspace, id });
      if (state === undefined) yield undefined;
      else yield { workspace, id, key, state, home: homeOf(view, { workspace, id }) };
    }
  }
}

function homeOf({ tree }: MergeView, node: NodeAddress): Side {
  return tree.sideOf(node) === 'ours' ? 'own' : 'other';
}

/** A node on a side. Yields only for large nodes, as everything below that looks one up. */
export function stateOn(
  { tree }: MergeView,
  side: Side,
  node: NodeAddress,
): Generator<undefined, NodeRecord | undefined> {
  return side === 'own' ? tree.targetState(node) : tree.sourceState(node);
}

/** Whether a side of the merge changed a node. */
export function isChanged({ sides }: MergeView, { id, workspace }: NodeAddress): boolean {
  const key = nodeKeyOf(workspace, id);
  return sides.own.has(key) || sides.other.has(key);
}

/** The path of a node on the target, or else on the source. */
export function* pathOf({ tree }: MergeView, node: NodeAddress): Generator<undefined, string> {
  const state = (yield* tree.targetState(node)) ?? (yield* tree.sourceState(node));
  return state?.header.path ?? node.id;
}

/** A party in the form used in conflicts. */
export function* partyEntry(view: MergeView, party: Party): Generator<undefined, ConflictParty> {
  return isDefinition(party)
    ? { node_id: definitionId(party), workspace: null, path: definitionPath(party) }
    : { node_id: party.id, workspace: party.workspace, path: yield* pathOf(view, party) };
}

/** The name of a party in messages. */
export function* partyLabel(view: MergeView, party: Party): Generator<undefined, string> {
  return isDefinition(party) ? definitionLabel(party) : `'${shownPath(yield* pathOf(view, party))}'`;
}

const verbs = { added: 'added', modified: 'changed', deleted: 'deleted' } as const;

/**
 * The end of a message that names the side which changed some definitions.
 *
 * @param home the side that the subject of the violation is from
 */
export function changedDefinitionsText(
  { sides }: MergeView,
  home: Side,
  definitions: readonly ChangedDefinition[],
): string {
  return definitions
    .map((definition) => {
      const { decision, kind, name } = definition;
      const label = definitionLabel(definition);
      if (decision?.choice === 'manual') return `; ${label} is given by a resolution`;
      const key = nodeKeyOf(kind, name);
      const [away, side] =
        home === 'own' ? [sides.otherDefinitions, 'source'] : [sides.ownDefinitions, 'target'];
      const change = away.get(key);
      if (change !== undefined) return `; ${label} was ${verbs[change.operation]} on the ${side}`;
      return `; ${label} is to be as on the ${side}`;
    })
    .join('');
}

/**
 * As {@link changedDefinitionsText}, for definitions of both sides.
 *
 * @param home the side whose changes come last
 */
export function bothChangesText(
  view: MergeView,
  home: Side,
  definitions: readonly ChangedDefinition[],
): string {
  const isFromElsewhere = ({ kind, name }: ChangedDefinition) =>
    view.schemas.differing(home).has(nodeKeyOf(kind, name));
  const away = home === 'own' ? 'other' : 'own';
  const others = definitions.filter((definition) => !isFromElsewhere(definition));
  return (
    changedDefinitionsText(view, home, definitions.filter(isFromElsewhere)) +
    changedDefinitionsText(view, away, others)
  );
}
