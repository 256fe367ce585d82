import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ask, RawClient, type RunningServer, route, start } from './http-fixture.ts';

const table = [
  route('GET', '/now/{name}', (request) => ({ status: 200, json: request.segment('name') })),
  route('GET', '/later/{path*}', async (request) => ({
    status: 200,
    json: [request.param('path'), request.query.findName(() => false)],
  })),
  route('POST', '/json', (request) => ({ status: 200, json: request.body }), {
    body: 'json',
    auth: 'optional',
  }),
  route('PUT', '/json', async (request) => ({ status: 200, json: request.body }), { body: 'optional-json' }),
  route(
    'POST',
    '/upload',
    async (request) => {
      let bytes = 0;
      for await (const piece of request.stream()) bytes += piece.length;
      return { status: 200, json: bytes };
    },
    { body: 'stream' },
  ),
];

const valid = [
  'GET /now/a%20b?x=1 HTTP/1.1\r\nHost: x\r\n\r\n',
  'GET /later/a/b/?q=%41&q=2 HTTP/1.1\r\nHost: x\r\nX-Request-Id: a\r\n\r\n',
  'POST /json HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"a":[1,{"b":2}',
  'PUT /json HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n',
  'POST /upload HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello',
  'OPTIONS /json HTTP/1.1\r\nHost: x\r\nOrigin: https://a\r\nAccess-Control-Request-Method: GET\r\n\r\n',
  'HEAD /now/x HTTP/1.1\r\nHost: x\r\nAccept-Encoding: br\r\n\r\n',
];

/** Sends the pieces and hangs up; resolves when the server has closed its side or answered something. */
async function hurl(port: number, pieces: readonly Uint8Array[]): Promise<void> {
  const client = await RawClient.connect(port);
  for (const piece of pieces) {
    client.write(piece);
    await new Promise((resolve) => setImmediate(resolve));
  }
  client.socket.end();
  await client.closed;
}

async function stillServes({ port, server }: RunningServer): Promise<void> {
  expect((await ask(port, '/health')).text).toBe('ok');
  expect(server.inFlightCount).toBeLessThan(5);
}

it('goes on serving after any bytes on a socket', async () => {
  const server = await start(table);
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.uint8Array({ minLength: 1, maxLength: 300 }), { maxLength: 4 }),
      async (pieces) => {
        await hurl(server.port, pieces);
        await stillServes(server);
      },
    ),
    { numRuns: 150 },
  );
});

it('goes on serving through damaged, cut and glued requests', async () => {
  const server = await start(table);
  const damaged = fc
    .tuple(
      fc.array(fc.constantFrom(...valid), { minLength: 1, maxLength: 3 }),
      fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 })), { maxLength: 3 }),
      fc.nat(),
      fc.nat(),
    )
    .map(([requests, changes, cut, end]) => {
      const bytes = Buffer.from(requests.join(''), 'latin1');
      for (const [at, value] of changes) bytes[at % bytes.length] = value;
      const kept = bytes.subarray(0, 1 + (end % bytes.length));
      const where = cut % kept.length;
      return [kept.subarray(0, where), kept.subarray(where)].filter((piece) => piece.length > 0);
    });
  await fc.assert(
    fc.asyncProperty(damaged, async (pieces) => {
      await hurl(server.port, pieces);
      await stillServes(server);
    }),
    { numRuns: 300 },
  );
  expect(server.log).toEqual([]);
});
