import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { rebuildCatalogue } from '#server/salvage/rebuilt-catalogue.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { decodeJsonRow } from '#runtime/shard/json-row.ts';
import { LmdbShard } from '#runtime/shard/lmdb-shard.ts';
import { storedHead } from '#runtime/shard/stored-head.ts';
import { ContentClient, expectStatus } from '#test/support/content-client.ts';
import { branchFile, check } from '#test/support/damaged-directory.ts';
import { runProgram } from '#test/support/run-program.ts';
import { startServer, type TestServer } from '#test/support/server.ts';

const page = { name: 'kept', node_type: 'svc:Page', properties: { title: 'kept' } };

let root: string;
let whole: string;
let dataDir: string;
/** Addresses of a page in each of two repositories. */
const kept: string[] = [];

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), 'grove-rebuild-'));
  whole = join(root, 'whole');
  const server = await startServer({ dataDir: whole });
  for (const name of ['one', 'two']) {
    const client = new ContentClient(server, await server.createRepository(name));
    const space = await client.workspace();
    expectStatus(await space.post('/', page), 201);
    kept.push(`/api/repository/${name}/main/head/${space.name}/kept`);
  }
  const lock = { key: 'k', ttl_ms: 600_000 };
  expectStatus(await server.admin('POST', '/api/one/main/locks/acquire', lock), 200);
  // So that the journal does not make everything again.
  for (let restart = 0; restart < 2; restart += 1) {
    await server.restart();
    await server.createRepository(`later${restart}`);
  }
  await server.close();
});

afterAll(() => rmSync(root, { recursive: true, force: true }));

beforeEach(() => {
  dataDir = mkdtempSync(join(root, 'case-'));
  cpSync(whole, dataDir, { recursive: true });
});

const rebuild = () => rebuildCatalogue({ dataDir, clock: systemClock, random: systemRandom });

/** What a request for each page is answered with, and who is not served. */
async function judge(server: TestServer): Promise<readonly unknown[]> {
  const answers: unknown[] = [];
  for (const path of kept) answers.push((await server.admin('GET', path)).status);
  answers.push((await server.request('GET', '/ready')).json.stopped_actors);
  return answers;
}

