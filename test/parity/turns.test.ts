import { expect, inject, it } from 'vitest';
import { expectStatus } from '#test/support/content-client.ts';
import { startServer } from '#test/support/server.ts';

it('a server of a test is one process, or in project cluster three members that take turns and share the work', async () => {
  const isCluster = inject('natsUrl') !== undefined;
  const server = await startServer();
  const modes = new Set<string>();
  const members = new Set<string>();
  const owners = new Set<string>();
  for (let turn = 0; turn < 3; turn += 1) {
    const { mode } = expectStatus(await server.request('GET', '/ready'), 200, 503).json;
    modes.add(mode);
    const { json } = expectStatus(await server.admin('GET', '/api/management/cluster'), 200);
    members.add(json.members.find((each: { is_self: boolean }) => each.is_self).id);
    for (const { owner } of json.partitions) owners.add(owner);
  }
  expect([...modes]).toEqual([isCluster ? 'cluster' : 'embedded']);
  expect(members.size).toBe(isCluster ? 3 : 1);
  // One that came later than the others on a busy machine owns nothing: in tests nothing is moved.
  if (isCluster) expect(owners.size).toBeGreaterThan(1);
  else expect(owners.size).toBe(1);
  await server.close();
});
