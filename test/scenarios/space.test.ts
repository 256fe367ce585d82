import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realFileSystem, type VolumeSpace } from '#runtime/base/files/file-system.ts';
import { ContentClient, expectStatus, type Space } from '#test/support/content-client.ts';
import type { TestResponse } from '#test/support/http-client.ts';
import { LocksClient } from '#test/support/locks-client.ts';
import { ADMIN_PASSWORD, startServer, type TestServer } from '#test/support/server.ts';
import { canMount, SmallVolume } from '#test/support/small-volume.ts';
import { until } from '#test/support/until.ts';

/**
 * Size of the volume. Between the marks there have to be many times what members write by themselves while a test
 * waits: a log allocates a mebibyte ahead, for each of three members.
 */
const VOLUME_BYTES = 256 * 1024 * 1024;

/** Where nothing can be mounted, the file system tells of such a volume; everything else is real. */
class ToldVolume {
  #usedPercent = 10;

  readonly files = {
    ...realFileSystem,
    statfs: (): Promise<VolumeSpace> => {
      const usedBytes = (VOLUME_BYTES * this.#usedPercent) / 100;
      return Promise.resolve({ usedBytes, freeBytes: VOLUME_BYTES - usedBytes });
    },
  };

  fill(percent: number): void {
    this.#usedPercent = percent;
  }

  free(): void {
    this.#usedPercent = 10;
  }

  close(): void {
    this.free();
  }
}

let volume: SmallVolume | ToldVolume;
let server: TestServer;
let client: ContentClient;
let members: number;
let space: Space;
let locks: LocksClient;

/** What can be taken away while nothing can be added. */
let held: { lock: number; renewed: number; revision: string };

beforeAll(async () => {
  volume = canMount ? new SmallVolume(VOLUME_BYTES) : new ToldVolume();
  server = await startServer({
    config: '[limits]\njournal_segment_bytes = 4_194_304\nbatch_bytes_max = 1_048_576\n',
    ...(volume instanceof SmallVolume ? { dataDir: join(volume.path, 'data') } : { files: volume.files }),
  });
  members = (await server.admin('GET', '/api/management/cluster')).json.members.length;
  client = await ContentClient.on(server);
  space = await client.workspace();
  locks = new LocksClient(server, server.adminToken, client.repository);
  await space.addAll('/a', '/b', '/c', '/d');
  await client.branch('old');
  await client.branch('older');
  await server.createRepository('left');
  const revision = await client.headOf('main');
  expectStatus(await client.managed('POST', '/tags', { name: 'v1', revision, message: 'first' }), 201);
  expectStatus(await locks.claim('seats', 2, 10), 200);
  held = { lock: await locks.taken('held'), renewed: await locks.taken('renewed'), revision };
});

afterAll(async () => {
  await server.close();
  volume.close();
});

/** Waits until every member has seen it; they are asked in turn. */
async function level(expected: number): Promise<void> {
  let inTurn = 0;
  await until(async () => {
    inTurn = (await metric('svc_space_level')) === expected ? inTurn + 1 : 0;
    return inTurn === members;
  }, `level ${expected}`);
}

async function metric(name: string): Promise<number> {
  const { text } = await server.admin('GET', '/metrics');
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

/** Codes of what is told about space, by whichever members. */
async function warnings(): Promise<string[]> {
  const { json } = await server.admin('GET', '/api/management/cluster');
  const codes = new Set<string>(json.warnings.map(({ code }: { code: string }) => code));
  return [...codes].filter((code) => code.startsWith('space')).sort();
}

/** Status and code; the text of an answer that is no JSON. */
const told = ({ status, text }: TestResponse): unknown[] => {
  try {
    return [status, JSON.parse(text).code];
  } catch {
    return [status, text];
  }
};

/** Everything that adds something, by its name. */
function growing(): Record<string, () => Promise<TestResponse>> {
  const node = { name: 'new', node_type: 'svc:Folder', properties: {} };
  return {
    create: () => space.post('/', node),
    update: () => space.put('/a', { properties: { title: 'x' } }),
    copy: () => space.command('/a', 'copy', { targetPath: '/b/copied' }),
    move: () => space.command('/a', 'move', { targetPath: '/b/a' }),
    definition: () => client.schema('POST', 'nodetypes', { node_type: { name: 'my:Type' } }),
    workspace: () =>
      server.admin('PUT', `/api/workspaces/${client.repository}/another`, { allowed_node_types: [] }),
    branch: () => client.managed('POST', '/branches', { name: 'forked', upstream_branch: 'main' }),
    'empty branch': () => client.managed('POST', '/branches', { name: 'empty' }),
    merge: () => client.managed('POST', '/branches/main/merge', { source_branch: 'old', message: 'm' }),
    tag: () => client.managed('POST', '/tags', { name: 'v2', revision: held.revision, message: 'm' }),
    repository: () => server.admin('POST', '/api/repositories', { repo_id: 'other' }),
    tenant: () =>
      server.admin('POST', '/api/management/registry/tenants', {
        tenant_id: 'another',
        admin: { username: 'boss', password: 'Another-Horse-7-Battery' },
      }),
    lock: () => locks.acquire('free'),
    claim: () => locks.claim('seats', 1, 10),
    backup: () => server.admin('POST', '/api/management/backups', { name: 'mine' }),
    restore: () => server.admin('POST', '/api/management/restores', { from: 'mine' }),
  };
}

describe('a volume that fills up', () => {
  it('raises an alarm at the first mark: status, log and metric; writes continue', async () => {
    expect([await metric('svc_space_level'), await warnings()]).toEqual([0, []]);
    volume.fill(82);
    await level(1);
    expect(await warnings()).toEqual(['space-low']);
    expect(await metric('svc_space_used_ratio')).toBeGreaterThan(0.8);
    expect(server.logLines.filter(({ msg }) => msg === 'space: volume is almost full')).toHaveLength(members);
    await space.add('/', 'e');
  });

  it('refuses every addition at the second mark with 507, on every surface', async () => {
    volume.fill(91);
    await level(2);
    expect(await warnings()).toEqual(['space-exhausted']);
    const answers: Record<string, unknown> = {};
    const expected: Record<string, unknown> = {};
    for (const [name, write] of Object.entries(growing())) {
      answers[name] = told(await write());
      expected[name] = [507, 'STORAGE_FULL'];
    }
    expect(answers).toEqual(expected);
    const ready = await server.request('GET', '/ready');
    expect([ready.status, ready.json]).toEqual([200, expect.objectContaining({ space: 'refusing' })]);
    expect((await space.post('/', { name: 'n', node_type: 'svc:Folder' })).json.message).toMatch(
      /is 9\d % full: from 90 % on only what deletes or releases something is written/,
    );
    let refusals = 0;
    for (let member = 0; member < members; member += 1) refusals += await metric('svc_space_refusals_total');
    expect(refusals).toBeGreaterThan(10);
  });

  it('still reads, logs in, deletes, releases, and renews leases there', async () => {
    expect(await space.names()).toEqual(['a', 'b', 'c', 'd', 'e']);
    const login = { username: 'admin', password: ADMIN_PASSWORD };
    expectStatus(await server.request('POST', '/api/svc/sys/default/auth', { body: login }), 200);
    expectStatus(await space.delete('/a'), 200, 204);
    expectStatus(await locks.renew('renewed', held.renewed), 200);
    expectStatus(await locks.release('held', held.lock), 200);
    expectStatus(await locks.releaseUnits('seats', 1), 200);
    expectStatus(await client.managed('DELETE', '/tags/v1'), 200, 204);
    expectStatus(await client.managed('DELETE', '/branches/old'), 200, 204);
    expectStatus(await server.admin('DELETE', '/api/repositories/left'), 200, 204);
  });

  it('is read only from the third mark on, and nothing that was refused left a trace', async () => {
    volume.fill(96);
    await level(3);
    expect(told(await space.delete('/b'))).toEqual([507, 'STORAGE_FULL']);
    expect(told(await locks.release('renewed', held.renewed))).toEqual([507, 'STORAGE_FULL']);
    expect(told(await client.managed('DELETE', '/branches/older'))).toEqual([507, 'STORAGE_FULL']);
    expect(told(await space.post('/', { name: 'n', node_type: 'svc:Folder' }))).toEqual([
      507,
      'STORAGE_FULL',
    ]);
    expect(await space.names()).toEqual(['b', 'c', 'd', 'e']);
    const branches = (await client.managed('GET', '/branches')).json;
    expect(JSON.stringify(branches)).not.toMatch(/forked|empty/);
    expect((await server.admin('GET', '/api/repositories/other')).status).toBe(404);
  });

  it('takes writes again by itself when there is room, and not before usage is clearly below the mark', async () => {
    volume.fill(94);
    await level(3);
    volume.fill(92);
    await level(2);
    volume.fill(89);
    // A look that finds it between the marks leaves the level as it is.
    const looked = await metric('svc_space_used_ratio');
    await until(async () => (await metric('svc_space_used_ratio')) !== looked, 'another look');
    expect(await metric('svc_space_level')).toBe(2);
    volume.free();
    await level(0);
    expect(await warnings()).toEqual([]);
    expectStatus(await locks.release('renewed', held.renewed), 200);
    await locks.taken('free');
    await space.add('/', 'f');
    await client.branch('forked');
    expectStatus(await server.admin('POST', '/api/management/backups', { name: 'mine' }), 202);
    expect(server.logLines.some(({ msg }) => msg === 'space: volume has space again')).toBe(true);
  });
});
