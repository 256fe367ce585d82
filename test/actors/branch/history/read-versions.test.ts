import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type BranchFixture, callerWith, openBranch, WORKSPACE } from '#test/support/branch-fixture.ts';

const workspace = WORKSPACE;

interface Version {
  readonly id: string;
  readonly version: number;
  readonly note: string | null;
  readonly node_data: { readonly properties: { readonly description?: string } };
}

describe('reading manual versions', () => {
  let branch: BranchFixture;

  beforeAll(async () => {
    branch = await openBranch();
  });
  afterAll(() => branch.close());

  const place = { path: '/v' };
  const read = (version?: number) =>
    branch.query({ type: 'ReadVersions', workspace, place, ...(version === undefined ? {} : { version }) });

  it('lists them newest first, and answers each by its number [CMD-037] [CMD-038]', async () => {
    const node = await branch.create('/v', { description: 'first' });
    expect(await read()).toEqual([]);
    await branch.command({ type: 'CreateVersion', workspace, place, note: 'one' });
    await branch.command({ type: 'UpdateNode', workspace, place, properties: { description: 'second' } });
    await branch.command({ type: 'CreateVersion', workspace, place });
    const versions = (await read()) as Version[];
    expect(
      versions.map(({ id, version, note, node_data: { properties } }) => [
        id,
        version,
        note,
        properties.description,
      ]),
    ).toEqual([
      [`${node.id}:2`, 2, null, 'second'],
      [`${node.id}:1`, 1, 'one', 'first'],
    ]);
    expect(await read(1)).toEqual(versions[1]);
    for (const unknown of [0, 3, -1, 1.5])
      await expect(read(unknown)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await expect(
      branch.query(
        { type: 'ReadVersions', workspace, place },
        callerWith(() => false),
      ),
    ).rejects.toMatchObject({ code: 'NODE_NOT_FOUND' });
  });
});
