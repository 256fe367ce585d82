import { atOnce } from '#runtime/base/event-loop/at-once.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BranchTable, underParts } from '#runtime/shard/key-layout.ts';
import { textBytes } from '#runtime/shard/binary-key.ts';
import { RELATIONS_MAX, withRelation } from '#actors/branch/nodes/relations.ts';
import type { Relation } from '#runtime/content/content-node.ts';
import type { JsonText } from '#runtime/content/values/json-text.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { HeadNodeReader } from '#runtime/tree/node-reader.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { type BranchFixture, callerWith, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;
const failsWith = (code: string) => expect.objectContaining({ code });

describe('relations between nodes', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    const anything = { allowed_node_types: [], allowed_root_node_types: [] };
    branch = await openBranch({ workspaces: { other: anything } });
  });
  afterAll(async () => {
    expect(await branch.inspect(findDamage)).toEqual([]);
    await branch.close();
  });

  interface Edge {
    readonly relationType?: string;
    readonly weight?: number | null;
    readonly targetWorkspace?: string;
  }
  const relate = (
    path: string,
    targetPath: string,
    edge: Edge = {},
    caller?: ReturnType<typeof callerWith>,
  ) =>
    branch.command(
      {
        type: 'AddRelation',
        workspace,
        place: { path },
        targetPath,
        targetWorkspace: workspace,
        relationType: 'references',
        weight: null,
        ...edge,
      },
      caller,
    );
  const unrelate = (path: string, targetPath: string, relationType?: string) =>
    branch.command({
      type: 'RemoveRelation',
      workspace,
      place: { path },
      targetWorkspace: workspace,
      targetPath,
      ...(relationType === undefined ? {} : { relationType }),
    });
  const incoming = (id: string) =>
    branch.inspect((reader) => {
      const range = underParts(workspace, textBytes(id), 'relation');
      return [...reader.range(BranchTable.references, range)].length;
    });

  it('are shown by the source and found from the target; removing reports whether there was one [CMD-043]', async () => {
    const source = await branch.create('/source');
    const target = await branch.create('/target');
    await relate('/source', '/target', { relationType: 'likes', weight: 0.5 });
    const edge = {
      target: target.id,
      workspace,
      target_node_type: 'svc:Folder',
      relation_type: 'likes',
      weight: 0.5,
    };
    expect(await branch.read('/source')).toMatchObject({ id: source.id, relations: [edge], version: 2 });
    expect(await incoming(target.id)).toBe(1);
    expect(await branch.read('/target')).toEqual(target);
    expect(await unrelate('/source', '/target')).toEqual({ removed: true, revision: expect.any(String) });
    expect(await unrelate('/source', '/target')).toEqual({ removed: false, revision: null });
    expect(await branch.read('/source')).toMatchObject({ relations: [], version: 3 });
    expect(await incoming(target.id)).toBe(0);
  });

  it('do not find a target that is missing [CMD-044]', async () => {
    await branch.create('/lone');
    await expect(relate('/lone', '/nobody')).rejects.toEqual(failsWith('NODE_NOT_FOUND'));
    await expect(relate('/lone', '/')).rejects.toEqual(failsWith('NODE_NOT_FOUND'));
    const elsewhere = relate('/lone', '/x', { targetWorkspace: 'nowhere' });
    await expect(elsewhere).rejects.toEqual(failsWith('WORKSPACE_NOT_FOUND'));
    await expect(relate('/nobody', '/lone')).rejects.toEqual(failsWith('NODE_NOT_FOUND'));
  });

  it('exist once for a source, target and type; repeating updates the weight [CMD-045]', async () => {
    await branch.create('/s1');
    await branch.create('/t1');
    await relate('/s1', '/t1', { weight: 1 });
    await relate('/s1', '/t1', { relationType: 'likes', weight: 5 });
    await relate('/s1', '/t1', { weight: 2 });
    expect((await branch.read('/s1')).relations.map((edge) => [edge.relation_type, edge.weight])).toEqual([
      ['references', 2],
      ['likes', 5],
    ]);
    expect(await relate('/s1', '/t1', { weight: 2 })).toEqual({ revision: null });
    expect(await unrelate('/s1', '/t1', 'likes')).toMatchObject({ removed: true });
    expect((await branch.read('/s1')).relations).toHaveLength(1);
  });

  it('follow a target that moves, and reach other workspaces', async () => {
    await branch.create('/s2');
    const target = await branch.create('/t2');
    await relate('/s2', '/t2');
    await branch.command({ type: 'RenameNode', workspace, place: { path: '/t2' }, newName: 't2-moved' });
    expect(await unrelate('/s2', '/t2')).toMatchObject({ removed: false });
    expect((await branch.read('/s2')).relations).toEqual([expect.objectContaining({ target: target.id })]);
    expect(await unrelate('/s2', '/t2-moved')).toMatchObject({ removed: true });
    const far = { name: 'far', nodeType: 'svc:Folder', properties: {} };
    await branch.command({ type: 'CreateNode', workspace: 'other', parentPath: '/', node: far, deep: false });
    await relate('/s2', '/far', { targetWorkspace: 'other' });
    expect((await branch.read('/s2')).relations).toEqual([expect.objectContaining({ workspace: 'other' })]);
  });

  it('are hidden while the target is deleted, from sources in any workspace, and remain stored [CMD-049]', async () => {
    await branch.create('/s3');
    await branch.create('/s3/below');
    const target = await branch.create('/t3');
    await branch.create('/u3');
    await relate('/s3', '/t3');
    await relate('/s3', '/u3', { relationType: '","relations":[' });
    await relate('/s3/below', '/t3');
    const shownWays = () =>
      Promise.all([
        branch.query({ type: 'ReadNode', workspace, place: { path: '/s3' } }),
        branch.query({ type: 'ReadNode', workspace, place: { path: '/s3' }, lang: 'de' }),
        branch.query({ type: 'ListChildren', workspace, place: { path: '/' }, scope: '' }),
        branch.query({ type: 'ListChildren', workspace, place: { path: '/s3' }, scope: '', limit: 5 }),
        branch.query({ type: 'ReadTree', workspace, place: { path: '/s3' }, levels: 1, form: 'map' }),
        branch.query({ type: 'RunQuery', workspace, selector: { path: '/s3' } }),
        branch.query({ type: 'RunDslQuery', workspace, filter: { name: { eq: 's3' } } }),
      ]).then((answers) => JSON.stringify(answers));
    const before = await branch.query({ type: 'ReadRelations', workspace, place: { path: '/s3' } });
    expect(await shownWays()).toContain(target.id);
    const { revision } = await branch.command({ type: 'DeleteNode', workspace, place: { path: '/t3' } });
    expect(await shownWays()).not.toContain(target.id);
    const shown = await branch.read('/s3');
    expect(shown.relations).toEqual([expect.objectContaining({ relation_type: '","relations":[' })]);
    expect(shown.version).toBe(3);
    // What is written back, copied or read at an earlier revision shows what there is of it.
    const update = { type: 'UpdateNode', workspace, place: { path: '/s3' }, properties: {} } as const;
    expect((JSON.parse((await branch.command(update)).node) as typeof shown).relations).toEqual(
      shown.relations,
    );
    expect(
      await branch.inspect(
        (reader) => atOnce(new HeadNodeReader(reader).byPathInSteps(workspace, '/s3'))?.header.relations,
      ),
    ).toHaveLength(2);
    await branch.command({
      type: 'RevertRevisions',
      which: { revisions: [revision as string] },
      dryRun: false,
    });
    expect(await shownWays()).toContain(target.id);
    expect(await branch.query({ type: 'ReadRelations', workspace, place: { path: '/s3' } })).toEqual(before);
    const then = await branch.read('/s3', parseRevision(revision as string));
    expect(then.relations).toEqual(shown.relations);
  });

  it('to deleted nodes change the entity tag of the source', async () => {
    await branch.create('/s7');
    const tagOf = async () =>
      ((await branch.ask({ type: 'ReadNode', workspace, place: { path: '/s7' }, tagged: true })) as JsonText)
        .tag as string;
    for (const name of ['t7', 'u7', 'v7']) {
      await branch.create(`/${name}`);
      await relate('/s7', `/${name}`);
    }
    const tags = [await tagOf()];
    for (const name of ['t7', 'u7']) {
      await branch.command({ type: 'DeleteNode', workspace, place: { path: `/${name}` } });
      tags.push(await tagOf());
    }
    expect(new Set(tags).size).toBe(3);
    const tag = tags.at(-1) as string;
    const unless = {
      type: 'ReadNode',
      workspace,
      place: { path: '/s7' },
      tagged: true,
      unless: [tag],
    } as const;
    expect(await branch.ask(unless)).toEqual({ unchanged: tag });
    const place = { path: '/s7' };
    const update = {
      type: 'UpdateNode',
      workspace,
      place,
      properties: {},
      expected: { match: [tag] },
    } as const;
    const { tag: written } = await branch.command(update);
    expect(written).toBe(await tagOf());
    await expect(branch.command(update)).rejects.toEqual(failsWith('PRECONDITION_FAILED'));
  });

  it('to a deleted node can be removed by its last path', async () => {
    await branch.create('/s8');
    await branch.create('/t8');
    await relate('/s8', '/t8');
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/t8' } });
    expect(await unrelate('/s8', '/t8')).toMatchObject({ removed: true });
    expect((await branch.read('/s8')).version).toBe(3);
  });

  it('go with the source when it is deleted', async () => {
    await branch.create('/s4');
    const target = await branch.create('/t4');
    await relate('/s4', '/t4');
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/s4' } });
    expect(await incoming(target.id)).toBe(0);
  });

  it('refuse types and weights that are none, and more than a node can hold', async () => {
    await branch.create('/s5');
    await branch.create('/t5');
    for (const relationType of ['', '  ', 'a\u0000b', 'x'.repeat(256), '\ud800'])
      await expect(relate('/s5', '/t5', { relationType })).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    for (const weight of [Number.NaN, Number.POSITIVE_INFINITY])
      await expect(relate('/s5', '/t5', { weight })).rejects.toEqual(failsWith('VALIDATION_FAILED'));
  });

  it('are bounded in number for one node; the ones it has can still be changed', () => {
    const edge = (relation_type: string, weight: number | null = null): Relation => ({
      target: 't',
      workspace,
      target_node_type: 'svc:Folder',
      relation_type,
      weight,
    });
    const full = Array.from({ length: RELATIONS_MAX }, (_, index) => edge(`r${index}`));
    const always = () => true;
    expect(withRelation(full.slice(1), edge('r0'), always)).toHaveLength(RELATIONS_MAX);
    expect(() => withRelation(full, edge('one-more'), always)).toThrow(failsWith('VALIDATION_FAILED'));
    expect(withRelation(full, edge('r7', 3), always)?.[7]).toEqual(edge('r7', 3));
    expect(withRelation(full, edge('r7'), always)).toBeNull();
    const gone = { ...edge('r0'), target: 'gone' };
    const isThere = (_: string, id: string) => id !== 'gone';
    expect(withRelation(full.with(0, gone), edge('one-more'), isThere)).toEqual([
      ...full.slice(1),
      edge('one-more'),
    ]);
    expect(withRelation([gone], edge('one-more'), isThere)).toHaveLength(2);
  });

  it('ask for relate on the source and read on the target, and for unrelate', async () => {
    await branch.create('/s6');
    await branch.create('/t6');
    const without = (denied: string, at: string) =>
      callerWith((operation, { path }) => operation !== denied || path !== at);
    await expect(relate('/s6', '/t6', {}, without('relate', '/s6'))).rejects.toEqual(
      failsWith('PERMISSION_DENIED'),
    );
    await expect(relate('/s6', '/t6', {}, without('read', '/t6'))).rejects.toEqual(
      failsWith('NODE_NOT_FOUND'),
    );
    await expect(relate('/s6', '/t6', {}, without('read', '/s6'))).rejects.toEqual(
      failsWith('NODE_NOT_FOUND'),
    );
    await relate('/s6', '/t6', {}, without('update', '/s6'));
    const remove = {
      type: 'RemoveRelation',
      workspace,
      place: { path: '/s6' },
      targetWorkspace: workspace,
      targetPath: '/t6',
    } as const;
    await expect(branch.command(remove, without('unrelate', '/s6'))).rejects.toEqual(
      failsWith('PERMISSION_DENIED'),
    );
  });
});
