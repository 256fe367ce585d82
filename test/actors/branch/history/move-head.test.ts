import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { branchActor } from '#actors/branch/branch-actor.ts';
import { actorId } from '#runtime/actor/actor-id.ts';
import type { NewJob } from '#runtime/jobs/job.ts';
import { enqueueJob, withOutbox } from '#runtime/jobs/outbox.ts';
import { findDamage } from '#test/support/branch-checker.ts';
import { BranchFamily } from '#test/support/branch-family.ts';
import { type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';
import { callers, HostFixture } from '#test/support/host-fixture.ts';

describe('moving the head of a branch', () => {
  let branch: BranchFixture;

  beforeEach(async () => {
    branch = await openBranch();
  });

  afterEach(() => branch.close());

  it('to before everything leaves nothing, and the shipped types are wanted again', async () => {
    await branch.create('/a');
    await branch.command({ type: 'MoveHead', revision: '0-0' });
    expect(await branch.isMissing('/a')).toBe(true);
    expect(await branch.query({ type: 'ReadBranchState' })).toMatchObject({
      head: '0-0',
      builtInsPending: true,
    });
    await branch.command({ type: 'InstallBuiltIns' });
    await branch.create('/b');
    expect(await branch.isMissing('/a')).toBe(true);
    await branch.inspect((reader) => expect(findDamage(reader)).toEqual([]));
  });

  it('refuses a revision the branch does not have, and changes nothing', async () => {
    await branch.create('/a');
    const moving = branch.command({ type: 'MoveHead', revision: '7-7' });
    await expect(moving).rejects.toMatchObject({ code: 'REVISION_NOT_FOUND' });
    expect(await branch.isMissing('/a')).toBe(false);
  });

  it('is for administrators, and so is making a branch a fork', async () => {
    await branch.create('/a');
    const before = await branch.query({ type: 'ReadBranchState' });
    for (const [caller, code] of [
      [callers.otherTenant, 'FORBIDDEN'],
      [callers.anonymous, 'UNAUTHORIZED'],
    ] as const) {
      const moving = branch.command({ type: 'MoveHead', revision: '0-0' }, caller);
      await expect(moving).rejects.toMatchObject({ code });
      const forking = branch.command({ type: 'BecomeFork', sourceName: 'main', revision: '0-0' }, caller);
      await expect(forking).rejects.toMatchObject({ code });
    }
    expect(await branch.query({ type: 'ReadBranchState' })).toEqual(before);
  });
});

it('a fork answers nothing from what its source did under a key: keys belong to one branch', async () => {
  const family = await BranchFamily.open();
  try {
    const key = { key: 'k', requestHash: 'h' };
    const create = {
      type: 'CreateNode',
      workspace: WORKSPACE,
      parentPath: '/',
      node: { name: 'a', nodeType: 'svc:Folder', properties: {} },
      deep: false,
    } as const;
    const send = (name: string, requestHash: string): Promise<{ readonly node: string }> =>
      family.fixture.command(family.actor(name), create, callers.admin, { ...key, requestHash });
    const { head } = await family.query<{ readonly head: string }>('main', { type: 'ReadBranchState' });
    const made = await send('main', 'h');
    await family.fork('dev', 'main', head);
    // The node is not there at that revision: it is made, and has an id of its own.
    const own = await send('dev', 'h');
    expect(JSON.parse(own.node).id).not.toBe(JSON.parse(made.node).id);
    expect(await send('main', 'h')).toEqual(made);
    expect(await send('dev', 'h')).toEqual(own);
    await expect(send('dev', 'other')).rejects.toMatchObject({ code: 'IDEMPOTENCY_MISMATCH' });
  } finally {
    await family.close();
  }
});

/** A branch with one command more, which enqueues a job. */
const ordering = withOutbox({
  ...branchActor({ commitNodesMax: 10 }),
  create: (context) => {
    const inner = branchActor({ commitNodesMax: 10 }).create(context);
    return {
      execute(command: { readonly type: string }, turn) {
        if (command.type !== 'Order') return inner.execute(command as never, turn);
        return enqueueJob(turn, context.id, { type: 'Test', about: 'x', payload: 1 });
      },
      query: (query, context) => inner.query(query, context),
    };
  },
});

it('a fork hands over no job that waits in the outbox of its source', async () => {
  const fixture = await HostFixture.open([ordering]);
  try {
    const source = actorId('default', 'site~1', 'main~1', 'branch');
    const fork = actorId('default', 'site~1', 'dev~1', 'branch');
    const waiting = (actor: string) => fixture.query<NewJob[]>(actor, { type: 'ReadOutbox' }, callers.engine);
    await fixture.host.create(source);
    await expect(fixture.command(source, { type: 'Order' })).rejects.toThrow();
    await fixture.command(source, { type: 'AllowJobs' });
    await fixture.command(source, { type: 'Order' });
    await fixture.host.fork(source, fork);
    expect(await waiting(fork)).toHaveLength(1);
    const become = { type: 'BecomeFork', sourceName: 'main' };
    await fixture.command(fork, become);
    expect([(await waiting(source)).length, await waiting(fork)]).toEqual([1, []]);
    // The queue does not know the fork.
    await expect(fixture.command(fork, { type: 'Order' })).rejects.toThrow();
  } finally {
    await fixture.close();
  }
});
