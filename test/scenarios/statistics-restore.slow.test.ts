import { expect, it } from 'vitest';
import { ContentClient, expectStatus, Space } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { startServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

it('statistics of a restored repository are those of the backup, and follow it', async () => {
  const server = await startServer();
  try {
    const read = async (repository: string): Promise<TestResponse['json']> =>
      expectStatus(await server.admin('GET', `/api/management/${repository}/main/statistics`), 200).json;
    const over = (path: string): Promise<void> =>
      until(async () => (await server.admin('GET', path)).json.state === 'done', path);
    const client = await ContentClient.on(server);
    const { repository } = client;
    const space = await client.workspace();
    await space.addAll('/a', '/a/b', '/c');
    await until(async () => (await read(repository)).lag === 0, 'they are those of the head');
    // The backup has a commit that they have not taken in.
    await space.add('/', 'd');
    expectStatus(await server.admin('POST', '/api/management/backups', { name: 'b' }), 202);
    await over('/api/management/backups/b');
    await space.delete('/a');
    const body = { from: 'b', repository: `default/${repository}`, as: 'default/copy' };
    const { json } = expectStatus(await server.admin('POST', '/api/management/restores', body), 202);
    await over(`/api/management/restores/${json.id}`);
    const nodesIn = ({ workspaces }: TestResponse['json']): number =>
      workspaces.find(({ name }: { name: string }) => name === space.name).nodes;
    const restored = await read('copy');
    expect(restored.state).toBe('following');
    // Nothing had them take in the last commit before the backup, unless that took half a minute.
    expect(nodesIn(restored)).toBe(4 - restored.lag);
    const copy = new Space(new ContentClient(server, 'copy'), space.name);
    await copy.add('/', 'e');
    const head = await copy.client.headOf('main');
    await until(async () => (await read('copy')).revision === head, 'they have taken in both commits');
    expect(nodesIn(await read('copy'))).toBe(5);
    await until(async () => (await read(repository)).lag === 0, 'the source goes on by itself');
    expect(nodesIn(await read(repository))).toBe(2);
  } finally {
    await server.close();
  }
});
