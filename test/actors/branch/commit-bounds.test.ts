import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMIT_ACTOR_BYTES_MAX, COMMIT_MESSAGE_BYTES_MAX } from '#actors/branch/commit-bounds.ts';
import type { CommitInfo } from '#actors/branch/commit-messages.ts';
import { type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;
const longest = 'ä'.repeat(COMMIT_MESSAGE_BYTES_MAX / 2);
const refused = (field: string) => expect.objectContaining({ code: 'VALIDATION_FAILED', field });

describe('the texts of a commit', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch();
  });
  afterAll(() => branch.close());

  const update = (commit: CommitInfo) =>
    branch.command({ type: 'UpdateNode', workspace, place: { path: '/a' }, properties: { n: 1 }, commit });

  it('have as many bytes as they may, and not one more', async () => {
    await branch.create('/a');
    const actor = 'b'.repeat(COMMIT_ACTOR_BYTES_MAX);
    const { revision } = await update({ message: longest, actor });
    const query = { type: 'ReadHistory', workspace, place: { path: '/a' } } as const;
    expect(await branch.query(query)).toMatchObject([{ revision, message: longest }, {}]);
    await expect(update({ message: `${longest}x` })).rejects.toEqual(refused('commit.message'));
    await expect(update({ message: `${'x'.repeat(COMMIT_MESSAGE_BYTES_MAX)}x` })).rejects.toEqual(
      refused('commit.message'),
    );
    await expect(update({ actor: `${actor}x` })).rejects.toEqual(refused('commit.actor'));
    expect(await branch.query(query)).toHaveLength(2);
  });

  it('are bounded for every kind of operation', async () => {
    const commit = { message: `${longest}x` };
    const place = { path: '/a' };
    for (const command of [
      { type: 'CreateNode', workspace, parentPath: '/', node: { name: 'b', nodeType: 'svc:Folder' } },
      { type: 'DeleteNode', workspace, place },
      { type: 'RenameNode', workspace, place, newName: 'b' },
      { type: 'PublishNode', workspace, place, publish: true, tree: false },
      { type: 'TranslateNode', workspace, place, locale: 'de', translations: { '/title': 'x' } },
      { type: 'RestoreVersion', workspace, place, version: 1 },
      { type: 'CommitOperations', workspace, operations: [{ type: 'delete', nodeId: 'x' }] },
      { type: 'PutDefinition', kind: 'node_type', definition: { name: 'test:Page' } },
      { type: 'MergeBranch' },
      { type: 'ResolveMerge' },
      { type: 'RevertRevisions' },
    ])
      await expect(branch.command({ ...command, commit } as never)).rejects.toEqual(
        refused('commit.message'),
      );
  });
});
