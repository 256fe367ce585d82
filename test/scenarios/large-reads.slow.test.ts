import net from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { anything } from '#test/support/content-client.ts';
import { type ServerProcess, startServerProcess } from '#test/support/server-process.ts';

/** Less than the texts of all reads below take together. */
const HEAP_MIB = 128;
const NODE_BYTES = 4 * 1024 * 1024;
const READS = 300;

let server: ServerProcess;
let token: string;
const sockets: net.Socket[] = [];
const head = '/api/repository/heavy/main/head/space';

const ask = (method: string, path: string, body?: unknown) =>
  server.request(method, path, body === undefined ? { token } : { token, body });

beforeAll(async () => {
  server = await startServerProcess({ env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` } });
  token = await server.logIn();
  expect((await ask('POST', '/api/repositories', { repo_id: 'heavy' })).status).toBe(201);
  expect((await ask('PUT', '/api/workspaces/heavy/space', anything)).status).toBe(204);
  const large = { name: 'large', node_type: 'svc:Folder', properties: { text: 'x'.repeat(NODE_BYTES) } };
  expect((await ask('POST', `${head}/`, large)).status).toBe(201);
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await server.close();
});

/** Asks for the length of an answer alone. @returns the first line of what comes back */
function headOf(path: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = net.connect(server.port, '127.0.0.1');
    sockets.push(socket);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('closed before it was answered')));
    socket.once('data', (chunk) => resolve(chunk.toString('latin1').split('\r\n', 1)[0] as string));
    socket.write(`HEAD ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  });
}

it('many concurrent reads of one large node are all answered', async () => {
  const lines = await Promise.all(Array.from({ length: READS }, () => headOf(`${head}/large`)));
  expect(lines).toEqual(Array(READS).fill('HTTP/1.1 200 OK'));
  expect((await ask('POST', `${head}/`, { name: 'small', node_type: 'svc:Folder' })).status).toBe(201);
});
