import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { findDamage } from '#test/support/branch-checker.ts';
import { type BranchFixture, openBranch } from '#test/support/branch-fixture.ts';

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
});
