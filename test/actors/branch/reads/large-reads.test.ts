import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Policy } from '#runtime/access/policy.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';
import { callers } from '#test/support/host-fixture.ts';
import { LargeRows, largeText as large } from '#test/support/large-rows.ts';

const rows = new LargeRows();
const workspace = WORKSPACE;

/** May read everything, but everything is asked about. */
const restricted = {
  ...callers.admin,
  policy: { unrestricted: false, allows: () => true } as unknown as Policy,
};

describe('large nodes', () => {
  let family: BranchFamily;

  beforeAll(async () => {
    family = await BranchFamily.open((kind) => rows.watch(kind));
    await family.create('main', '/small');
    for (const name of ['a', 'b', 'c']) {
      await family.create('main', `/${name}`, large('base'), name);
      const target = { targetWorkspace: workspace, targetPath: `/${name}` };
      const relation = { ...target, relationType: 'likes', weight: 1 };
      await family.command('main', {
        type: 'AddRelation',
        workspace,
        place: { path: '/small' },
        ...relation,
      });
    }
  });
  beforeEach(() => rows.reset());
  afterAll(() => family.close());

  it('are not read to tell that a relation has its target', async () => {
    const read = { type: 'ReadNode', workspace, place: { path: '/small' } } as const;
    for (const lang of [undefined, 'de']) {
      const found = await family.query<{ relations: unknown[] }>(
        'main',
        lang === undefined ? read : { ...read, lang },
      );
      expect(found.relations).toHaveLength(3);
    }
    expect(rows.all).toBe(0);
  });

  it('are read one in a step to tell that a relation may be shown', async () => {
    const read = { type: 'ReadNode', workspace, place: { path: '/small' } } as const;
    const found = await family.query<{ relations: unknown[] }>('main', read, restricted);
    expect(found.relations).toHaveLength(3);
    expect(rows).toMatchObject({ all: 3, longestStep: 1 });
  });
});
