import type { BranchQuery } from '#actors/branch/messages.ts';
import type { NodePlace } from '#actors/branch/read-messages.ts';
import { formatRevision, type Revision } from '#runtime/content/revision.ts';
import { WORKSPACE as workspace } from '#test/support/branch-fixture.ts';
import type { HiddenWorld } from './hidden-world.ts';

/** A place that the caller names: of the hidden node, or one where nothing is. */
export interface NamedPlace {
  readonly path: string;
  readonly id: string;
}

/** How a kind of message is tested. */
export type Surface<Message> =
  /** It names a node: the answer is the same whether the node is hidden or missing. */
  | {
      readonly kind: 'node';
      readonly attempts: (named: NamedPlace, world: HiddenWorld) => readonly Message[];
    }
  /** It shows many nodes: the answer has no trace of the hidden ones. */
  | { readonly kind: 'whole'; readonly attempts: (world: HiddenWorld) => readonly Message[] }
  /** It is refused for every caller with roles. */
  | { readonly kind: 'refused'; readonly attempt: Message }
  /** It shows no node. */
  | { readonly kind: 'open' }
  /** Tested there. */
  | { readonly kind: 'elsewhere'; readonly test: string };

/** The surface of each query. The record is total: a new query does not compile until it is placed. */
export type QuerySurfaces = {
  readonly [K in BranchQuery['type']]: Surface<Extract<BranchQuery, { type: K }>>;
};

function places({ id, path }: NamedPlace): readonly NodePlace[] {
  return [{ path }, { id }];
}

/** A read of one node, by path and by id, now and at a revision. */
function reads<Message>(
  read: (common: { workspace: string; place: NodePlace; at?: Revision }) => Message,
): Surface<Message> {
  return {
    kind: 'node',
    attempts: (named, { at }) =>
      places(named).flatMap((place) => [read({ workspace, place }), read({ workspace, place, at })]),
  };
}

const address = { workspace, id: 'seen-id' };

