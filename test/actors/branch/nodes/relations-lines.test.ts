import { afterEach, beforeEach, expect, it } from 'vitest';
import { parseRevision } from '#runtime/content/revision.ts';
import { BranchFamily, WORKSPACE } from '#test/support/branch-family.ts';

let family: BranchFamily;

beforeEach(async () => {
  family = await BranchFamily.open();
});

afterEach(() => family.close());

async function relate(branch: string, path: string, targetPath: string): Promise<string> {
  const written = await family.command(branch, {
    type: 'AddRelation',
    workspace: WORKSPACE,
    place: { path },
    targetWorkspace: WORKSPACE,
    targetPath,
    relationType: 'references',
    weight: 1,
  });
  return written.revision as string;
}

function unrelate(branch: string, path: string, targetPath: string): Promise<{ readonly removed: boolean }> {
  return family.command(branch, {
    type: 'RemoveRelation',
    workspace: WORKSPACE,
    place: { path },
    targetWorkspace: WORKSPACE,
    targetPath,
  });
}

/** Ids of the nodes that relate to one, at the head and at a revision. */
async function incoming(branch: string, path: string, at?: string): Promise<readonly string[]> {
  const answer = await family.query<{ readonly incoming: readonly { readonly source_node_id: string }[] }>(
    branch,
    {
      type: 'ReadRelations',
      workspace: WORKSPACE,
      place: { path },
      ...(at === undefined ? {} : { at: parseRevision(at) }),
    },
  );
  return answer.incoming.map(({ source_node_id }) => source_node_id);
}

async function moveHead(branch: string, revision: string): Promise<void> {
  await family.command(branch, { type: 'MoveHead', revision });
}

it('a fork shows none of the relations its source wrote after the fork', async () => {
  for (const name of ['target', 'early', 'late']) await family.create('main', `/${name}`, '', name);
  const forkedAt = await relate('main', '/early', '/target');
  await relate('main', '/late', '/target');
  await family.fork('dev', 'main', forkedAt);
  const later = await family.create('dev', '/other');
  // From here on the state that `later` saw is a past one.
  await family.update('dev', '/late', 'new');
  expect(await incoming('dev', '/target')).toEqual(['early']);
  expect(await incoming('dev', '/target', later)).toEqual(['early']);
  expect(await incoming('dev', '/target', forkedAt)).toEqual(['early']);
});

it('a branch whose head was moved shows none of the line it left', async () => {
  for (const name of ['target', 'kept', 'left']) await family.create('main', `/${name}`, '', name);
  const before = await relate('main', '/kept', '/target');
  const abandoned = await relate('main', '/left', '/target');
  await moveHead('main', before);
  const after = await family.create('main', '/other');
  expect(await incoming('main', '/target', after)).toEqual(['kept']);
  expect(await incoming('main', '/target', before)).toEqual(['kept']);
  expect([...(await incoming('main', '/target', abandoned))].sort()).toEqual(['kept', 'left']);
});

it('shows a relation that was removed on the line it left', async () => {
  for (const name of ['target', 'source']) await family.create('main', `/${name}`, '', name);
  const before = await relate('main', '/source', '/target');
  await unrelate('main', '/source', '/target');
  await moveHead('main', before);
  const after = await family.update('main', '/target', 'new');
  expect(await incoming('main', '/target', after.revision as string)).toEqual(['source']);
});

it('finds a deleted target by the path it had on the line of the head', async () => {
  for (const name of ['source', 'target']) await family.create('main', `/${name}`, '', name);
  await relate('main', '/source', '/target');
  const before = (await family.delete('main', '/target')).revision as string;
  // Another node stood at the path, on a line that was left.
  await family.create('main', '/target', '', 'passing');
  await family.delete('main', '/target');
  await moveHead('main', before);
  await family.create('main', '/other');
  expect(await unrelate('main', '/source', '/target')).toMatchObject({ removed: true });
});

it('finds a deleted target of a fork although the source of the fork reused its path', async () => {
  for (const name of ['source', 'target']) await family.create('main', `/${name}`, '', name);
  await relate('main', '/source', '/target');
  const forkedAt = (await family.delete('main', '/target')).revision as string;
  await family.create('main', '/target', '', 'passing');
  await family.delete('main', '/target');
  await family.fork('dev', 'main', forkedAt);
  expect(await unrelate('dev', '/source', '/target')).toMatchObject({ removed: true });
});
