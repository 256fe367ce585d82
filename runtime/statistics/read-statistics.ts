import { ProjectionRows } from '#runtime/projection/projection-rows.ts';
import { type JsonKind, jsonKinds } from '#runtime/tree/record/property-kinds.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { statisticsProjection } from './statistics-projection.ts';
import { decodeStatisticsRow, nodeNumbers, statisticsRange, type StatisticsRow } from './statistics-rows.ts';

/** Entries of each list of a type; the rest is counted in `notListed`. */
const LISTED_MAX = 1_000;

/** Entries of all lists of an answer, likewise. */
const LISTED_TOTAL_MAX = 20_000;

/** A property of the nodes of a type. */
export interface PropertyStatistics {
  readonly name: string;
  /** Nodes that have it. */
  readonly nodes: number;
  /** Nodes by the kind of its value; kinds that no node has are absent. */
  readonly kinds: Readonly<Partial<Record<JsonKind, number>>>;
}

/** Number of nodes or relations with something. */
export interface NamedCount {
  readonly name: string;
  readonly count: number;
}

/** The nodes of a type in a workspace. */
export interface TypeStatistics {
  readonly name: string;
  readonly nodes: number;
  readonly published: number;
  /** Writes of these nodes over all time. */
  readonly versions: number;
  /** Bytes of their properties as JSON. */
  readonly propertyBytes: number;
  /** Properties, relations and the like that are in none of the lists: those of a node beyond the thousandth, and long names. */
  readonly notListed: number;
  /** The first and the last day on which one of their present states was written. */
  readonly oldestChange: string;
  readonly newestChange: string;
  /** Nodes by archetype. */
  readonly archetypes: readonly NamedCount[];
  /** Nodes by the locales they are translated to. */
  readonly locales: readonly NamedCount[];
  /** Relations by kind. */
  readonly relations: readonly NamedCount[];
  readonly properties: readonly PropertyStatistics[];
}

/** The nodes of a workspace, by type. */
export interface WorkspaceStatistics {
  readonly name: string;
  readonly nodeTypes: readonly TypeStatistics[];
}

type Counts = Record<(typeof nodeNumbers)[number], number>;

interface Type extends Counts {
  readonly name: string;
  readonly days: string[];
  readonly archetypes: NamedCount[];
  readonly locales: NamedCount[];
  readonly relations: NamedCount[];
  readonly properties: PropertyStatistics[];
}

/**
 * Reads the statistics of a branch, workspaces and types by name. The cost grows with the number of types and of their
 * properties, not of nodes.
 *
 * @param only a workspace; absent: all
 * @returns yields where the work may pause
 */
export function* readStatistics(
  reader: TableReader,
  only?: string,
): Generator<undefined, readonly WorkspaceStatistics[]> {
  const workspaces = new Map<string, Map<string, Type>>();
  let left = LISTED_TOTAL_MAX;
  for (const { key, value } of new ProjectionRows(reader, statisticsProjection.name).range(
    statisticsRange(only),
  )) {
    const row = decodeStatisticsRow(key, value);
    const types = workspaces.get(row.workspace) ?? new Map<string, Type>();
    workspaces.set(row.workspace, types);
    const type = types.get(row.nodeType) ?? newType(row.nodeType);
    types.set(row.nodeType, type);
    if (addRow(type, row, left > 0)) left -= 1;
    yield;
  }
  return [...workspaces].map(([name, types]) => ({
    name,
    nodeTypes: [...types.values()].map(({ days, ...type }) => ({
      ...type,
      oldestChange: days[0] as string,
      newestChange: days.at(-1) as string,
    })),
  }));
}

function newType(name: string): Type {
  const counts = Object.fromEntries(nodeNumbers.map((each) => [each, 0])) as Counts;
  return { name, ...counts, days: [], archetypes: [], locales: [], relations: [], properties: [] };
}

/** @param mayList whether it may be an entry of a list @returns whether it is one */
function addRow(type: Type, { facet, name, numbers }: StatisticsRow, mayList: boolean): boolean {
  if (facet === 'nodes') {
    for (const [index, each] of nodeNumbers.entries()) type[each] += numbers[index] as number;
    return false;
  }
  if (facet === 'days') {
    // In order; the ones between are not shown.
    if (type.days.length === 2) type.days.pop();
    type.days.push(name);
    return false;
  }
  const count = numbers.reduce((sum, number) => sum + number, 0);
  if (!mayList || type[facet].length >= LISTED_MAX) {
    type.notListed += count;
    return false;
  }
  if (facet === 'properties') {
    const kinds = jsonKinds.flatMap((kind, index) => (numbers[index] === 0 ? [] : [[kind, numbers[index]]]));
    type.properties.push({
      name,
      nodes: count,
      kinds: Object.fromEntries(kinds) as PropertyStatistics['kinds'],
    });
  } else type[facet].push({ name, count });
  return true;
}
