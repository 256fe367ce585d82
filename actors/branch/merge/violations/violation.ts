import type { ViolationType } from '../../merge-messages.ts';
import type { DefinitionAddress, NodeAddress } from '../../pair-messages.ts';

/** A node or a definition involved in a violation. */
export type Party = NodeAddress | DefinitionAddress;

/** A violation in the merged state of two branches that neither branch has alone. */
export interface Violation {
  readonly type: ViolationType;
  /** Description for a person. */
  readonly message: string;
  readonly property?: string;
  /** The node or definition that is invalid. A side of the merge changed it. */
  readonly subject: Party;
  /** Path of the subject. Violations are listed in this order. */
  readonly path: string;
  /** The nodes and definitions that make it invalid. */
  readonly others: readonly Party[];
}

/** Whether a party is a definition; else it is a node. */
export function isDefinition(party: Party): party is DefinitionAddress {
  return 'kind' in party;
}

/** The key of a party, unique among the nodes of every workspace and all definitions. */
export function partyKey(party: Party): string {
  return isDefinition(party) ? `d\0${party.kind}\0${party.name}` : `n\0${party.workspace}\0${party.id}`;
}

/** The name of a definition in messages: `node type 'site:Page'`. */
export function definitionLabel({ kind, name }: DefinitionAddress): string {
  return `${kind.replace('_', ' ')} '${name}'`;
}