/** How each query is tested. */
export const querySurfaces: QuerySurfaces = {
  ReadNode: {
    kind: 'node',
    attempts: (named, { at }) =>
      places(named).flatMap((place) => [
        { type: 'ReadNode', workspace, place },
        { type: 'ReadNode', workspace, place, at },
        { type: 'ReadNode', workspace, place, lang: 'de' },
        { type: 'ReadNode', workspace, place, fields: ['title'] },
        { type: 'ReadNode', workspace, place, expand: ['to'] },
        { type: 'ReadNode', workspace, place, unless: '*', tagged: true },
      ]),
  },
  ReadProperty: reads((common) => ({ type: 'ReadProperty', ...common, property: ['title'] })),
  ListChildren: {
    kind: 'node',
    attempts: (named) =>
      places(named).flatMap((place) => [
        { type: 'ListChildren', workspace, place, scope: 's' },
        { type: 'ListChildren', workspace, place, scope: 's', limit: 2 },
      ]),
  },
  ListIncomingReferences: reads((common) => ({
    type: 'ListIncomingReferences',
    ...common,
    scope: 's',
    limit: 10,
  })),
  ReadTree: {
    kind: 'node',
    attempts: (named) =>
      (['flat', 'array', 'map'] as const).flatMap((form) =>
        places(named).map((place) => ({ type: 'ReadTree', workspace, place, levels: 3, form }) as const),
      ),
  },
  RunQuery: {
    kind: 'node',
    attempts: ({ id, path }) => [
      { type: 'RunQuery', workspace, selector: { path } },
      { type: 'RunQuery', workspace, selector: { parent: path } },
      { type: 'RunQuery', workspace, selector: { parent: id } },
    ],
  },
  RunDslQuery: {
    kind: 'node',
    attempts: ({ id, path }) =>
      [{ id: { eq: id } }, { path: { eq: path } }, { or: [{ path: { eq: path } }] }].map((filter) => ({
        type: 'RunDslQuery',
        workspace,
        filter,
      })),
  },
  RunSql: {
    kind: 'node',
    attempts: ({ id, path }, { at }) =>
      [
        `SELECT * FROM '${workspace}' WHERE path = '${path}'`,
        `SELECT * FROM '${workspace}' WHERE id = '${id}'`,
        `SELECT COUNT(*) AS n FROM '${workspace}' WHERE id = '${id}' OR path = '${path}'`,
        `SELECT name FROM '${workspace}' WHERE CHILD_OF('${path}')`,
        `SELECT id FROM '${workspace}' WHERE DESCENDANT_OF('${path}')`,
        `SELECT id FROM '${workspace}' WHERE REFERENCES('${workspace}:${path}')`,
        `SELECT EXISTS (SELECT 1 FROM '${workspace}' WHERE id = '${id}') AS e`,
        `SELECT a.id FROM '${workspace}' a JOIN '${workspace}' b ON a.parent_path = b.path WHERE b.id = '${id}'`,
        `SELECT * FROM '${workspace}' WHERE path = '${path}' AND __revision = '${formatRevision(at)}'`,
      ].map((sql) => ({ type: 'RunSql', sql, parameters: [] })),
  },
  MatchBySql: {
    kind: 'node',
    attempts: ({ id, path }, { at }) =>
      [
        `UPDATE '${workspace}' SET name = 'x' WHERE id = '${id}' OR path = '${path}'`,
        `DELETE FROM '${workspace}' WHERE DESCENDANT_OF('${path}')`,
        `DELETE FROM '${workspace}' WHERE id = '${id}'`,
      ].flatMap((sql) => [
        { type: 'MatchBySql', sql, parameters: [], limit: 9 },
        { type: 'MatchBySql', sql, parameters: [], limit: 9, at },
      ]),
  },
  ReadBulkProgress: { kind: 'refused', attempt: { type: 'ReadBulkProgress', job: 'j' } },
  LendBranch: {
    kind: 'refused',
    attempt: { type: 'LendBranch', principal: { kind: 'system', tenant: 'acme' } },
  },
  ReadHistory: reads((common) => ({ type: 'ReadHistory', ...common })),
  ReadAudit: reads((common) => ({ type: 'ReadAudit', ...common })),
  ReadVersions: {
    kind: 'node',
    attempts: (named) =>
      places(named).flatMap((place) => [
        { type: 'ReadVersions', workspace, place },
        { type: 'ReadVersions', workspace, place, version: 1 },
      ]),
  },
  ReadRelations: reads((common) => ({ type: 'ReadRelations', ...common })),
  ListTranslations: reads((common) => ({ type: 'ListTranslations', ...common })),
  ReadStaleness: reads((common) => ({ type: 'ReadStaleness', ...common, locale: 'de' })),
  ListRevisions: {
    kind: 'whole',
    attempts: () => [{ type: 'ListRevisions', limit: 1_000, offset: 0, includeSystem: true }],
  },
  ReadRevision: {
    kind: 'whole',
    attempts: ({ revisions }) => revisions.map((each) => ({ type: 'ReadRevision', revision: each })),
  },
  ReadRevisionChanges: {
    kind: 'whole',
    attempts: ({ revisions }) => revisions.map((each) => ({ type: 'ReadRevisionChanges', revision: each })),
  },
  ValidateNode: {
    kind: 'whole',
    attempts: () => [
      {
        type: 'ValidateNode',
        workspace,
        node: { name: 'new', nodeType: 'test:Document', properties: { code: 'classified code' } },
      },
    ],
  },
  CompareBranch: { kind: 'open' },
  DiffBranch: { kind: 'elsewhere', test: 'test/actors/branch/pair/diff-details.test.ts' },
  ListConflicts: {
    kind: 'refused',
    attempt: { type: 'ListConflicts', source: 'acme/site~1/other~1/branch' } as never,
  },
  ReadStatistics: { kind: 'refused', attempt: { type: 'ReadStatistics' } },
  ReadBuiltIns: { kind: 'refused', attempt: { type: 'ReadBuiltIns' } },
  FindUsers: { kind: 'refused', attempt: { type: 'FindUsers', by: { userId: 'ada' } } },
  ReadGrants: {
    kind: 'refused',
    attempt: { type: 'ReadGrants', principal: { kind: 'anonymous', tenant: 'acme' } },
  },
  ReadOwnAccess: { kind: 'elsewhere', test: 'test/actors/branch/access/caller-permissions.test.ts' },
  ReadGraph: { kind: 'refused', attempt: { type: 'ReadGraph', revision: '1-0' } },
  ReadChanged: {
    kind: 'refused',
    attempt: { type: 'ReadChanged', revisions: [], from: { revision: 0, part: 0 } },
  },
  ReadRecordPart: { kind: 'refused', attempt: { type: 'ReadRecordPart', revision: '1-0', part: 0 } },
  ReadStates: { kind: 'refused', attempt: { type: 'ReadStates', at: '1-0', nodes: [address] } },
  ReadDefinitionStates: {
    kind: 'refused',
    attempt: { type: 'ReadDefinitionStates', at: '1-0', definitions: [] },
  },
  ReadUniqueHolder: {
    kind: 'refused',
    attempt: {
      type: 'ReadUniqueHolder',
      workspace,
      nodeType: 'test:Document',
      property: 'code',
      value: '"x"',
    },
  },
  ReadEventsAfter: { kind: 'refused', attempt: { type: 'ReadEventsAfter', after: '1-0' } },
  CountOrphanedVersions: { kind: 'refused', attempt: { type: 'CountOrphanedVersions' } },
  CountLeftovers: { kind: 'refused', attempt: { type: 'CountLeftovers' } },
  CountPendingIndexes: { kind: 'refused', attempt: { type: 'CountPendingIndexes' } },
  ReadPendingSince: { kind: 'refused', attempt: { type: 'ReadPendingSince' } },
  ReadConsumerBatch: { kind: 'refused', attempt: { type: 'ReadConsumerBatch', name: 'statistics' } },
  ReadConsumers: { kind: 'refused', attempt: { type: 'ReadConsumers' } },
  IsFeedAhead: { kind: 'refused', attempt: { type: 'IsFeedAhead' } },
  ListDefinitions: { kind: 'open' },
  ReadDefinition: { kind: 'open' },
  ResolveDefinition: { kind: 'open' },
  ReadBranchState: { kind: 'open' },
};

