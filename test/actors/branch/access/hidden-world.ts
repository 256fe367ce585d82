import type { BranchCommand, BranchQuery } from '#actors/branch/messages.ts';
import type { Caller } from '#runtime/commit/behaviour.ts';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { type BranchFixture, openBranch, WORKSPACE as workspace } from '#test/support/branch-fixture.ts';
import { roleCaller } from '#test/support/role-caller.ts';

/** Every operation. */
export const operations = ['create', 'read', 'update', 'delete', 'translate', 'relate', 'unrelate'];

const document = (name: string): JsonObject => ({
  name,
  auditable: true,
  properties: [
    { name: 'title', type: 'String', index: ['Property'], is_translatable: true },
    { name: 'secret', type: 'String', index: ['Property'], is_translatable: true },
    { name: 'code', type: 'String', unique: true },
    { name: 'status', type: 'String' },
  ],
});

/** A node that a caller may not read, among others that the caller may read. */
export interface HiddenWorld {
  readonly branch: BranchFixture;
  /** A revision at which all nodes are there. */
  readonly at: Revision;
  /** All revisions. */
  readonly revisions: readonly Revision[];
}

/** The hidden node. Nothing that a caller gets may have one of these texts. */
export const hidden = {
  id: 'hidden-id',
  path: '/open/concealed',
  below: '/open/concealed/beneath',
  traces: ['hidden-', 'concealed', 'beneath', 'classified', '"eve"'],
} as const;

/** A path at which nothing ever was. */
export const missing = { path: '/open/nothing', id: 'nothing-id' } as const;

/** Ways in which a role does not permit to read the hidden node, and permits everything else. */
export const hidings: Readonly<Record<string, JsonValue>> = {
  'by its path': [
    { path: '/open', operations },
    { path: '/open/seen/**', operations },
    { path: '/open/second', operations },
    { path: '/open/made/**', operations },
  ],
  'by its type': [{ path: '**', operations, node_types: ['test:Document'] }],
  'by a property': [{ path: '**', operations, condition: "node.status == 'seen'" }],
  'by who created it': [{ path: '**', operations, condition: 'node.created_by == auth.user_id' }],
  'by a relation': [{ path: '**', operations, condition: "node.id RELATES 'root-of-seen' VIA 'SHOWS'" }],
};

/** The caller to whom nodes are hidden in one of these ways. */
export function callerTo(way: string): Caller {
  return roleCaller(hidings[way] as JsonValue, { identity: 'ada' });
}

const ada = roleCaller([{ path: '**', operations }], { identity: 'ada' });
const eve = roleCaller([{ path: '**', operations }], { identity: 'eve' });

/** Makes the nodes. */
export async function openHiddenWorld(): Promise<HiddenWorld> {
  const branch = await openBranch({
    nodeTypes: [document('test:Document'), document('test:Concealed')],
  });
  const create = (path: string, id: string, caller: Caller, more: JsonObject = {}): Promise<unknown> => {
    const slash = path.lastIndexOf('/');
    const isHidden = caller === eve;
    const node = {
      id,
      name: path.slice(slash + 1),
      nodeType: isHidden ? 'test:Concealed' : 'test:Document',
      properties: { title: path, status: isHidden ? 'classified' : 'seen', ...more },
    };
    const parentPath = path.slice(0, slash) || '/';
    return branch.command({ type: 'CreateNode', workspace, parentPath, node, deep: false }, caller);
  };
  const relate = (from: string, to: string, relationType: string): Promise<unknown> =>
    branch.command(
      {
        type: 'AddRelation',
        workspace,
        place: { path: from },
        targetWorkspace: workspace,
        targetPath: to,
        relationType,
        weight: null,
      },
      ada,
    );
  await create('/open', 'root-of-seen', ada);
  await create('/open/seen', 'seen-id', ada, { code: 'one' });
  await create('/open/seen/leaf', 'leaf-id', ada);
  await create('/open/second', 'second-id', ada);
  await create(hidden.path, hidden.id, eve, {
    code: 'classified code',
    secret: 'classified secret',
    to: { 'svc:ref': 'seen-id', 'svc:workspace': workspace },
  });
  await create(hidden.below, 'beneath-id', eve);
  // A node of which all children are hidden.
  await create('/open/second/concealed', 'hidden-child', eve);
  for (const path of ['/open', '/open/seen', '/open/seen/leaf', '/open/second'])
    await relate(path, '/open', 'SHOWS');
  await relate('/open/seen', hidden.path, 'KNOWS');
  await relate(hidden.path, '/open/seen', 'KNOWS');
  await branch.command({ type: 'CreateVersion', workspace, place: { path: hidden.path } }, eve);
  await branch.command({ type: 'CreateVersion', workspace, place: { path: '/open/seen' } }, ada);
  await branch.command(
    {
      type: 'TranslateNode',
      workspace,
      place: { path: hidden.path },
      locale: 'de',
      translations: { '/title': 'classified title' },
    },
    eve,
  );
  const { head } = (await branch.query({ type: 'ReadBranchState' })) as { head: string };
  const listed = await branch.query({ type: 'ListRevisions', limit: 1_000, offset: 0, includeSystem: true });
  const { revisions } = listed as { revisions: readonly { revision: string }[] };
  return {
    branch,
    at: parseRevision(head),
    revisions: revisions.map(({ revision }) => parseRevision(revision)),
  };
}

/** What an attempt comes to, without what differs from one time to another. */
export async function outcomeOf(attempt: () => unknown): Promise<string> {
  try {
    return plainText(JSON.stringify({ answer: await attempt() }));
  } catch (error) {
    const { code, details, field, message } = error as Record<string, unknown>;
    if (code === undefined) throw error;
    return plainText(JSON.stringify({ code, message, field, details }));
  }
}

/** A text without revisions, new ids and times, in which both places without a readable node have one name. */
export function plainText(text: string): string {
  return text
    .replaceAll(/\d{10,}-\d+/g, '(revision)')
    .replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '(new id)')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '(time)')
    .replaceAll(/"execution_time_ms":[\d.]+/g, '(time)')
    .replaceAll(hidden.below, '(no place)')
    .replaceAll(`${missing.path}/beneath`, '(no place)')
    .replaceAll(hidden.path, '(no place)')
    .replaceAll(missing.path, '(no place)')
    .replaceAll(hidden.id, '(no id)')
    .replaceAll(missing.id, '(no id)');
}

/** Asks a query for a caller. */
export function ask(world: HiddenWorld, query: BranchQuery, caller: Caller): Promise<string> {
  return outcomeOf(() => world.branch.query(query, caller));
}

/** Sends a command for a caller. */
export function send(world: HiddenWorld, command: BranchCommand, caller: Caller): Promise<string> {
  return outcomeOf(() => world.branch.command(command, caller));
}
