import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseRevision, type Revision } from '#runtime/content/revision.ts';
import {
  administrator,
  type BranchFixture,
  callerWith,
  openBranch,
  WORKSPACE,
} from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;

interface Relations {
  readonly outgoing: readonly {
    readonly target: string;
    readonly relation_type: string;
    readonly weight: number;
  }[];
  readonly incoming: readonly {
    readonly source_workspace: string;
    readonly source_node_id: string;
    readonly relation: { readonly target: string; readonly relation_type: string };
  }[];
}

describe('reading relations', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch({
      workspaces: { other: { allowed_node_types: [], allowed_root_node_types: [] } },
    });
  });
  afterAll(() => branch.close());

  const read = async (path: string, at?: Revision, caller = administrator) =>
    (await branch.query(
      { type: 'ReadRelations', workspace, place: { path }, ...(at === undefined ? {} : { at }) },
      caller,
    )) as Relations;
  const relate = (
    path: string,
    targetPath: string,
    relationType = 'references',
    targetWorkspace = workspace,
  ) =>
    branch.command({
      type: 'AddRelation',
      workspace,
      place: { path },
      targetWorkspace,
      targetPath,
      relationType,
      weight: 1,
    });

  it('shows both ends, several types and other workspaces [CMD-047]', async () => {
    const a = await branch.create('/a');
    const b = await branch.create('/b');
    await branch.command({
      type: 'CreateNode',
      workspace: 'other',
      parentPath: '/',
      node: { name: 'o', nodeType: 'svc:Folder', properties: {}, id: 'o' },
      deep: false,
    });
    await relate('/a', '/b', 'likes');
    await relate('/a', '/b', 'knows');
    await relate('/a', '/o', 'sees', 'other');
    await relate('/b', '/a', 'likes');
    const edge = (target: string, relation_type: string, inside = workspace) => ({
      target,
      workspace: inside,
      target_node_type: 'svc:Folder',
      relation_type,
      weight: 1,
    });
    const incoming = (id: string, relation: object) => ({
      source_workspace: workspace,
      source_node_id: id,
      relation,
    });
    expect(await read('/a')).toEqual({
      outgoing: [edge(b.id, 'likes'), edge(b.id, 'knows'), edge('o', 'sees', 'other')],
      incoming: [incoming(b.id, edge(a.id, 'likes'))],
    });
    const { incoming: toB } = await read('/b');
    expect(toB.map((entry) => entry.relation.relation_type).sort()).toEqual(['knows', 'likes']);
    const query = { type: 'ReadRelations', workspace: 'other', place: { path: '/o' } } as const;
    expect(await branch.query(query)).toEqual({
      outgoing: [],
      incoming: [incoming(a.id, edge('o', 'sees', 'other'))],
    });
    expect(await read('/b').then(({ outgoing }) => outgoing.length)).toBe(1);
  });

  it('leaves out ends that are gone or may not be read', async () => {
    for (const path of ['/m', '/n', '/x']) await branch.create(path);
    await relate('/m', '/x');
    await relate('/x', '/m');
    await relate('/n', '/m');
    const caller = callerWith((_operation, { path }) => path !== '/x');
    const seen = await read('/m', undefined, caller);
    expect(seen.outgoing).toEqual([]);
    expect(seen.incoming.map((entry) => entry.source_node_id)).toEqual([(await branch.read('/n')).id]);
    expect((await read('/m')).incoming.length).toBe(2);
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/x' } });
    expect(await read('/m')).toEqual(seen);
  });

  it('leaves ends that may not be read out of the node itself, now and at a revision', async () => {
    for (const path of ['/from', '/shown', '/hidden']) await branch.create(path);
    await relate('/from', '/shown');
    const { revision } = (await relate('/from', '/hidden')) as { readonly revision: string };
    const caller = callerWith((_operation, { path }) => path !== '/hidden');
    const { id } = await branch.read('/shown');
    for (const at of [{}, { at: parseRevision(revision) }]) {
      const query = { type: 'ReadNode', workspace, place: { path: '/from' }, ...at } as const;
      const node = (await branch.query(query, caller)) as { readonly relations: Relations['outgoing'] };
      expect(node.relations.map(({ target }) => target)).toEqual([id]);
    }
  });

  it('reads relations as of a revision, after any later change of either end', async () => {
    const [s, t, u] = [await branch.create('/s'), await branch.create('/tt'), await branch.create('/u')];
    await relate('/s', '/tt', 'r');
    await relate('/u', '/tt', 'r');
    const { revision } = await relate('/s', '/u', 'r');
    const at = parseRevision(revision as string);
    await branch.command({
      type: 'RemoveRelation',
      workspace,
      place: { path: '/s' },
      targetWorkspace: workspace,
      targetPath: '/tt',
    });
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/u' } });
    await branch.create('/later');
    await relate('/later', '/tt', 'r');
    const past = await read('/tt', at);
    expect(past.incoming.map((entry) => entry.source_node_id).sort()).toEqual([s.id, u.id].sort());
    expect((await read('/s', at)).outgoing.map((edge) => edge.target)).toEqual([t.id, u.id]);
    expect((await read('/u', at)).incoming.map((entry) => entry.source_node_id)).toEqual([s.id]);
    expect((await read('/s')).outgoing).toEqual([]);
    expect((await read('/tt')).incoming.length).toBe(1);
    await expect(read('/u')).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' });
  });
});
