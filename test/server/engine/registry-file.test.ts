import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { actorKinds } from '#server/host/actor-kinds.ts';
import { type JournalExtent, requireRegistry } from '#server/engine/registry-file.ts';
import { defaultLimits } from '#runtime/config/options.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { trustedRoot } from '#runtime/shard/lmdb-head.ts';
import { ContentClient, expectStatus } from '#test/support/content-client.ts';
import { startServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

let dataDir: string;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'grove-registry-'));
});

afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

const page = { name: 'kept', node_type: 'svc:Page', properties: { title: 'kept' } };

/** A directory with a repository, whose journal goes back to its beginning only when asked for. */
async function fill(restarts: number): Promise<string> {
  const server = await startServer({ dataDir });
  const client = await ContentClient.on(server);
  const space = await client.workspace();
  expectStatus(await space.post('/', page), 201);
  for (let restart = 0; restart < restarts; restart += 1) {
    await server.restart();
    expectStatus(await space.post('/', { ...page, name: `later${restart}` }), 201);
  }
  await server.close();
  return `/api/repository/${client.repository}/main/head/${space.name}/`;
}

/** Name and content of every file of actors. */
function actorFiles(): Record<string, string> {
  const files = readdirSync(join(dataDir, 'actors'), { recursive: true, withFileTypes: true });
  const paths = files.filter((entry) => entry.isFile()).map(({ name, parentPath }) => join(parentPath, name));
  return Object.fromEntries(paths.sort().map((path) => [path, readFileSync(path, 'latin1')]));
}

describe('a branch whose file is missing', () => {
  it('is refused and reported before any request for it, and delays nothing else', async () => {
    const lost = await fill(0);
    let server = await startServer({ dataDir });
    const client = new ContentClient(server, await server.createRepository('whole'));
    const space = await client.workspace();
    expectStatus(await space.post('/', page), 201);
    for (let restart = 0; restart < 2; restart += 1) {
      await server.restart();
      expectStatus(await space.post('/', { ...page, name: `later${restart}` }), 201);
    }
    await server.close();
    const repository = readdirSync(join(dataDir, 'actors/default')).find((name) => name.startsWith('repo-1'));
    const folder = join(dataDir, 'actors/default', repository as string);
    const branch = readdirSync(folder).find((name) => name.startsWith('main'));
    const file = join(folder, branch as string, 'branch/data.mdb');
    rmSync(file);
    server = await startServer({ dataDir });
    try {
      const again = new ContentClient(server, 'whole');
      await until(
        async () => (await server.request('GET', '/ready')).json.stopped_actors === 1,
        'the branch is told of',
      );
      const { json } = await server.admin('GET', '/api/management/cluster');
      const stopped = json.warnings.find(({ code }: { code: string }) => code === 'actor-stopped');
      expect(stopped).toMatchObject({
        severity: 'alarm',
        message: expect.stringContaining('data.mdb is missing'),
      });
      expect(await server.admin('GET', `${lost}kept`)).toMatchObject({
        status: 500,
        json: { code: 'DATA_CORRUPTED' },
      });
      expectStatus(await server.admin('GET', `/api/repository/whole/main/head/${space.name}/kept`), 200);
      expectStatus(await again.managed('GET', '/branches'), 200);
    } finally {
      await server.close();
    }
  });
});

describe('a data directory without its registry', () => {
  it.each([
    ['missing', (file: string) => rmSync(file)],
    ['empty', (file: string) => truncateSync(file, 0)],
  ] as const)('does not start when it is %s, changes nothing, and starts with it', async (how, damage) => {
    const head = await fill(2);
    const file = join(dataDir, 'actors/default/tenant/data.mdb');
    const kept = join(dataDir, 'kept');
    copyFileSync(file, kept);
    damage(file);
    const before = actorFiles();
    const refused = startServer({ dataDir });
    await expect(refused).rejects.toBeInstanceOf(ServiceError);
    await expect(refused).rejects.toMatchObject({
      code: 'DATA_CORRUPTED',
      message: expect.stringContaining(`${file} is ${how}`),
    });
    expect(actorFiles()).toEqual(before);
    copyFileSync(kept, file);
    const server = await startServer({ dataDir });
    try {
      expectStatus(await server.request('GET', `${head}kept`, { token: server.adminToken }), 200);
    } finally {
      await server.close();
    }
  });

  it('rebuilds it when the journal has all of it', async () => {
    const head = await fill(0);
    rmSync(join(dataDir, 'actors/default/tenant/data.mdb'));
    const server = await startServer({ dataDir });
    try {
      expectStatus(await server.request('GET', `${head}kept`, { token: server.adminToken }), 200);
    } finally {
      await server.close();
    }
  });

  it('does not start when the journal has lost something of it, and makes no first administrator', async () => {
    await fill(0);
    // With its folder: only the catalogue knows of it.
    rmSync(join(dataDir, 'actors/default/tenant'), { recursive: true });
    const folder = join(dataDir, 'journal');
    const [name = ''] = readdirSync(folder).filter((each) => each.endsWith('.journal'));
    const bytes = readFileSync(join(folder, name));
    let end = bytes.length;
    while (end > 0 && bytes[end - 1] === 0) end -= 1;
    bytes.fill(0xa7, 72, end);
    writeFileSync(join(folder, name), bytes);
    const before = actorFiles();
    for (let start = 0; start < 2; start += 1)
      await expect(startServer({ dataDir })).rejects.toMatchObject({
        code: 'DATA_CORRUPTED',
        message: expect.stringContaining('data.mdb is missing'),
      });
    expect(actorFiles()).toEqual(before);
  });
});

describe('the registry of a data directory', () => {
  const kinds = actorKinds(defaultLimits);
  const later = { firstSequence: 5, lastSequence: 9 };
  const empty = { firstSequence: 1, lastSequence: 0 };
  const require = (journal: JournalExtent) => () => requireRegistry(dataDir, journal, kinds);
  const damage = expect.objectContaining({ code: 'DATA_CORRUPTED' });

  it('may be missing with an empty journal, and beside nothing else', () => {
    expect(require(empty)).not.toThrow();
    expect(require(later)).toThrow(damage);
    mkdirSync(join(dataDir, 'actors/acme/tenant'), { recursive: true });
    expect(require(empty)).toThrow(damage);
    expect(require({ ...later, firstSequence: 1 })).not.toThrow();
  });

  it('is refused with a damaged page before LMDB reads it', async () => {
    await fill(0);
    expect(require(later)).not.toThrow();
    const file = join(dataDir, 'actors/default/tenant/data.mdb');
    const root = Number(trustedRoot(file)?.root);
    const bytes = readFileSync(file);
    bytes.fill(0xa7, root * 4096 + 3000, (root + 1) * 4096);
    writeFileSync(file, bytes);
    expect(require(later)).toThrow(`${file} is damaged (`);
  });
});
