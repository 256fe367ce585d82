import { readdirSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type ServerProcess, startServerProcess } from '#test/support/server-process.ts';

let server: ServerProcess;
const sockets: Socket[] = [];

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server.close();
});

/** Idle connections of somebody who has not logged in; those that are closed are not opened again. */
async function flood(port: number, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, () => {
      const socket = connect(port, '127.0.0.1');
      sockets.push(socket);
      socket.on('error', () => undefined);
      return new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
    }),
  );
}

describe('a flood of idle connections', () => {
  it('takes none of the open files that writes need', async () => {
    server = await startServerProcess({ openFilesMax: 128 });
    expect(server.stdout).toContain('the system allows too few open files');
    const token = await server.logIn();
    const create = async (name: string): Promise<number> => {
      const answer = await server.request('POST', '/api/repositories', { token, body: { repo_id: name } });
      return answer.status;
    };
    expect(await create('before')).toBe(201);
    await flood(server.port, 140);
    const files = readdirSync(`/proc/${server.pid}/fd`).length;
    expect(files).toBeLessThan(110);
    for (let index = 0; index < 5; index += 1) expect(await create(`flood-${index}`)).toBe(201);
    const ready = await server.request('GET', '/ready');
    expect([ready.status, ready.json.missing]).toEqual([200, []]);
  });
});
