import type { ResolvedSource } from './schema-resolver.ts';

/**
 * Whether a type sets a flag to false. A flag that neither the type nor an ancestor sets declines nothing, and the user
 * decides; so it is for a deleted type.
 *
 * @param name of the node type
 * @param source of the type and its ancestors
 * @see docs/interface/node-types.md#fields-of-a-node-type
 */
export function isFlagDeclined(
  name: string,
  flag: 'publishable' | 'versionable',
  source: Pick<ResolvedSource, 'nodeType'>,
): boolean {
  const type = source.nodeType(name);
  if (type === undefined || type[flag]) return false;
  for (const each of type.inheritanceChain) {
    const own = source.nodeType(each)?.nodeType[flag] ?? null;
    if (own !== null) return !own;
  }
  return false;
}
