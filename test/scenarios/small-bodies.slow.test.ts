import net from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { anything } from '#test/support/content-client.ts';
import { type ServerProcess, startServerProcess } from '#test/support/server-process.ts';

/** Less than the values of all bodies below take together. */
const HEAP_MIB = 128;
const WRITES = 1_500;
/** Empty arrays in one body: it comes whole, and takes many times its length. */
const VALUES = 19_000;

let server: ServerProcess;
let token: string;
const sockets: net.Socket[] = [];
const head = '/api/repository/crowd/main/head/space';

const ask = (method: string, path: string, body?: unknown) =>
  server.request(method, path, body === undefined ? { token } : { token, body });

beforeAll(async () => {
  server = await startServerProcess({ env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` } });
  token = await server.logIn();
  expect((await ask('POST', '/api/repositories', { repo_id: 'crowd' })).status).toBe(201);
  expect((await ask('PUT', '/api/workspaces/crowd/space', anything)).status).toBe(204);
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await server.close();
});

/** Writes a node. @returns the status and the seconds after which to try again */
function write(name: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const properties = { values: Array(VALUES).fill([]) };
    const body = JSON.stringify({ name, node_type: 'svc:Folder', properties });
    const socket = net.connect(server.port, '127.0.0.1');
    sockets.push(socket);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('closed before it was answered')));
    socket.once('data', (chunk) => {
      const text = chunk.toString('latin1');
      resolve(`${text.slice(9, 12)} ${/^retry-after: (\d+)/im.exec(text)?.[1] ?? ''}`);
    });
    const lines = [
      `POST ${head}/ HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${token}`,
      'Content-Type: application/json',
      `Content-Length: ${Buffer.byteLength(body)}`,
    ];
    socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
  });
}

it('of many small writes at once those are refused that the heap has no room for', async () => {
  const answers = await Promise.all(Array.from({ length: WRITES }, (_, n) => write(`n${n}`)));
  const kinds = new Set(answers);
  expect([...kinds].filter((kind) => kind !== '503 1' && kind !== '429 1')).toEqual(['201 ']);
  expect((await ask('POST', `${head}/`, { name: 'after', node_type: 'svc:Folder' })).status).toBe(201);
});
