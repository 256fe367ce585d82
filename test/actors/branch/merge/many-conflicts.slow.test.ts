import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import type { CommitOperation } from '#actors/branch/messages.ts';
import type { ActorBehaviour, ActorKind } from '#runtime/commit/behaviour.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';

/** Nodes that both branches change differently: more than the conflicts that are listed, by more than is read at a time. */
const NODES = 12_000;
const refusal = { code: 'VALIDATION_FAILED', message: 'There are more than 10000 conflicts' };

let family: BranchFamily;
/** Nodes that were asked of other branches. */
let asked = 0;

const watched = (kind: ActorKind): ActorKind => ({
  ...kind,
  create(context) {
    const behaviour = kind.create(context) as ActorBehaviour;
    const { query } = behaviour;
    behaviour.query = (what, asking) => {
      const { nodes, type } = what as { readonly type: string; readonly nodes?: readonly unknown[] };
      if (type === 'ReadStates') asked += nodes?.length ?? 0;
      return query.call(behaviour, what, asking);
    };
    return behaviour;
  },
});

const commit = (
  branch: string,
  operation: (id: string) => CommitOperation,
  nodes = NODES,
): Promise<unknown> =>
  family.command(branch, {
    type: 'CommitOperations',
    workspace: WORKSPACE,
    commit: { message: 'm' },
    operations: Array.from({ length: nodes }, (_, index) => operation(`n${index}`)),
  });

beforeAll(async () => {
  family = await BranchFamily.open(watched);
  await commit('main', (id) => ({
    type: 'create',
    parentPath: '/',
    node: { id, name: id, nodeType: 'svc:Folder', properties: { title: 'base' } },
  }));
  await family.fork('far', 'main');
  for (const title of ['main', 'far'])
    await commit(title, (nodeId) => ({ type: 'update', nodeId, properties: { title } }));
});
beforeEach(() => {
  asked = 0;
});
afterAll(() => family.close());

it('no more nodes are read when a merge has too many conflicts', async () => {
  const source = family.actor('far');
  const merge = {
    type: 'MergeBranch',
    source,
    sourceName: 'far',
    strategy: 'ThreeWay',
    dryRun: true,
  } as const;
  await expect(family.command('main', merge)).rejects.toMatchObject(refusal);
  expect(asked).toBeGreaterThan(10_000);
  expect(asked).toBeLessThan(11_000);
});

it('no more nodes are read when a list of conflicts would be too long', async () => {
  const list = family.query('main', { type: 'ListConflicts', source: family.actor('far') });
  await expect(list).rejects.toMatchObject(refusal);
  expect(asked).toBeLessThan(11_000);
});

it('nodes that one side only reordered and the other one deleted are no conflicts, however many', async () => {
  const nodes = 10_001;
  for (const branch of ['ordered', 'emptied']) await family.fork(branch, 'main');
  await family.create('ordered', '/elsewhere', '', 'elsewhere');
  // A node that comes back to its parent is the last one there.
  for (const place of ['/elsewhere', ''])
    await commit('ordered', (nodeId) => ({ type: 'move', nodeId, newPath: `${place}/${nodeId}` }), nodes);
  await commit('emptied', (nodeId) => ({ type: 'delete', nodeId }), nodes);
  for (const [target, source] of [
    ['ordered', 'emptied'],
    ['emptied', 'ordered'],
  ] as const) {
    const query = { type: 'ListConflicts', source: family.actor(source) } as const;
    expect(await family.query(target, query)).toMatchObject({ conflicts: [] });
  }
});