/** Reads of places that may be seen, in which hidden nodes must leave no trace. */
export const wholeReads: readonly BranchQuery[] = [
  ...['/open', '/open/seen', '/open/seen/leaf', '/open/second'].flatMap((path): readonly BranchQuery[] => {
    const common = { workspace, place: { path } };
    return [
      { type: 'ReadNode', ...common, tagged: true },
      { type: 'ReadNode', ...common, expand: ['to'], fields: ['title'] },
      { type: 'ListChildren', ...common, scope: 's' },
      { type: 'ListChildren', ...common, scope: 's', limit: 100 },
      { type: 'ListChildren', ...common, scope: 's', fields: ['title'] },
      { type: 'ReadTree', ...common, levels: 4, form: 'flat' },
      { type: 'ReadTree', ...common, levels: 1, form: 'array' },
      { type: 'ReadTree', ...common, levels: 4, form: 'map' },
      { type: 'ReadRelations', ...common },
      { type: 'ListIncomingReferences', ...common, scope: 's', limit: 10 },
      { type: 'ReadHistory', ...common },
      { type: 'ReadAudit', ...common },
      { type: 'ReadVersions', ...common },
      { type: 'RunQuery', workspace, selector: { parent: path } },
    ];
  }),
  { type: 'ListChildren', workspace, place: { path: '/' }, scope: 's' },
  { type: 'RunQuery', workspace, selector: { nodeType: 'test:Concealed' } },
  { type: 'RunQuery', workspace, selector: { nodeType: 'test:Document' }, limit: 100 },
  { type: 'RunDslQuery', workspace, filter: { 'properties.status': { ne: 'seen' } } },
  { type: 'RunDslQuery', workspace, filter: { order_by: { 'properties.title': 'desc' } } },
  ...[
    `SELECT * FROM '${workspace}' ORDER BY path`,
    `SELECT id FROM '${workspace}' WHERE properties->>'status' <> 'seen'`,
    `SELECT properties->>'title' AS t FROM '${workspace}' ORDER BY t DESC`,
    `SELECT ARRAY_AGG(id) AS ids, MAX(path) AS last FROM '${workspace}'`,
    `SELECT a.id AS x, b.id AS y FROM '${workspace}' a LEFT JOIN '${workspace}' b ON b.parent_path = a.path`,
    `SELECT id FROM '${workspace}' WHERE path IN (SELECT path FROM '${workspace}') ORDER BY __tree_order`,
    `SELECT LEAD(id) OVER (ORDER BY path) AS next FROM '${workspace}'`,
  ].map((sql): BranchQuery => ({ type: 'RunSql', sql, parameters: [] })),
];
