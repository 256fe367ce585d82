import { copyFileSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type ServerProcess, startServerProcess } from '#test/support/server-process.ts';
import { until } from '#test/support/until.ts';

let servers: ServerProcess[] = [];

afterEach(async () => {
  for (const server of servers) await server.close();
  servers = [];
});

async function start(options: Parameters<typeof startServerProcess>[0] = {}): Promise<ServerProcess> {
  const server = await startServerProcess(options);
  servers.push(server);
  return server;
}

describe('hands on the data directory of a running server', () => {
  it('that remove its lock file let no second server start, and stop the writes of the first one', async () => {
    const first = await start();
    const token = await first.logIn();
    const create = (name: string) =>
      first.request('POST', '/api/repositories', { token, body: { repo_id: name } });
    expect((await create('before')).status).toBe(201);
    rmSync(join(first.dataDir, 'lock'));
    // At once, not with the next look.
    expect((await create('after')).json.code).toBe('WRITES_STOPPED');
    const second = await start({ dataDir: first.dataDir, waitForExit: true });
    expect(await second.exited).toEqual({ code: 1, signal: null });
    expect(second.stderr).toContain('is in use by a process whose lock file in it was removed');
    const ready = await first.request('GET', '/ready');
    expect(ready.status).toBe(503);
    expect(ready.text).toContain('lock was removed under the running server');
    const status = await first.request('GET', '/api/management/cluster', { token });
    expect(status.text).toContain('writes-stopped');
    expect(first.stdout).toContain('lock was removed under the running server');
    // Reads go on, and a start brings everything back that was answered.
    expect((await first.request('GET', '/api/repositories/before', { token })).status).toBe(200);
    await first.kill('SIGTERM');
    const third = await start({ dataDir: first.dataDir });
    const again = { token: await third.logIn() };
    expect((await third.request('GET', '/api/repositories/before', again)).status).toBe(200);
  });

  it('are noticed without any writes', async () => {
    const server = await start();
    rmSync(join(server.dataDir, 'lock'));
    const told = 'lock was removed under the running server';
    await until(() => server.stdout.includes(told), 'the loss is told');
    expect((await server.request('GET', '/ready')).status).toBe(503);
  });

  const harms: readonly [string, (path: string) => void][] = [
    ['remove', (path) => rmSync(path)],
    ['empty', (path) => truncateSync(path, 0)],
  ];

  it.each(harms)('that %s its journal stop writes until nothing of it can be lost', async (_, harm) => {
    const server = await start();
    const token = await server.logIn();
    const create = (name: string) =>
      server.request('POST', '/api/repositories', { token, body: { repo_id: name } });
    expect((await create('before')).status).toBe(201);
    const folder = join(server.dataDir, 'journal');
    for (const name of readdirSync(folder)) if (name.endsWith('.journal')) harm(join(folder, name));
    const ready = async () => (await server.request('GET', '/ready')).status;
    await until(() => server.stdout.includes('under the running server'), 'the loss is told');
    await until(async () => (await ready()) === 200, 'writes go on');
    const goesOn = 'journal: writable again; no acknowledged write was lost';
    await until(() => server.stdout.includes(goesOn), 'that they go on is told');
    expect((await create('after')).status).toBe(201);
    await server.kill('SIGKILL');
    const again = await start({ dataDir: server.dataDir });
    const login = { token: await again.logIn() };
    for (const name of ['before', 'after'])
      expect((await again.request('GET', `/api/repositories/${name}`, login)).status).toBe(200);
    expect((await again.request('GET', '/ready')).json).toMatchObject({ missing: [], stopped_actors: 0 });
  });

  it('that copy an earlier shard over one have nothing of it served, and nothing written by it', async () => {
    const server = await start();
    const token = await server.logIn();
    const file = join(server.dataDir, 'actors/default/tenant/data.mdb');
    const earlier = join(server.dataDir, 'earlier.mdb');
    const create = (name: string) =>
      server.request('POST', '/api/repositories', { token, body: { repo_id: name } });
    const isApplied = async (): Promise<boolean> => {
      const { json } = await server.request('GET', '/api/management/cluster', { token });
      return json.members[0].load.pending_bytes === 0;
    };
    for (const name of ['known-before', 'known-after']) {
      // A copy that is taken while something is applied is none that can be opened.
      await until(isApplied, 'everything is applied');
      copyFileSync(file, earlier);
      expect((await create(name)).status).toBe(201);
    }
    await until(isApplied, 'everything is applied');
    // In place: a file that is cut meanwhile would end the process that has it mapped.
    writeFileSync(file, readFileSync(earlier), { flag: 'r+' });
    const told = 'another file was copied over it under the running server';
    const refused = await create('more');
    expect([refused.status, refused.json.code]).toEqual([500, 'DATA_CORRUPTED']);
    expect((await server.request('GET', '/api/repositories/known-before', { token })).status).toBe(500);
    expect((await server.request('GET', '/ready')).json).toMatchObject({ stopped_actors: 1 });
    const status = await server.request('GET', '/api/management/cluster', { token });
    expect(status.text).toContain('default/tenant/data.mdb is damaged');
    expect(server.stdout).toContain(told);
    await server.kill('SIGKILL');
    const again = await start({ dataDir: server.dataDir });
    const login = { token: await again.logIn() };
    for (const [name, expected] of [
      ['known-before', 200],
      ['known-after', 200],
      ['more', 404],
    ] as const)
      expect((await again.request('GET', `/api/repositories/${name}`, login)).status).toBe(expected);
    expect((await again.request('GET', '/ready')).json).toMatchObject({ missing: [], stopped_actors: 0 });
  });

  it('that allow it too few open files hear so, with the exit code of a configuration', async () => {
    const server = await start({ openFilesMax: 40, waitForExit: true });
    expect(await server.exited).toEqual({ code: 2, signal: null });
    expect(server.stderr).toContain('the system allows this process 40 open files');
  });

  it.each(['10', 'many'])(
    'that set the limit of request heads to %j hear so, instead of a server that answers everything with 431',
    async (limit) => {
      const server = await start({ env: { UWS_HTTP_MAX_HEADERS_SIZE: limit }, waitForExit: true });
      expect(await server.exited).toEqual({ code: 2, signal: null });
      expect(server.stderr).toContain('UWS_HTTP_MAX_HEADERS_SIZE must be a whole number');
      expect(server.stderr).toContain(`not '${limit}'`);
    },
  );
});
