import type { DefinitionAddress } from '../pair-messages.ts';

/** The id of a definition in lists that name nodes by id: `node_type:site:Page`. */
export function definitionId({ kind, name }: DefinitionAddress): string {
  return `${kind}:${name}`;
}

/** The path of a definition in lists where nodes have a path: `/node_type/site:Page`. */
export function definitionPath({ kind, name }: DefinitionAddress): string {
  return `/${kind}/${name}`;
}

/** The definition of a {@link definitionId}. */
export function definitionOfId(id: string): DefinitionAddress {
  const colon = id.indexOf(':');
  return { kind: id.slice(0, colon) as DefinitionAddress['kind'], name: id.slice(colon + 1) };
}
