import { expect, it } from 'vitest';
import { openBranch } from '#test/support/branch-fixture.ts';

it('a branch refuses the messages of another version', async () => {
  const branch = await openBranch();
  try {
    const unknown = { type: 'FromTheFuture' } as never;
    const refusal = { code: 'MEMBER_VERSIONS_DIFFER', message: expect.stringContaining('FromTheFuture') };
    await expect(branch.query(unknown)).rejects.toMatchObject(refusal);
    await expect(branch.command(unknown)).rejects.toMatchObject(refusal);
  } finally {
    await branch.close();
  }
});
