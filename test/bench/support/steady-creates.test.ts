import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { SteadyCreates } from '../../../bench/support/steady-creates.ts';

const PATIENCE_MS = 10_000;

let server: Server | undefined;
afterEach(() => server?.close());

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void;

/** A server whose answers the test decides on. */
async function listen(handle: Handler): Promise<SteadyCreates> {
  server = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk) => (body += chunk));
    request.on('end', () => handle(request, response, body));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return new SteadyCreates({ port, token: 'secret', folderUrl: '/load' }, 2, 1_000);
}

/** Keeps the names it was sent, and lists them two to a page. */
function keeping(names: string[], isKept: (name: string) => boolean = () => true): Handler {
  return ({ method, url }, response, body) => {
    if (method === 'POST') {
      const { name } = JSON.parse(body) as { name: string };
      if (isKept(name)) names.push(name);
      response.writeHead(201).end();
      return;
    }
    const cursor = Number(new URL(url ?? '', 'http://localhost').searchParams.get('cursor'));
    const items = names.slice(cursor, cursor + 2).map((name) => ({ name }));
    const next = cursor + 2 < names.length ? String(cursor + 2) : null;
    response.end(JSON.stringify({ items, next_cursor: next }));
  };
}

it('finds everything that was acknowledged where nothing is lost', async () => {
  const names: string[] = [];
  const writes = await listen(keeping(names));
  await writes.acknowledgedSince(performance.now(), PATIENCE_MS);
  await writes.end();
  expect(writes.acknowledgedMs.length).toBe(names.length);
  expect(writes.acknowledgedMs.toSorted((a, b) => a - b)).toEqual(writes.acknowledgedMs);
  expect(writes.failures).toEqual([]);
  expect(await writes.missing()).toEqual([]);
});

it('names what was acknowledged and is not there', async () => {
  const writes = await listen(keeping([], (name) => name !== 'w-1-0'));
  await writes.acknowledgedSince(performance.now(), PATIENCE_MS);
  await writes.end();
  expect(await writes.missing()).toEqual(['w-1-0']);
});

it('counts refusals and lost answers, repeats neither, and goes on', async () => {
  const names: string[] = [];
  const sent: string[] = [];
  const keep = keeping(names);
  const writes = await listen((request, response, body) => {
    if (request.method === 'POST') sent.push((JSON.parse(body) as { name: string }).name);
    if (sent.length === 3) response.writeHead(503).end();
    else if (sent.length === 4) response.destroy();
    else keep(request, response, body);
  });
  await writes.acknowledgedSince(performance.now(), PATIENCE_MS);
  while (sent.length < 8) await writes.acknowledgedSince(performance.now(), PATIENCE_MS);
  await writes.end();
  expect(writes.failures.map(({ status }) => status).sort()).toEqual([0, 503]);
  expect(new Set(sent).size).toBe(sent.length);
  expect(writes.acknowledgedMs.length).toBe(sent.length - 2);
});

it('does not take silence for an answer', async () => {
  const waiting: ServerResponse[] = [];
  let isSilent = true;
  let answers = 0;
  const answer = (response: ServerResponse): void => {
    answers += 1;
    response.writeHead(201).end();
  };
  const writes = await listen((_request, response) => {
    if (isSilent) waiting.push(response);
    else answer(response);
  });
  const tick = 20;
  await expect(writes.acknowledgedSince(performance.now(), tick)).rejects.toThrow(
    'no write was acknowledged',
  );
  const ended = writes.end();
  // A request may still be on its way.
  isSilent = false;
  waiting.forEach(answer);
  await ended;
  expect(answers).toBeGreaterThan(0);
  expect(writes.acknowledgedMs.length).toBe(answers);
});
