import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { rebuildCatalogue } from '#server/salvage/rebuilt-catalogue.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { ContentClient } from '#test/support/content-client.ts';
import { actorOf, branchFile } from '#test/support/damaged-directory.ts';
import { startServer } from '#test/support/server.ts';
import { type ServerProcess, startServerProcess } from '#test/support/server-process.ts';

let root: string;
let dataDir: string;
let servers: ServerProcess[] = [];

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'grove-damaged-start-'));
  dataDir = join(root, 'killed');
  const folder = join(root, 'data');
  const server = await startServer({ dataDir: folder });
  try {
    for (const name of ['mag', 'shop']) await server.createRepository(name);
    const space = await new ContentClient(server, 'mag').workspace();
    for (let number = 0; number < 40; number += 1) await space.addAll(`/n${number}`);
    await new ContentClient(server, 'shop').workspace();
    await server.restart();
    Object.assign(space.client, { server });
    for (let number = 0; number < 40; number += 1) await space.addAll(`/m${number}`);
    // As a power cut or kill -9 leaves it: the last writes are in the journal alone.
    cpSync(folder, dataDir, { recursive: true });
  } finally {
    await server.close();
  }
}, 60_000);

afterEach(async () => {
  for (const server of servers) await server.close();
  servers = [];
  rmSync(root, { recursive: true, force: true });
});

async function start(env: Record<string, string> = {}): Promise<ServerProcess> {
  const server = await startServerProcess({ dataDir, env, waitForNothing: true });
  servers.push(server);
  return server;
}

/** Makes the stored position of a shard longer than its file: LMDB ends the process when it reads that. */
function damage(path: string): void {
  const bytes = readFileSync(path);
  for (let at = bytes.indexOf('position'); at >= 0; at = bytes.indexOf('position', at + 1))
    if (bytes.readUInt16LE(at - 2) === 8 && bytes.readUInt16LE(at - 8) === 18)
      bytes[at - 6] = (bytes[at - 6] as number) ^ 0xff;
  writeFileSync(path, bytes);
}

/** Makes the row of an actor longer than the catalogue it is in. */
function damageRow(path: string, actor: string): void {
  const bytes = readFileSync(path);
  let damaged = 0;
  for (let at = bytes.indexOf(actor); at >= 0; at = bytes.indexOf(actor, at + 1)) {
    // Of the actor itself, not of one whose name begins so.
    if (bytes.readUInt16LE(at - 2) > actor.length + 1) continue;
    bytes[at - 6] = 0xff;
    damaged += 1;
  }
  expect(damaged).toBeGreaterThan(0);
  writeFileSync(path, bytes);
}

describe('a catalogue over which LMDB would end the process [DUR-026]', () => {
  it('refuses each start with its name and the remedy, changes nothing, and can be rebuilt', async () => {
    const path = join(dataDir, 'actors', '.catalogue', 'data.mdb');
    damageRow(path, actorOf(dataDir, branchFile(dataDir, 'mag')));
    const damaged = readFileSync(path);
    for (let restart = 0; restart < 2; restart += 1) {
      const server = await start();
      expect(await server.exited).toMatchObject({ code: 1, signal: null });
      expect(server.stdout + server.stderr).toContain(`${path} is damaged`);
      expect(server.stdout + server.stderr).toContain('npm run rebuild-catalogue');
      expect(readFileSync(path).equals(damaged)).toBe(true);
    }
    await rebuildCatalogue({ dataDir, clock: systemClock, random: systemRandom });
    const last = await start();
    await last.ready();
    expect((await last.request('GET', '/ready')).json).toMatchObject({ stopped_actors: 0 });
  }, 60_000);
});

describe('a shard over which LMDB ends the process [DUR-026]', () => {
  it('ends one start; from then on only its own branch is refused, until its file is back', async () => {
    const path = branchFile(dataDir, 'mag');
    const whole = readFileSync(path);
    damage(path);
    const first = await start();
    expect((await first.exited).signal ?? 'none').toMatch(/^SIG(?:SEGV|BUS)$/);
    for (let restart = 0; restart < 2; restart += 1) {
      const server = await start();
      await server.ready();
      expect(server.stdout).toContain('ended while it used a shard');
      expect((await server.request('GET', '/ready')).json).toMatchObject({ stopped_actors: 1 });
      const token = await server.logIn();
      const head = (repository: string) => `/api/repository/${repository}/main/head/space-1/`;
      expect((await server.request('GET', head('mag'), { token })).json.code).toBe('DATA_CORRUPTED');
      expect((await server.request('GET', head('shop'), { token })).status).toBe(200);
      const status = await server.request('GET', '/api/management/cluster', { token });
      expect(status.text).toContain(path);
      // What is known of it is known to the next one as well, however this one ends.
      await server.kill(restart === 0 ? 'SIGKILL' : 'SIGTERM');
    }
    writeFileSync(path, whole);
    const last = await start();
    await last.ready();
    const token = await last.logIn();
    const listed = await last.request('GET', '/api/repository/mag/main/head/space-1/m39', { token });
    expect(listed.status).toBe(200);
    expect((await last.request('GET', '/ready')).json).toMatchObject({ stopped_actors: 0 });
  }, 120_000);

  it('does not refuse a start that meets a damaged page while it writes what the journal has', async () => {
    const path = branchFile(dataDir, 'mag');
    const whole = readFileSync(path);
    const bytes = Buffer.from(whole);
    // Pages of rows that the last writes go to; what an opening reads is left whole.
    for (let at = bytes.indexOf('/n1'); at >= 0; at = bytes.indexOf('/n1', at + 1))
      bytes.fill(0xdf, at - (at % 4096), at - (at % 4096) + 4096);
    writeFileSync(path, bytes);
    const server = await start();
    await server.ready();
    expect((await server.request('GET', '/ready')).json).toMatchObject({ stopped_actors: 1 });
    const token = await server.logIn();
    const head = (repository: string) => `/api/repository/${repository}/main/head/space-1/`;
    expect((await server.request('GET', head('mag'), { token })).json.code).toBe('DATA_CORRUPTED');
    expect((await server.request('GET', head('shop'), { token })).status).toBe(200);
    await server.kill('SIGTERM');
    writeFileSync(path, whole);
    const last = await start();
    await last.ready();
    const listed = await last.request('GET', '/api/repository/mag/main/head/space-1/m39', {
      token: await last.logIn(),
    });
    expect(listed.status).toBe(200);
  }, 60_000);

  it('is recorded while a start writes to it, so that the next one verifies it and continues', async () => {
    const first = await start({ SVC_CRASH_POINT: 'mid-apply:1' });
    expect((await first.exited).code).not.toBe(0);
    const noted = readFileSync(join(dataDir, 'actors', '.in-hand'), 'utf8')
      .trim()
      .split('\n')
      .at(-1);
    const actor = /^opening (default\/\S+)$/.exec(noted ?? '')?.[1] as string;
    expect(actor).toBeDefined();
    const second = await start();
    await second.ready();
    expect(second.stdout).toContain(`"actor":"${actor}","done":0,"of":1`);
    expect((await second.request('GET', '/ready')).json).toMatchObject({ stopped_actors: 0 });
  }, 60_000);
});
