import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CommitOperation } from '#actors/branch/messages.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { readBranchHead, readChanges, readRevision } from '#runtime/tree/revision-store.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;
const failsWith = (code: string) => expect.objectContaining({ code });
const folder = { nodeType: 'svc:Folder', properties: {} };

describe('a commit of several operations', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch();
  });
  afterAll(async () => {
    expect(await branch.inspect(findDamage)).toEqual([]);
    await branch.close();
  });

  const commit = (operations: readonly CommitOperation[], message = 'work') =>
    branch.command({
      type: 'CommitOperations',
      workspace,
      commit: { message, actor: 'grete' },
      operations,
    });
  const create = (path: string, properties = {}): CommitOperation => {
    const slash = path.lastIndexOf('/');
    const node = { ...folder, name: path.slice(slash + 1), properties };
    return { type: 'create', parentPath: path.slice(0, slash) || '/', node };
  };
  const revisionOf = (revision: string) =>
    branch.inspect((reader) => {
      const record = readRevision(reader, parseRevision(revision));
      return { record, changes: record === undefined ? [] : readChanges(reader, record) };
    });

  it('of three creates is one revision that names all three [COMMIT-001] [COMMIT-007]', async () => {
    const before = await branch.inspect((reader) => readBranchHead(reader).revisions);
    const { revision, operations_count } = await commit([create('/c1'), create('/c2'), create('/c3')]);
    expect(operations_count).toBe(3);
    expect(await branch.inspect((reader) => readBranchHead(reader).revisions)).toBe(before + 1);
    const { record, changes } = await revisionOf(revision as string);
    expect(record).toMatchObject({ message: 'work', actor: 'grete', isSystem: false });
    expect(changes.map(({ operation, path }) => [operation, path])).toEqual([
      ['added', '/c1'],
      ['added', '/c2'],
      ['added', '/c3'],
    ]);
  });

  it('takes every kind of operation [COMMIT-005]', async () => {
    const ids: Record<string, string> = {};
    for (const name of ['upd', 'del', 'mov', 'ren', 'src', 'dst'])
      ids[name] = (await branch.create(`/${name}`, { description: name })).id;
    await branch.create('/src/child');
    const { operations_count } = await commit([
      create('/all'),
      { type: 'update', nodeId: ids.upd as string, properties: { description: 'new' } },
      { type: 'delete', nodeId: ids.del as string },
      { type: 'move', nodeId: ids.mov as string, newPath: '/dst/moved' },
      { type: 'rename', nodeId: ids.ren as string, newName: 'renamed' },
      { type: 'copy', sourcePath: '/src', targetParent: '/dst' },
      { type: 'copy_tree', sourcePath: '/src', targetParent: '/dst', newName: 'whole' },
    ]);
    expect(operations_count).toBe(7);
    expect(await branch.read('/upd')).toMatchObject({ properties: { description: 'new' } });
    expect(await branch.isMissing('/del')).toBe(true);
    expect(await branch.read('/dst/moved')).toMatchObject({ id: ids.mov });
    expect(await branch.read('/renamed')).toMatchObject({ id: ids.ren });
    expect(await branch.isMissing('/dst/src/child')).toBe(true);
    expect(await branch.read('/dst/whole/child')).toMatchObject({ parent: 'whole' });
  });

  it('merges keys on update [COMMIT-003]', async () => {
    const { id } = await branch.create('/merge', { a: 1, b: { x: 1 }, c: 3 });
    const properties = JSON.parse('{"b":{"y":2},"d":4,"__proto__":{"own":true}}');
    await commit([{ type: 'update', nodeId: id, properties }]);
    const { $supertypes, $mixins, ...stored } = (await branch.read('/merge')).properties;
    expect(Object.entries(stored)).toEqual([
      ['a', 1],
      ['b', { y: 2 }],
      ['c', 3],
      ['d', 4],
      ['__proto__', { own: true }],
    ]);
  });

  it('lets later operations see earlier ones [COMMIT-006]', async () => {
    const own = { ...folder, id: 'made-here', name: 'seen' };
    const { revision } = await commit([
      { type: 'create', parentPath: '/', node: own },
      create('/seen/child'),
      { type: 'update', nodeId: 'made-here', properties: { description: 'x' } },
      { type: 'rename', nodeId: 'made-here', newName: 'seen2' },
      { type: 'copy_tree', sourcePath: '/seen2', targetParent: '/', newName: 'seen3' },
      { type: 'move', nodeId: 'made-here', newPath: '/seen3/inside' },
      create('/seen'),
    ]);
    expect(await branch.read('/seen3/inside/child')).toMatchObject({ parent: 'inside' });
    expect(await branch.read('/seen')).toMatchObject({ version: 1 });
    const { changes } = await revisionOf(revision as string);
    expect(new Set(changes.map(({ operation }) => operation))).toEqual(new Set(['added']));
    expect(changes).toHaveLength(5);
    expect(changes.map(({ path }) => path)).toContain('/seen3/inside');
  });

  it('can swap two nodes, and every earlier revision still shows them where they were', async () => {
    const [a, b] = [await branch.create('/a', { is: 'a' }), await branch.create('/b', { is: 'b' })];
    const { revision } = await commit([create('/marker')]);
    await commit([
      { type: 'rename', nodeId: a.id, newName: 'tmp' },
      { type: 'rename', nodeId: b.id, newName: 'a' },
      { type: 'rename', nodeId: a.id, newName: 'b' },
    ]);
    expect([(await branch.read('/a')).id, (await branch.read('/b')).id]).toEqual([b.id, a.id]);
    expect(await branch.isMissing('/tmp')).toBe(true);
    const at = parseRevision(revision as string);
    expect([(await branch.read('/a', at)).id, (await branch.read('/b', at)).id]).toEqual([a.id, b.id]);
  });

  it('leaves nothing behind when an operation fails, and reports which one [COMMIT-004]', async () => {
    const { id } = await branch.create('/stays', { n: 1 });
    const before = await branch.inspect((reader) => readBranchHead(reader));
    const failing = commit([
      create('/gone1'),
      { type: 'update', nodeId: id, properties: { n: 2 } },
      { type: 'delete', nodeId: 'nobody' },
      create('/gone2'),
    ]);
    await expect(failing).rejects.toMatchObject({
      code: 'NODE_NOT_FOUND',
      message: expect.stringMatching(/^Operation 2 \(delete\): /),
      field: 'operations.2',
      details: { operation: 2 },
    });
    const invalid = commit([create('/gone1'), create('/gone1')]);
    await expect(invalid).rejects.toMatchObject({ code: 'VALIDATION_FAILED', details: { operation: 1 } });
    expect(await branch.isMissing('/gone1')).toBe(true);
    expect(await branch.read('/stays')).toMatchObject({ version: 1, properties: { n: 1 } });
    expect(await branch.inspect((reader) => readBranchHead(reader))).toEqual(before);
  });

  it('refuses an empty list, an empty message and an unknown operation [COMMIT-002]', async () => {
    await expect(commit([])).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    await expect(commit([create('/m')], '  ')).rejects.toEqual(failsWith('VALIDATION_FAILED'));
    const unknown = { type: 'explode', nodeId: 'x' } as unknown as CommitOperation;
    await expect(commit([create('/m'), unknown])).rejects.toMatchObject({
      code: 'VALIDATION_FAILED',
      field: 'operations.1.type',
    });
    expect(await branch.isMissing('/m')).toBe(true);
  });

  it('has no revision when its operations undo each other', async () => {
    const own = { ...folder, id: 'short-lived', name: 'short-lived' };
    const answer = await commit([
      { type: 'create', parentPath: '/', node: own },
      { type: 'delete', nodeId: 'short-lived' },
    ]);
    expect(answer).toEqual({ revision: null, operations_count: 2 });
  });

  it('holds the bound on operations', async () => {
    const small = await openBranch({ commitNodesMax: 60 });
    try {
      const operations = Array.from({ length: 61 }, (_, index) => create(`/n${index}`));
      const command = { type: 'CommitOperations', workspace, commit: { message: 'many' } } as const;
      await expect(small.command({ ...command, operations })).rejects.toEqual(failsWith('COMMIT_TOO_LARGE'));
      expect(await small.command({ ...command, operations: operations.slice(1) })).toMatchObject({
        operations_count: 60,
      });
    } finally {
      await small.close();
    }
  });
});
