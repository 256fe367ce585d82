import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { BranchState } from '#actors/branch/messages.ts';
import { parseQuery } from '#protocols/http/requests/query-parameters.ts';
import { type BranchesContext, branchRoutes } from '#protocols/rest/versioning/branches.ts';
import { tagRoutes } from '#protocols/rest/versioning/tags.ts';
import type { RestRequest } from '#protocols/rest/rest-route.ts';
import type { Principal } from '#runtime/access/principal.ts';
import { parseRevision } from '#runtime/content/revision.ts';
import { FarMember } from '#test/support/far-member.ts';
import { callers } from '#test/support/host-fixture.ts';

let member: FarMember;

beforeEach(async () => {
  member = await FarMember.open();
  await member.create();
  await member.fork('draft');
  const { actor } = await member.directory.branch('default', 'blog', 'main', 'read');
  const { head } = (await member.router.query(
    actor,
    { type: 'ReadBranchState' },
    callers.admin,
  )) as BranchState;
  await member.branches.createTag(
    await member.found(),
    { name: 'v1', revision: parseRevision(head), message: null, createdBy: 'ann', protected: false },
    { caller: callers.admin },
  );
});

afterEach(() => member.close());

/** Answers a read of the management routes of repository `blog`. */
async function read(operationId: string, name: string, principal: Principal = callers.admin.principal) {
  const { directory, router } = member;
  const context = { directory, router } as unknown as BranchesContext;
  const route = [...branchRoutes(context), ...tagRoutes(context)].find(
    (each) => each.operationId === operationId,
  );
  const segments: Readonly<Record<string, string>> = { repo: 'blog', name, branch: name };
  const request = {
    principal,
    query: parseQuery(''),
    header: () => undefined,
    headerList: () => undefined,
    route: { method: 'GET' },
    segment: (segment: string) => segments[segment],
  } as unknown as RestRequest;
  member.asked = [];
  return await route?.handler(request);
}

describe('a branch or tag that is asked for by its name', () => {
  it('is looked up, without the list of them', async () => {
    expect(await read('readTag', 'v1')).toMatchObject({
      status: 200,
      json: { name: 'v1', created_by: 'ann' },
    });
    expect(member.asked).toContain('FindTag');
    expect(member.asked).not.toContain('ListTags');
    expect(await read('readBranch', 'draft')).toMatchObject({ status: 200, json: { name: 'draft' } });
    expect(member.asked).toContain('FindBranch');
    expect(member.asked).not.toContain('ListBranches');
  });

  it('is refused to others than administrators, also where there is none', async () => {
    for (const name of ['v1', 'none']) {
      const refusal = { code: 'UNAUTHORIZED' };
      await expect(read('readTag', name, callers.anonymous.principal), name).rejects.toMatchObject(refusal);
      await expect(read('readBranch', name, callers.anonymous.principal), name).rejects.toMatchObject(
        refusal,
      );
    }
    await expect(read('readTag', 'none')).rejects.toMatchObject({ code: 'TAG_NOT_FOUND' });
    await expect(read('readBranch', 'none')).rejects.toMatchObject({ code: 'BRANCH_NOT_FOUND' });
  });
});
