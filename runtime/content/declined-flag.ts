import type { ResolvedSource } from './schema-resolver.ts';

/**
 * Whether a type says no to something. A flag that neither the type nor an ancestor sets says nothing, and then
 * people decide; so does a type that is gone.
 *
 * @param name of the node type
 * @param source where the type and its ancestors come from
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
