import type { BranchCommand } from '#actors/branch/messages.ts';
import type { NodePlace } from '#actors/branch/read-messages.ts';
import { WORKSPACE as workspace } from '#test/support/branch-fixture.ts';
import type { NamedPlace, Surface } from './query-surfaces.ts';

/** The surface of each command. The record is total: a new command does not compile until it is placed. */
export type CommandSurfaces = {
  readonly [K in BranchCommand['type']]: Surface<Extract<BranchCommand, { type: K }>>;
};

/** A command on one node, by path and by id. */
function writes<Message>(
  write: (common: { workspace: string; place: NodePlace }) => readonly Message[],
): Surface<Message> {
  return {
    kind: 'node',
    attempts: ({ id, path }) => [{ path }, { id }].flatMap((place) => write({ workspace, place })),
  };
}

const seen = { workspace, place: { path: '/open/seen' } };
const node = { name: 'new', nodeType: 'test:Document', properties: { title: 'new', status: 'seen' } };
const other = { source: 'acme/site~1/other~1/branch', sourceName: 'other', dryRun: true } as const;
const commit = { message: 'Attempt' };

/** How each command is tested. */
export const commandSurfaces: CommandSurfaces = {
  CreateNode: {
    kind: 'node',
    attempts: ({ path }: NamedPlace) => [
      { type: 'CreateNode', workspace, parentPath: path, node, deep: false },
      { type: 'CreateNode', workspace, parentPath: path, node, deep: false, expected: { noneMatch: '*' } },
    ],
  },
  UpdateNode: writes((common) => [{ type: 'UpdateNode', ...common, properties: { title: 'x' } }]),
  PatchNode: writes((common) => [
    { type: 'PatchNode', ...common, properties: { title: 'x' } },
    { type: 'PatchNode', ...common, expected: { version: 7 } },
  ]),
  SetProperty: writes((common) => [{ type: 'SetProperty', ...common, property: ['title'], value: 'x' }]),
  RemoveProperty: writes((common) => [{ type: 'RemoveProperty', ...common, property: ['secret'] }]),
  DeleteNode: writes((common) => [{ type: 'DeleteNode', ...common }]),
  RenameNode: writes((common) => [{ type: 'RenameNode', ...common, newName: 'renamed' }]),
  MoveNode: {
    kind: 'node',
    attempts: ({ id, path }) => [
      { type: 'MoveNode', workspace, place: { path }, targetPath: '/open/seen/moved' },
      { type: 'MoveNode', workspace, place: { id }, targetPath: '/open/seen/moved' },
      { type: 'MoveNode', workspace, place: { path: '/open/seen/leaf' }, targetPath: `${path}/moved` },
    ],
  },
  CopyNode: {
    kind: 'node',
    attempts: ({ path }) => [
      { type: 'CopyNode', workspace, place: { path }, targetPath: '/open/seen/copy', tree: true },
      { type: 'CopyNode', ...seen, targetPath: `${path}/copy`, tree: false },
    ],
  },
  ReorderNode: {
    kind: 'node',
    attempts: ({ path }) => [
      { type: 'ReorderNode', workspace, place: { path }, targetPath: '/open/seen', position: 'before' },
      { type: 'ReorderNode', ...seen, targetPath: path, position: 'before' },
    ],
  },
  PublishNode: writes((common) => [
    { type: 'PublishNode', ...common, publish: true, tree: false },
    { type: 'PublishNode', ...common, publish: false, tree: true },
  ]),
  CreateVersion: writes((common) => [{ type: 'CreateVersion', ...common }]),
  RestoreVersion: writes((common) => [{ type: 'RestoreVersion', ...common, version: 1 }]),
  AddRelation: {
    kind: 'node',
    attempts: ({ path }) => [
      {
        type: 'AddRelation',
        workspace,
        place: { path },
        targetWorkspace: workspace,
        targetPath: '/open/seen',
        relationType: 'LIKES',
        weight: null,
      },
      {
        type: 'AddRelation',
        ...seen,
        targetWorkspace: workspace,
        targetPath: path,
        relationType: 'LIKES',
        weight: null,
      },
    ],
  },
  RemoveRelation: {
    kind: 'node',
    attempts: ({ path }) => [
      {
        type: 'RemoveRelation',
        workspace,
        place: { path },
        targetWorkspace: workspace,
        targetPath: '/open/seen',
      },
      // They are related.
      { type: 'RemoveRelation', ...seen, targetWorkspace: workspace, targetPath: path },
    ],
  },
  TranslateNode: writes((common) => [
    { type: 'TranslateNode', ...common, locale: 'de', translations: { '/title': 'x' } },
  ]),
  ChangeLocale: writes((common) =>
    (['delete-translation', 'hide', 'unhide'] as const).map((change) => ({
      type: 'ChangeLocale',
      ...common,
      locale: 'de',
      change,
    })),
  ),
  AcknowledgeStaleness: writes((common) => [
    { type: 'AcknowledgeStaleness', ...common, locale: 'de', pointer: '/title' },
  ]),
  CommitOperations: {
    kind: 'node',
    attempts: ({ id, path }) =>
      (
        [
          { type: 'create', parentPath: path, node },
          { type: 'update', nodeId: id, properties: { title: 'x' } },
          { type: 'update', nodeId: id, properties: { title: 'x' }, version: 7 },
          { type: 'delete', nodeId: id },
          { type: 'move', nodeId: id, newPath: '/open/seen/moved' },
          { type: 'move', nodeId: 'leaf-id', newPath: `${path}/moved` },
          { type: 'rename', nodeId: id, newName: 'renamed' },
          { type: 'copy', sourcePath: path, targetParent: '/open/seen' },
          { type: 'copy_tree', sourcePath: '/open/seen/leaf', targetParent: path },
        ] as const
      ).map((operation) => ({ type: 'CommitOperations', workspace, commit, operations: [operation] })),
  },
  ChangeBySql: {
    kind: 'node',
    attempts: ({ id, path }) =>
      [
        `UPDATE '${workspace}' SET properties = properties || '{"title":"x"}' WHERE path = '${path}'`,
        `UPDATE '${workspace}' SET name = 'renamed' WHERE id = '${id}'`,
        `UPDATE '${workspace}' SET path = '${path}/moved' WHERE path = '/open/seen/leaf'`,
        `UPDATE '${workspace}' SET owner_id = 'x' WHERE id = '${id}' RETURNING *`,
        `DELETE FROM '${workspace}' WHERE path = '${path}' RETURNING *`,
        `DELETE FROM '${workspace}' WHERE id = '${id}'`,
        `INSERT INTO '${workspace}' (path, node_type, properties) VALUES ('${path}/new', 'test:Document', '{"title":"x"}')`,
        `UPSERT INTO '${workspace}' (path, node_type, properties) VALUES ('${path}/new', 'test:Document', '{"title":"x"}')`,
        `INSERT INTO '${workspace}' (path, node_type) SELECT '/open/' || name, node_type FROM '${workspace}' WHERE id = '${id}'`,
        `UPDATE '${workspace}' SET owner_id = 'x' WHERE id = '${id}' OR path = '${path}'`,
        `DELETE FROM '${workspace}' WHERE DESCENDANT_OF('${path}') RETURNING id`,
        `SELECT * FROM '${workspace}' WHERE id = '${id}'`,
        `MOVE '${workspace}' SET id = '${id}' TO path = '/open/seen'`,
        `COPY TREE '${workspace}' SET path = '${path}' TO path = '/open/seen'`,
        `ORDER '${workspace}' SET path = '/open/seen' ABOVE path = '${path}'`,
        `RELATE FROM path = '/open/seen' IN WORKSPACE '${workspace}' TO path = '${path}' IN WORKSPACE '${workspace}'`,
        `RESTORE NODE id = '${id}' IN WORKSPACE '${workspace}' TO REVISION HEAD~1`,
        `UPDATE '${workspace}' FOR LOCALE 'de' SET title = 'x' WHERE path = '${path}'`,
      ].map((sql) => ({ type: 'ChangeBySql', sql, parameters: [], isTransaction: true, dryRun: true })),
  },
  ChangeSomeBySql: {
    kind: 'node',
    attempts: ({ id }) =>
      ["SET owner_id = 'x'", ''].map((change, index) => ({
        type: 'ChangeSomeBySql',
        sql: `${change === '' ? 'DELETE FROM' : 'UPDATE'} '${workspace}' ${change} WHERE node_type = 'test:Document'`,
        parameters: [],
        ids: [id],
        job: `${id}-${index}-0123456789`,
        part: 1,
        total: 1,
      })),
  },
  ForgetBulkProgress: { kind: 'refused', attempt: { type: 'ForgetBulkProgress', job: 'j' } },
  PutDefinition: {
    kind: 'refused',
    attempt: { type: 'PutDefinition', kind: 'node_type', definition: { name: 'test:Other' } },
  },
  DeleteDefinition: {
    kind: 'refused',
    attempt: { type: 'DeleteDefinition', kind: 'node_type', name: 'test:Document' },
  },
  PublishDefinition: {
    kind: 'refused',
    attempt: { type: 'PublishDefinition', kind: 'node_type', name: 'test:Document', publish: true },
  },
  MoveHead: { kind: 'refused', attempt: { type: 'MoveHead', revision: '0-0' } },
  BecomeFork: { kind: 'refused', attempt: { type: 'BecomeFork', sourceName: 'main' } },
  RemoveOrphanedVersions: { kind: 'refused', attempt: { type: 'RemoveOrphanedVersions', rowsMax: 1 } },
  RemoveLeftovers: { kind: 'refused', attempt: { type: 'RemoveLeftovers', rowsMax: 1 } },
  BuildIndexes: { kind: 'refused', attempt: { type: 'BuildIndexes', nodesMax: 1 } },
  MergeBranch: { kind: 'refused', attempt: { type: 'MergeBranch', ...other, strategy: 'ThreeWay' } },
  ResolveMerge: { kind: 'refused', attempt: { type: 'ResolveMerge', ...other, resolutions: [] } },
  RevertRevisions: {
    kind: 'refused',
    attempt: { type: 'RevertRevisions', which: { revisions: ['1-0'] }, dryRun: true },
  },
  InstallBuiltIns: { kind: 'refused', attempt: { type: 'InstallBuiltIns' } },
  InstallWorkspace: { kind: 'refused', attempt: { type: 'InstallWorkspace', workspace } },
  RegisterConsumer: { kind: 'refused', attempt: { type: 'RegisterConsumer', name: 'statistics' } },
  RemoveConsumer: { kind: 'refused', attempt: { type: 'RemoveConsumer', name: 'statistics' } },
  ConsumeFeed: { kind: 'refused', attempt: { type: 'ConsumeFeed', name: 'statistics' } },
  MoveConsumer: {
    kind: 'refused',
    attempt: { type: 'MoveConsumer', name: 'statistics', from: null, to: null as never },
  },
  BuildProjection: { kind: 'refused', attempt: { type: 'BuildProjection', name: 'statistics' } },
  DropProjection: { kind: 'refused', attempt: { type: 'DropProjection', name: 'statistics' } },
};
