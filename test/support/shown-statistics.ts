import type { NamedCount, TypeStatistics, WorkspaceStatistics } from '#runtime/statistics/read-statistics.ts';
import type { CountedType } from './counted-nodes.ts';

/** The statistics of a workspace as {@link countedNodes} counts them. */
export function shownStatistics(
  workspaces: readonly WorkspaceStatistics[],
  name: string,
): Record<string, CountedType> {
  const found = workspaces.find((workspace) => workspace.name === name);
  return Object.fromEntries((found?.nodeTypes ?? []).map((type) => [type.name, shown(type)]));
}

function shown({
  archetypes,
  locales,
  notListed,
  properties,
  relations,
  ...type
}: TypeStatistics): CountedType {
  if (notListed !== 0) throw new Error(`${notListed} are not listed`);
  return {
    ...type,
    archetypes: countsOf(archetypes),
    locales: countsOf(locales),
    relations: countsOf(relations),
    properties: Object.fromEntries(properties.map((property) => [property.name, property.kinds])),
  } as CountedType;
}

function countsOf(counts: readonly NamedCount[]): Record<string, number> {
  return Object.fromEntries(counts.map(({ count, name }) => [name, count]));
}
