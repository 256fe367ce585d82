import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ActorId } from '#runtime/actor/ports.ts';
import { ContentClient } from '#test/support/content-client.ts';
import { FileConsumer, type Noted } from '#test/support/feed-consumers.ts';
import { JobsClient } from '#test/support/jobs-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

const place = mkdtempSync(join(tmpdir(), 'feed-consumers-'));
let isOpen = true;
const consumer = new FileConsumer(join(place, 'noted'), {
  isEverywhere: false,
  before: () => {
    if (!isOpen) throw new Error('not yet');
  },
});

const folder = { node_type: 'svc:Folder', properties: {} };

let server: TestServer;
let client: ContentClient;

beforeAll(async () => {
  server = await startServer({ feedConsumers: [consumer] });
  client = await ContentClient.on(server);
});
afterAll(async () => {
  await server.close();
  rmSync(place, { recursive: true, force: true });
});

/** The id of the actor of a branch. */
async function branchActor(name: string): Promise<ActorId> {
  const scope = await new JobsClient(server, server.adminToken).scope(client.repository);
  const names = await server.actorFolders(scope);
  const part = names.find((one) => one.startsWith(`${name}~`)) as string;
  return `${scope}/${part}/branch`;
}

/** Distinct steps that the consumer was given of a branch. */
function steps(branch: ActorId): readonly Noted[] {
  const own = consumer.noted.filter((noted) => noted.branch === branch);
  const known = new Map(own.map((noted) => [JSON.stringify([noted.after, noted.start, noted.ended]), noted]));
  return [...known.values()];
}

describe('a consumer of the feed of a branch', () => {
  it('sees what was committed before a restart of the members, without another commit', async () => {
    await client.branch('followed', { upstream_branch: 'main' });
    const space = (await client.workspace()).on('followed');
    const branch = await branchActor('followed');
    await server.member.feeds.register(branch, 'file');
    await until(() => steps(branch).length === 1, 'it has started');
    expect(steps(branch)).toMatchObject([{ start: { reason: 'new' } }]);
    await space.post('/', { name: 'one', ...folder });
    await until(() => steps(branch).length === 2, 'it has seen the node');
    isOpen = false;
    await space.post('/', { name: 'two', ...folder });
    await server.restart();
    isOpen = true;
    await until(() => steps(branch).length === 3, 'it has seen the other node after the restart', 60_000);
    const sequences = steps(branch).map(({ after, start }) => (after ?? start?.position)?.sequence as number);
    expect(sequences.map((sequence) => sequence - (sequences[0] as number))).toEqual([0, 1, 2]);
  });

  it('is told that a branch was removed, also after a restart of the members', async () => {
    const follow = async (name: string): Promise<ActorId> => {
      await client.branch(name, { upstream_branch: 'main' });
      const branch = await branchActor(name);
      await server.member.feeds.register(branch, 'file');
      await until(() => steps(branch).length === 1, 'it has started');
      return branch;
    };
    const [first, second] = [await follow('first'), await follow('second')];
    expect((await client.managed('DELETE', '/branches/first')).status).toBe(204);
    await until(() => steps(first).at(-1)?.ended === true, 'it was told of the end');
    isOpen = false;
    expect((await client.managed('DELETE', '/branches/second')).status).toBe(204);
    await server.restart();
    isOpen = true;
    await until(() => steps(second).at(-1)?.ended === true, 'it was told after the restart', 60_000);
    expect(consumer.noted.filter(({ branch, ended }) => ended === true && branch === first)).toHaveLength(1);
  });
});
