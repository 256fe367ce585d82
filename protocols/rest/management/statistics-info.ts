import type { BranchStatistics } from '#actors/branch/statistics-messages.ts';
import type { JsonSchema } from '#protocols/http/route.ts';
import type { NamedCount, TypeStatistics, WorkspaceStatistics } from '#runtime/statistics/read-statistics.ts';
import { jsonKinds } from '#runtime/tree/record/property-kinds.ts';

const text = { type: 'string' } as const;
const integer = { type: 'integer' } as const;

/** Numbers of a workspace and of a type. */
const sums = {
  nodes: integer,
  published: { ...integer, description: 'Nodes that are published.' },
  versions: { ...integer, description: 'Writes of these nodes over all time.' },
  property_bytes: { ...integer, description: 'Bytes of their properties as JSON, without translations.' },
  oldest_change: {
    ...text,
    format: 'date',
    description: 'The day on which the node was written that has not been written for the longest time.',
  },
  newest_change: { ...text, format: 'date' },
} as const;

function countsOf(described: string, what: string, counted: string): JsonSchema {
  return {
    type: 'array',
    description: described,
    items: { type: 'object', properties: { [what]: text, [counted]: integer } },
  };
}

const propertySchema = {
  type: 'object',
  properties: {
    name: text,
    nodes: { ...integer, description: 'Nodes that have it, also with the value null.' },
    kinds: {
      type: 'object',
      description: 'Nodes by the kind of its value. Kinds that no node has are left out.',
      properties: Object.fromEntries(jsonKinds.map((kind) => [kind, integer])),
    },
  },
} as const;

const typeSchema = {
  type: 'object',
  properties: {
    name: text,
    ...sums,
    archetypes: countsOf('Nodes by archetype.', 'name', 'nodes'),
    locales: countsOf('Nodes by the locales they are translated to.', 'locale', 'nodes'),
    relations: countsOf('Relations that lead from these nodes, by type.', 'relation_type', 'count'),
    properties: { type: 'array', items: propertySchema },
    not_listed: {
      ...integer,
      description:
        'Values, translations and relations that the lists do not show: of properties of a node beyond its 1,000th, of names of more than 255 bytes, and of entries of a list beyond the 1,000th, or of all lists beyond the 20,000th.',
    },
  },
} as const;

/** JSON Schema of the statistics of a branch. */
export const statisticsSchema: JsonSchema = Object.freeze({
  type: 'object',
  properties: {
    state: {
      ...text,
      enum: ['building', 'following', 'failed'],
      description:
        '`building`: the nodes are counted. `following`: all are, and commits are taken in. `failed`: the count cannot go on because of `error`; it tries again when the branch is written or the statistics are read.',
    },
    revision: {
      type: ['string', 'null'],
      description:
        'The statistics are exactly those of this revision. Null while they are built, and while a commit of many nodes is taken in, part by part.',
    },
    lag: {
      type: ['integer', 'null'],
      description:
        'Later commits, merges and moves of the head that are not taken in yet. Null while they are built.',
    },
    progress: {
      type: ['number', 'null'],
      description: 'While they are built: the part that is counted, from 0 to 1.',
    },
    error: { type: ['string', 'null'] },
    workspaces: {
      type: 'array',
      description: 'Workspaces with nodes, by name. Empty while they are built.',
      items: {
        type: 'object',
        properties: { name: text, ...sums, node_types: { type: 'array', items: typeSchema } },
      },
    },
  },
});

/** The answer to a request that begins to build them. */
export const beginningJson = Object.freeze({
  state: 'building',
  revision: null,
  lag: null,
  progress: 0,
  error: null,
  workspaces: [],
});

/** The statistics of a branch on the wire. */
export function statisticsJson({ projection, workspaces }: BranchStatistics): object {
  const { failure, lag, progress, revision, state } = projection;
  return { state, revision, lag, progress, error: failure, workspaces: workspaces.map(workspaceJson) };
}

function workspaceJson({ name, nodeTypes }: WorkspaceStatistics): object {
  const sum = (of: (type: TypeStatistics) => number): number =>
    nodeTypes.reduce((total, type) => total + of(type), 0);
  return {
    name,
    nodes: sum(({ nodes }) => nodes),
    published: sum(({ published }) => published),
    versions: sum(({ versions }) => versions),
    property_bytes: sum(({ propertyBytes }) => propertyBytes),
    oldest_change: nodeTypes.map(({ oldestChange }) => oldestChange).sort()[0],
    newest_change: nodeTypes
      .map(({ newestChange }) => newestChange)
      .sort()
      .at(-1),
    node_types: nodeTypes.map(typeJson),
  };
}

function typeJson(type: TypeStatistics): object {
  return {
    name: type.name,
    nodes: type.nodes,
    published: type.published,
    versions: type.versions,
    property_bytes: type.propertyBytes,
    oldest_change: type.oldestChange,
    newest_change: type.newestChange,
    archetypes: countsJson(type.archetypes, 'name', 'nodes'),
    locales: countsJson(type.locales, 'locale', 'nodes'),
    relations: countsJson(type.relations, 'relation_type', 'count'),
    properties: type.properties,
    not_listed: type.notListed,
  };
}

function countsJson(counts: readonly NamedCount[], what: string, counted: string): readonly object[] {
  return counts.map(({ count, name }) => ({ [what]: name, [counted]: count }));
}
