import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  administrator,
  type BranchFixture,
  callerWith,
  openBranch,
  WORKSPACE,
} from '#test/support/branch-fixture.ts';
import type { NodePlace } from '#actors/branch/read-messages.ts';

const workspace = WORKSPACE;
const refusal = (code: string) => expect.objectContaining({ code });

interface HistoryEntry {
  readonly revision: string;
  readonly updated_at: string;
  readonly updated_by: string;
  readonly deleted: boolean;
  readonly message: string;
  readonly is_system: boolean;
}

interface AuditEntry {
  readonly action: string;
  readonly node_id: string;
  readonly path: string;
  readonly workspace: string;
  readonly user_id: string;
  readonly timestamp: string;
  readonly details: unknown;
}

describe('the history and the audit log of a node', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch({
      nodeTypes: [
        { name: 'test:Quiet', auditable: false },
        { name: 'test:Watched', auditable: true },
      ],
    });
  });
  afterAll(() => branch.close());

  const history = async (place: NodePlace, limit?: number, caller = administrator) =>
    (await branch.query(
      { type: 'ReadHistory', workspace, place, ...(limit === undefined ? {} : { limit }) },
      caller,
    )) as HistoryEntry[];
  const audit = async (place: NodePlace, limit?: number, caller = administrator) =>
    (await branch.query(
      { type: 'ReadAudit', workspace, place, ...(limit === undefined ? {} : { limit }) },
      caller,
    )) as AuditEntry[];
  const update = (path: string, n: number, message?: string) =>
    branch.command({
      type: 'UpdateNode',
      workspace,
      place: { path },
      properties: { n },
      ...(message === undefined ? {} : { commit: { message, actor: 'grace', isSystem: true } }),
    });

  it('lists every revision that wrote the node, newest first, with what each said [HIST-003]', async () => {
    const node = await branch.create('/h', { n: 0 }, 'test:Quiet');
    const { revision: second } = await update('/h', 1, 'second');
    await branch.create('/h/child', {}, 'test:Quiet');
    const { revision: third } = await branch.command({
      type: 'RenameNode',
      workspace,
      place: { path: '/h' },
      newName: 'h2',
      commit: { message: 'renamed' },
    });
    const entries = await history({ path: '/h2' });
    expect(entries.map((entry) => [entry.message, entry.deleted, entry.is_system])).toEqual([
      ['renamed', false, false],
      ['second', false, true],
      [`Created node: ${node.id}`, false, false],
    ]);
    expect(entries[0]?.revision).toBe(third);
    expect(entries[1]).toEqual({
      revision: second,
      updated_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      updated_by: 'ada',
      deleted: false,
      message: 'second',
      is_system: true,
    });
    expect(await history({ id: node.id })).toEqual(entries);
    expect(await history({ id: node.id }, 2)).toEqual(entries.slice(0, 2));
    expect(await history({ id: node.id }, 0)).toEqual([]);
  });

  it('is kept for types that are not auditable, and goes on by id and by path after deletion [HIST-004] [HIST-005]', async () => {
    const node = await branch.create('/gone', { n: 0 }, 'test:Quiet');
    await update('/gone', 1);
    const { revision } = await branch.command({
      type: 'DeleteNode',
      workspace,
      place: { path: '/gone' },
      commit: { message: 'away', actor: 'grace' },
    });
    const entries = await history({ id: node.id });
    expect(entries.map((entry) => entry.deleted)).toEqual([true, false, false]);
    expect(entries[0]).toEqual({
      revision,
      updated_at: expect.any(String),
      updated_by: 'grace',
      deleted: true,
      message: 'away',
      is_system: false,
    });
    expect(await history({ path: '/gone' })).toEqual(entries);
    expect(await history({ id: node.id }, 1)).toEqual(entries.slice(0, 1));
  });

  it('means by a path the node that is there now, and else the one that was there last', async () => {
    const first = await branch.create('/place', {}, 'test:Quiet');
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/place' } });
    const second = await branch.create('/place', {}, 'test:Quiet');
    expect(await history({ path: '/place' })).toEqual(await history({ id: second.id }));
    await branch.command({
      type: 'MoveNode',
      workspace,
      place: { path: '/place' },
      targetPath: '/elsewhere',
    });
    expect(await history({ path: '/place' })).toEqual(await history({ id: second.id }));
    expect((await history({ id: first.id })).length).toBe(2);
    await expect(history({ path: '/never' })).rejects.toEqual(refusal('NODE_NOT_FOUND'));
    await expect(history({ id: 'never' })).rejects.toEqual(refusal('NODE_NOT_FOUND'));
    await expect(history({ path: '/' })).rejects.toEqual(refusal('NODE_NOT_FOUND'));
  });

  it('covers both lives of an id that was used again, and none that no revision showed', async () => {
    const create = (id: string, name: string) => ({
      type: 'create' as const,
      parentPath: '/',
      node: { id, name, nodeType: 'test:Quiet', properties: {} },
    });
    const commit = { message: 'at once' };
    await branch.command({
      type: 'CommitOperations',
      workspace,
      commit,
      operations: [create('again', 'again')],
    });
    await branch.command({ type: 'DeleteNode', workspace, place: { id: 'again' } });
    await branch.command({
      type: 'CommitOperations',
      workspace,
      commit,
      operations: [create('again', 'again-2')],
    });
    expect((await history({ id: 'again' })).map((entry) => entry.deleted)).toEqual([false, true, false]);
    await branch.command({
      type: 'CommitOperations',
      workspace,
      commit,
      operations: [create('flash', 'flash'), { type: 'delete', nodeId: 'flash' }, create('stays', 'stays')],
    });
    await expect(history({ id: 'flash' })).rejects.toEqual(refusal('NODE_NOT_FOUND'));
    await expect(history({ path: '/flash' })).rejects.toEqual(refusal('NODE_NOT_FOUND'));
  });

  it('is hidden when the caller may not read the current or last path of the node', async () => {
    await branch.create('/open', {}, 'test:Watched');
    await branch.create('/secret', {}, 'test:Watched');
    await branch.command({
      type: 'MoveNode',
      workspace,
      place: { path: '/open' },
      targetPath: '/secret/was-open',
    });
    const caller = callerWith((_operation, { path }) => !path.startsWith('/secret'));
    const hidden = { code: 'NODE_NOT_FOUND', message: "Node at path '/open' not found" };
    await expect(history({ path: '/open' }, undefined, caller)).rejects.toMatchObject(hidden);
    await expect(audit({ path: '/open' }, undefined, caller)).rejects.toMatchObject(hidden);
    expect((await history({ path: '/open' })).length).toBe(2);
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/secret' } });
    await expect(history({ path: '/secret' }, undefined, caller)).rejects.toEqual(refusal('NODE_NOT_FOUND'));
  });

  it('audits types that ask for it, newest first, after deletion too [HIST-006]', async () => {
    const node = await branch.create('/w', { n: 0 }, 'test:Watched');
    await update('/w', 1);
    await branch.command({ type: 'DeleteNode', workspace, place: { path: '/w' } });
    const entries = await audit({ id: node.id });
    expect(entries.map((entry) => entry.action)).toEqual(['Delete', 'Update', 'Create']);
    expect(entries[1]).toEqual({
      id: expect.any(String),
      node_id: node.id,
      path: '/w',
      workspace,
      user_id: 'ada',
      action: 'Update',
      timestamp: expect.any(String),
      details: null,
    });
    expect(await audit({ path: '/w' })).toEqual(entries);
    expect(await audit({ path: '/w' }, 1)).toEqual(entries.slice(0, 1));
  });

  it('has no audit entries of types that do not ask for it, while history has all [HIST-007] [EASY-012]', async () => {
    const node = await branch.create('/quiet', { n: 0 }, 'test:Quiet');
    await update('/quiet', 1);
    expect(await audit({ id: node.id })).toEqual([]);
    expect((await history({ id: node.id })).length).toBe(2);
    await expect(audit({ id: 'never' })).rejects.toEqual(refusal('NODE_NOT_FOUND'));
  });

  it('answers a long history whole', async () => {
    const { id } = await branch.create('/busy', { n: 0 }, 'test:Quiet');
    await Promise.all(Array.from({ length: 1500 }, (_, n) => update('/busy', n)));
    const entries = await history({ id });
    expect(entries.length).toBe(1501);
    expect(entries[0]?.revision).not.toBe(entries[1]?.revision);
    expect(await history({ id }, 700)).toEqual(entries.slice(0, 700));
  });
});