describe('a catalogue that is lost', () => {
  it.each(['missing', 'damaged'] as const)('is made of the other files when it is %s', async (how) => {
    const path = join(dataDir, 'actors/.catalogue');
    if (how === 'missing') rmSync(path, { recursive: true });
    else writeFileSync(join(path, 'data.mdb'), 'x'.repeat(20_000));
    await expect(startServer({ dataDir })).rejects.toThrow(/npm run rebuild-catalogue/);
    const { actors, keptAt, remarks } = await rebuild();
    expect([remarks, keptAt !== undefined]).toEqual([[], how === 'damaged']);
    expect(actors).toBeGreaterThan(8);
    for (let start = 0; start < 2; start += 1) {
      const server = await startServer({ dataDir });
      expect(await judge(server)).toEqual([200, 200, 0]);
      const taken = await server.admin('POST', '/api/one/main/locks/acquire', { key: 'k', ttl_ms: 1000 });
      expect(taken.status).not.toBe(200);
      await server.createRepository(`new${start}`);
      await server.close();
    }
  });

  it('misses what a registry names, and serves it when it is back', async () => {
    rmSync(join(dataDir, 'actors/.catalogue'), { recursive: true });
    const repositories = join(dataDir, 'actors/default');
    const one = readdirSync(repositories).find((name) => name.startsWith('one')) as string;
    const branch = readdirSync(join(repositories, one)).find((name) => name.startsWith('main')) as string;
    const lost = join('actors/default', one, branch, 'branch');
    rmSync(join(dataDir, lost), { recursive: true });
    const told = await runProgram('server/salvage/rebuild-catalogue.ts', ['--data-dir', dataDir]);
    expect([told.code, told.stderr]).toEqual([3, '']);
    expect(told.stdout).toContain(`${join(dataDir, lost)}: it is missing`);
    let server = await startServer({ dataDir });
    expect((await judge(server)).slice(0, 2)).toEqual([500, 200]);
    await server.close();
    cpSync(join(whole, lost), join(dataDir, lost), { recursive: true });
    expect((await rebuild()).remarks).toEqual([]);
    server = await startServer({ dataDir });
    expect(await judge(server)).toEqual([200, 200, 0]);
    await server.close();
  });

  it.each([
    ['file', true],
    ['folder', true],
    ['folder, and the file of the registry that names it', true],
    ['file', false],
  ])(
    'misses a fork that lost its %s, unless the journal can make it; its source has gone on: %s',
    async (lost, hasGoneOn) => {
      dataDir = join(root, `fork-${lost}-${hasGoneOn}`);
      let server = await startServer({ dataDir });
      const client = new ContentClient(server, await server.createRepository('one'));
      const space = await client.workspace();
      expectStatus(await space.post('/', page), 201);
      expectStatus(await client.managed('POST', '/branches', { name: 'side', upstream_branch: 'main' }), 201);
      const side = `/api/repository/one/side/head/${space.name}/`;
      expectStatus(await server.admin('POST', side, { ...page, name: 'own' }), 201);
      if (hasGoneOn) expectStatus(await space.post('/', { ...page, name: 'later' }), 201);
      await server.close();
      const repositories = join(dataDir, 'actors/default');
      const one = join(
        repositories,
        readdirSync(repositories).find((name) => name.startsWith('one')) as string,
      );
      const branch = join(one, readdirSync(one).find((name) => name.startsWith('side')) as string, 'branch');
      rmSync(lost === 'file' ? join(branch, 'data.mdb') : branch, { recursive: true });
      if (lost.includes('registry')) rmSync(join(one, 'repository/data.mdb'));
      if (hasGoneOn)
        expect((await check(dataDir)).damage).toMatchObject([
          { file: expect.stringContaining(branch) as string },
        ]);
      rmSync(join(dataDir, 'actors/.catalogue'), { recursive: true });
      const { remarks } = await rebuild();
      expect(remarks).toEqual(hasGoneOn ? [expect.stringContaining(branch)] : []);
      for (let start = 0; start < 2; start += 1) {
        server = await startServer({ dataDir });
        const answers: number[] = [];
        for (const name of ['kept', 'own']) answers.push((await server.admin('GET', side + name)).status);
        answers.push((await server.request('GET', '/ready')).json.stopped_actors as number);
        expect(answers).toEqual(hasGoneOn ? [500, 500, 1] : [200, 200, 0]);
        await server.close();
      }
    },
  );

  it.each(['actor', 'directory'])('serves nothing of the file of another %s', async (what) => {
    const place = branchFile(dataDir, 'one');
    let other = branchFile(dataDir, 'two');
    if (what === 'directory') {
      // Of the same actor: restored from a backup into another place, say.
      other = join(root, 'of-another-directory', 'data.mdb');
      const identity = storedHead(place)?.identity as Uint8Array;
      const [, actor, created] = decodeJsonRow(identity) as [string, string, number];
      const copy = new LmdbShard(join(other, '..'), []);
      await copy.claim({ directory: 'another', actor, created });
      await copy.close();
    }
    cpSync(other, place);
    rmSync(join(dataDir, 'actors/.catalogue'), { recursive: true });
    expect((await rebuild()).remarks).toEqual([expect.stringContaining(place)]);
    const server = await startServer({ dataDir });
    expect(await judge(server)).toEqual([500, 200, 1]);
    await server.close();
  });

  it('keeps which master key the directory was made with, where the one before it can be read', async () => {
    expect(await rebuild()).toMatchObject({ knowsKey: true, remarks: [] });
    rmSync(join(dataDir, 'secrets/master-key'));
    await expect(startServer({ dataDir })).rejects.toThrow(/master-key is missing/);
    rmSync(join(dataDir, 'actors/.catalogue'), { recursive: true });
    const told = await runProgram('server/salvage/rebuild-catalogue.ts', ['--data-dir', dataDir]);
    expect([told.code, told.stderr]).toEqual([0, '']);
    expect(told.stdout).toContain('does not know the master key');
  });

  it('is left alone while a server has the directory', async () => {
    const server = await startServer({ dataDir });
    await expect(rebuild()).rejects.toMatchObject({ code: 'CONFLICT' });
    expect(await judge(server)).toEqual([200, 200, 0]);
    await server.close();
  });
});
