import type { DefinitionAddress } from '../pair-messages.ts';

/** How a definition is named where nodes are named by their ids: `node_type:site:Page`. */
export function definitionId({ kind, name }: DefinitionAddress): string {
  return `${kind}:${name}`;
}

/** What stands for a definition where nodes have a path: `/node_type/site:Page`. */
export function definitionPath({ kind, name }: DefinitionAddress): string {
  return `/${kind}/${name}`;
}

/** The definition of a {@link definitionId}. */
export function definitionOfId(id: string): DefinitionAddress {
  const colon = id.indexOf(':');
  return { kind: id.slice(0, colon) as DefinitionAddress['kind'], name: id.slice(colon + 1) };
}
