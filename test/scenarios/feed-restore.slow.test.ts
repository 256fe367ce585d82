import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { ActorId } from '#runtime/actor/ports.ts';
import { mayEnqueue, scopeOf } from '#runtime/jobs/outbox.ts';
import { readConsumer } from '#runtime/feed/consumer-store.ts';
import type { TableReader } from '#runtime/shard/shard.ts';
import { readBranchHead } from '#runtime/tree/revision-store.ts';
import { anything, ContentClient, expectStatus, Space } from '#test/support/content-client.ts';
import { byKey, FileConsumer, inBranchFile, PathTally } from '#test/support/feed-consumers.ts';
import { JobsClient } from '#test/support/jobs-client.ts';
import { startServer, type TestServer } from '#test/support/server.ts';
import { CONTENT } from '#test/support/test-branch.ts';
import { until } from '#test/support/until.ts';

const restoreProgram = join(import.meta.dirname, '../../server/backup/restore.ts');
const folder = { node_type: 'svc:Folder', properties: {} };

let place: string;
let servers: TestServer[] = [];

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'feed-restore-'));
});
afterEach(async () => {
  for (const server of servers) await server.close();
  servers = [];
  rmSync(place, { recursive: true, force: true });
});

/** A server with a consumer of each form; the one with rows in the branch stops while it is closed. */
async function serve(dataDir: string, gate: { isOpen: boolean }): Promise<TestServer> {
  const before = (): void => {
    if (!gate.isOpen) throw new Error('not yet');
  };
  const tally = new PathTally({ isEverywhere: false, before });
  const file = new FileConsumer(join(place, 'noted'), { isEverywhere: false });
  const server = await startServer({ dataDir, feedConsumers: [tally, file] });
  servers.push(server);
  return server;
}

async function branchOf(server: TestServer, repository: string): Promise<ActorId> {
  const scope = await new JobsClient(server, server.adminToken).scope(repository);
  const names = await server.actorFolders(scope);
  return `${scope}/${names.find((name) => name.startsWith('main~'))}/branch`;
}

async function over(server: TestServer, path: string): Promise<void> {
  await until(async () => {
    const { json } = await server.admin('GET', path);
    expect(json.error ?? null).toBeNull();
    return json.state === 'done';
  }, path);
}

function inFile<T>(dataDir: string, branch: ActorId, look: (reader: TableReader) => T): T {
  return inBranchFile(join(dataDir, 'actors', branch), look);
}

/** The consumer with rows in the branch has seen everything, each change once, and has started once. */
function requireExact(reader: TableReader): void {
  const tally = new PathTally();
  const stored = readConsumer(reader, 'tally');
  expect(stored?.position).toEqual({ sequence: readBranchHead(reader).feed.last, parts: 0 });
  expect(stored?.state).toMatchObject({ starts: ['new'] });
  expect(new Map([...tally.rows(reader)].sort(byKey))).toEqual(tally.expected(reader));
}

/** A start finds the branch, and what its commits enqueue. */
async function requireKept(server: TestServer, branch: ActorId): Promise<void> {
  expect(await server.member.queue.sources(scopeOf(branch))).toEqual([branch]);
}

/** A repository whose consumer is in the middle of its work, and a backup of that. */
async function backedUp(dataDir: string, gate: { isOpen: boolean }): Promise<TestServer> {
  const server = await serve(dataDir, gate);
  await server.createRepository('shop');
  const client = new ContentClient(server, 'shop');
  expectStatus(await server.admin('PUT', `/api/workspaces/shop/${CONTENT}`, anything), 204);
  const space = new Space(client, CONTENT);
  await space.addAll('/a', '/a/b', '/c');
  const branch = await branchOf(server, 'shop');
  for (const name of ['tally', 'file']) await server.member.feeds.register(branch, name);
  await space.post('/', { name: 'd', ...folder });
  await space.done('/a', 'rename', { newName: 'z' });
  await until(() => server.member.feeds.behind.length === 0, 'both have seen the rename');
  gate.isOpen = false;
  await space.post('/z', { name: 'e', ...folder });
  await space.delete('/c');
  await until(() => server.member.feeds.behind.some(({ failures }) => failures > 0), 'it waits');
  expectStatus(await server.admin('POST', '/api/management/backups', { name: 'b' }), 202);
  await over(server, '/api/management/backups/b');
  await space.post('/', { name: 'later', ...folder });
  return server;
}

it('consumers go on where they were in a repository that is restored into a running server', async () => {
  const gate = { isOpen: true };
  const dataDir = join(place, 'data');
  const server = await backedUp(dataDir, gate);
  gate.isOpen = true;
  const body = { from: 'b', repository: 'default/shop', as: 'default/copy' };
  const { json } = expectStatus(await server.admin('POST', '/api/management/restores', body), 202);
  await over(server, `/api/management/restores/${json.id}`);
  const branches = [await branchOf(server, 'shop'), await branchOf(server, 'copy')];
  for (const branch of branches) await requireKept(server, branch);
  await until(() => server.member.feeds.behind.length === 0, 'they have seen everything');
  await server.close();
  for (const branch of branches) inFile(dataDir, branch, requireExact);
  const paths = inFile(dataDir, branches[1] as string, (reader) =>
    [...new PathTally().rows(reader).values()].map(({ path }) => path).sort(),
  );
  expect(paths).toEqual(['/d', '/z', '/z/b', '/z/e']);
});

it('consumers go on where they were in another data directory, when the branch is read', async () => {
  const gate = { isOpen: true };
  const dataDir = join(place, 'data');
  const server = await backedUp(dataDir, gate);
  await server.close();
  const into = join(place, 'restored');
  cpSync(join(dataDir, 'secrets'), join(into, 'secrets'), { recursive: true });
  const from = join(dataDir, 'backups/b');
  execFileSync(process.execPath, [restoreProgram, '--from', from, '--into', into], {
    env: { PATH: process.env.PATH },
    stdio: 'ignore',
  });
  gate.isOpen = true;
  const again = await serve(into, gate);
  const branch = await branchOf(again, 'shop');
  await requireKept(again, branch);
  expect(await new Space(new ContentClient(again, 'shop'), CONTENT).names()).toEqual(['z', 'd']);
  await until(() => again.member.feeds.behind.length === 0, 'it has seen everything');
  await again.close();
  inFile(into, branch, requireExact);
  expect(inFile(into, branch, mayEnqueue)).toBe(true);
  // Effects elsewhere were not restored with the branch.
  inFile(into, branch, (reader) => expect(readConsumer(reader, 'file')).toBeUndefined());
});
