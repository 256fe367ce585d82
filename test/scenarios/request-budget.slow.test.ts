import net from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type ServerProcess, startServerProcess } from '#test/support/server-process.ts';
import { anything } from '#test/support/content-client.ts';

/** Less than the nodes below take together. */
const HEAP_MIB = 128;
const NODES = 40;
const NODE_BYTES = 4 * 1024 * 1024;

let server: ServerProcess;
let token: string;
const sockets: net.Socket[] = [];
const head = '/api/repository/heavy/main/head/space';

beforeAll(async () => {
  server = await startServerProcess({ env: { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` } });
  token = await server.logIn();
  await expectStatus(ask('POST', '/api/repositories', { repo_id: 'heavy' }), 201);
  await expectStatus(ask('PUT', '/api/workspaces/heavy/space', anything), 204);
  for (let index = 0; index < NODES; index += 1) {
    const text = `${'k'.repeat(5_000)}${index}`.padEnd(NODE_BYTES, 'x');
    const node = { name: `n${index}`, node_type: 'svc:Folder', properties: { text } };
    await expectStatus(ask('POST', `${head}/`, node), 201);
  }
});

afterAll(async () => {
  for (const socket of sockets) socket.destroy();
  await server.close();
});

const ask = (method: string, path: string, body?: unknown) =>
  server.request(method, path, body === undefined ? { token } : { token, body });

async function expectStatus(answer: ReturnType<typeof ask>, status: number): Promise<void> {
  const { status: found, text } = await answer;
  expect(found, text.slice(0, 300)).toBe(status);
}

/** A connection that asks for something and reads nothing. */
function askWithoutReading(path: string): void {
  const socket = net.connect(server.port, '127.0.0.1');
  socket.pause();
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  sockets.push(socket);
}

let written = 0;

async function stillServes(): Promise<void> {
  written += 1;
  const node = { name: `small-${written}`, node_type: 'svc:Folder' };
  await expectStatus(ask('POST', `${head}/`, node), 201);
}

it('sorts nodes that do not fit the heap together by texts that do not either', async () => {
  const answer = await ask('POST', `${head}/query/dsl`, { order_by: { 'properties.text': 'asc' }, limit: 1 });
  expect([answer.status, answer.json.page.total, answer.json.items[0].name]).toEqual([200, NODES, 'n0']);
  await stillServes();
});

it('streams a page of nodes that do not fit the heap', async () => {
  const bytes = await new Promise<number>((resolve, reject) => {
    const socket = net.connect(server.port, '127.0.0.1');
    let received = 0;
    socket.on('data', (chunk) => {
      received += chunk.length;
      if (chunk.subarray(-32).includes('\r\n0\r\n\r\n')) socket.destroy();
    });
    socket.on('close', () => resolve(received));
    socket.on('error', reject);
    socket.write(`GET ${head}/?limit=1000 HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  });
  expect(bytes).toBeGreaterThan(NODES * NODE_BYTES);
  await stillServes();
});

it('survives peers that request all of it and read nothing, and continues with writes [HTTP-054]', async () => {
  for (let index = 0; index < 60; index += 1) askWithoutReading(`${head}/?limit=1000`);
  for (let index = 0; index < 60; index += 1) askWithoutReading(`${head}/n${index % NODES}`);
  await stillServes();
  for (let index = 0; index < 100; index += 1) askWithoutReading(`${head}/?limit=${index + 1}`);
  await stillServes();
});

it('survives large bodies that are all sent at once', async () => {
  const raw = `[${'{},'.repeat(5_500_000)}{}]`.padEnd(16 * 1024 * 1024);
  const bodies = await Promise.all(
    Array.from({ length: 9 }, (_, index) =>
      server.request('POST', `${head}/query/dsl`, index % 3 === 0 ? { raw } : { raw, token }).then(
        ({ status }) => status,
        () => 'cut off',
      ),
    ),
  );
  for (const outcome of bodies) expect([413, 503, 'cut off']).toContain(outcome);
  await stillServes();
});
