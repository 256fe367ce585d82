import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtInRoles } from '#runtime/content/built-in/access-content.ts';
import type { JsonObject, JsonValue } from '#runtime/content/values/json-value.ts';
import { type BranchFixture, openBranch } from '#test/support/branch-fixture.ts';
import { heavy } from './heavy-permissions.ts';
import { operations } from './hidden-world.ts';

const ACCESS = 'svc:access_control';

describe('a role', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    const anything = { allowed_node_types: [], allowed_root_node_types: [] };
    branch = await openBranch({ workspaces: { [ACCESS]: anything, other: anything } });
  });
  afterAll(() => branch.close());

  const roleNode = (name: string, permissions: JsonValue): JsonObject => ({
    role_id: name,
    name,
    permissions,
  });

  function write(name: string, permissions: JsonValue, workspace = ACCESS): Promise<unknown> {
    const node = { name, nodeType: 'svc:Role', properties: roleNode(name, permissions) };
    return branch.command({ type: 'CreateNode', workspace, parentPath: '/', node, deep: false });
  }

  const tooHeavy = (index: number): object =>
    expect.objectContaining({
      code: 'VALIDATION_FAILED',
      field: 'properties.permissions',
      message: expect.stringContaining(`permissions[${index}]`) as string,
    }) as object;

  it('is not written with permissions that take too much work, whoever writes it [ACC-043]', async () => {
    await expect(write('heavy', heavy)).rejects.toEqual(tooHeavy(51));
    const path = `/${'a*/'.repeat(160)}x`;
    const wild = Array.from({ length: 500 }, () => ({ path, operations: ['read'] }));
    await expect(write('wild', wild)).rejects.toEqual(tooHeavy(284));
    const condition = "node.id RELATES auth.local_user_id VIA 'KNOWS'";
    const related = Array.from({ length: 120 }, () => ({ path: '**', operations: ['read'], condition }));
    await expect(write('related', related)).rejects.toEqual(tooHeavy(97));
    // Elsewhere it is a node like others.
    await write('heavy', heavy, 'other');
  });

  it('is not changed so either, and other changes of one from before the bound are permitted [ACC-043]', async () => {
    await write('changing', heavy.slice(0, 5));
    const place = { path: '/changing' };
    const common = { workspace: ACCESS, place };
    const properties = roleNode('changing', heavy);
    for (const command of [
      { type: 'UpdateNode', ...common, properties },
      { type: 'PatchNode', ...common, properties: { permissions: heavy } },
      { type: 'SetProperty', ...common, property: ['permissions'], value: heavy },
    ] as const)
      await expect(branch.command(command)).rejects.toEqual(tooHeavy(51));
    await branch.command({ type: 'PatchNode', ...common, properties: { description: 'x' } });
    await branch.command({ type: 'PatchNode', ...common, properties: { permissions: heavy.slice(0, 50) } });
  });

  it('is far away from that with ordinary permissions', async () => {
    const ordinary = Array.from({ length: 500 }, (_, index) => ({
      path: `/department-${index}/*/documents/**`,
      operations,
      node_types: ['svc:Folder', 'svc:Page'],
      condition: "node.created_by == auth.user_id || node.status == 'published'",
    }));
    await write('ordinary', ordinary);
    for (const { properties } of builtInRoles)
      await write(
        `of-${(properties as JsonObject).role_id as string}`,
        (properties as JsonObject).permissions!,
      );
  });
});
