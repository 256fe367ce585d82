import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { MergeResult } from '#actors/branch/merge-messages.ts';
import type { RevertResult } from '#actors/branch/revert-messages.ts';
import type { ActorBehaviour, ActorKind } from '#runtime/commit/behaviour.ts';
import { NodeRecord } from '#runtime/tree/record/node-record.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';

const NODES = 1_500;

/** Above what one step of sorting looks at. */
const STEP_MAX = 1_000;

/** Most nodes of which one step of a command has used the header. */
let most = 0;

/** Branches that count the nodes which each step of a command uses. */
const watched = (kind: ActorKind): ActorKind => ({
  ...kind,
  create(context) {
    const behaviour = kind.create(context) as ActorBehaviour;
    const { execute } = behaviour;
    behaviour.execute = (command, turn) =>
      counted(execute.call(behaviour, command, turn) as Generator<unknown, unknown>);
    return behaviour;
  },
});

const { prototype } = NodeRecord;
const header = Object.getOwnPropertyDescriptor(prototype, 'header') as PropertyDescriptor;

function* counted(steps: Generator<unknown, unknown>): Generator<unknown, unknown> {
  for (;;) {
    const used = new Set<NodeRecord>();
    const get = function (this: NodeRecord): unknown {
      used.add(this);
      return header.get?.call(this);
    };
    Object.defineProperty(prototype, 'header', { ...header, get });
    try {
      const step = steps.next();
      if (step.done === true) return step.value;
    } finally {
      Object.defineProperty(prototype, 'header', header);
      most = Math.max(most, used.size);
    }
    yield;
  }
}

describe('the changes of many nodes', () => {
  let family: BranchFamily;
  let merged: string;

  beforeAll(async () => {
    family = await BranchFamily.open(watched);
    await family.fork('side', 'main');
    const operations = Array.from({ length: NODES }, (_, index) => {
      const node = { name: `n${index}`, nodeType: 'svc:Folder', properties: {} };
      return { type: 'create', parentPath: '/', node } as const;
    });
    const commit = { message: 'many' };
    await family.command('side', { type: 'CommitOperations', workspace: WORKSPACE, commit, operations });
    await family.create('main', '/own', 'own', 'own');
    most = 0;
  });
  afterEach(() => {
    most = 0;
  });
  afterAll(() => family.close());

  it('are listed in steps by a merge', async () => {
    const result = await family.command<MergeResult>('main', {
      type: 'MergeBranch',
      source: family.actor('side'),
      sourceName: 'side',
      strategy: 'ThreeWay',
      dryRun: false,
    });
    expect(result).toMatchObject({ success: true, nodes_changed: NODES });
    merged = result.head;
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(STEP_MAX);
  });

  it('are listed in steps by a revert', async () => {
    const which = { revisions: [merged] };
    const command = { type: 'RevertRevisions', which, dryRun: false } as const;
    const result = await family.command<RevertResult>('main', command);
    expect(result).toMatchObject({ success: true, nodes_changed: NODES });
    expect(most).toBeGreaterThan(0);
    expect(most).toBeLessThan(STEP_MAX);
  });
});
