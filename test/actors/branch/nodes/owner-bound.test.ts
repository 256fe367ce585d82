import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OWNER_ID_BYTES_MAX, requireShortOwner } from '#actors/branch/nodes/owner-bound.ts';
import { type BranchFixture, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;
const longest = 'ä'.repeat(OWNER_ID_BYTES_MAX / 2);
const refused = expect.objectContaining({ code: 'VALIDATION_FAILED', field: 'owner_id' });

describe('the owner of a node', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch();
  });
  afterAll(() => branch.close());

  const create = (name: string, ownerId: string) => {
    const node = { name, nodeType: 'svc:Folder', properties: {}, ownerId };
    return branch.command({ type: 'CreateNode', workspace, parentPath: '/', node, deep: false });
  };
  const update = (ownerId: string | null) =>
    branch.command({ type: 'UpdateNode', workspace, place: { path: '/a' }, properties: {}, ownerId });

  it('has an id of as many bytes as it may have, and not one more', async () => {
    await create('a', longest);
    expect((await branch.read('/a')).owner_id).toBe(longest);
    await expect(create('b', `${longest}x`)).rejects.toEqual(refused);
    await expect(update('x'.repeat(OWNER_ID_BYTES_MAX + 1))).rejects.toEqual(refused);
    expect((await branch.read('/a')).owner_id).toBe(longest);
    await update(null);
    expect((await branch.read('/a')).owner_id).toBeNull();
  });

  it('is accepted above the limit if it was stored before the limit existed', () => {
    const stored = `${longest}x`;
    expect(requireShortOwner(stored, stored)).toBe(stored);
    expect(() => requireShortOwner(`${stored}x`, stored)).toThrow('at most 1024 bytes');
  });
});
