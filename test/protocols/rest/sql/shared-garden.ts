import { expectStatus } from '#test/support/content-client.ts';
import { Garden } from '#test/support/garden.ts';
import type { TestServer } from '#test/support/server.ts';

const gardens = new WeakMap<TestServer, Promise<Garden>>();

/** A garden with a tag `v1`, and then a branch `side` with a node `side`. One for each server. */
export function sharedGarden(server: TestServer): Promise<Garden> {
  const known = gardens.get(server) ?? made(server);
  gardens.set(server, known);
  return known;
}

async function made(server: TestServer): Promise<Garden> {
  const garden = await Garden.on(server);
  const { client, g } = garden;
  const revision = await client.headRevision();
  expectStatus(await client.managed('POST', '/tags', { name: 'v1', revision }), 200, 201);
  await client.branch('side', { upstream_branch: 'main' });
  await g.on('side').add('/', 'side', {}, 'svc:Folder', { id: 's1' });
  return garden;
}
