import http from 'node:http';
import { describe, expect, it } from 'vitest';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { ask, eventually, gate, RawClient, route, SteppedClock, start } from '../http-fixture.ts';

const echo = route('POST', '/echo', (request) => ({ status: 200, json: request.body ?? 'nothing' }), {
  body: 'json',
});
const echoLater = route('PUT', '/echo', async (request) => ({ status: 200, json: request.body }), {
  body: 'json',
});

function head(length: number | string, path = '/echo', extra = ''): string {
  const framing = typeof length === 'number' ? `Content-Length: ${length}` : length;
  return `POST ${path} HTTP/1.1\r\nHost: x\r\n${framing}\r\n${extra}\r\n`;
}

const chunked = 'Transfer-Encoding: chunked';
const chunk = (text: string): string => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;

describe('JSON bodies', () => {
  it.each(['POST', 'PUT'])('parses a body for a %s handler', async (method) => {
    const { port } = await start([echo, echoLater]);
    const answer = await ask(port, '/echo', { method, body: '{"a": ["ü", 1]}' });
    expect([answer.status, answer.json]).toEqual([200, { a: ['ü', 1] }]);
  });

  it('reassembles a body from pieces that are cut inside a character', async () => {
    const { port } = await start([echo]);
    const bytes = Buffer.from(JSON.stringify({ text: 'grün 🌳'.repeat(3) }));
    const client = await RawClient.connect(port);
    client.write(head(bytes.length));
    for (const byte of bytes) client.write(Uint8Array.of(byte));
    await client.until('}');
    expect(Buffer.from(client.received.split('\r\n\r\n')[1] ?? '', 'latin1').equals(bytes)).toBe(true);
  });

  it('takes chunked bodies, in one piece and in several', async () => {
    const { port } = await start([echo]);
    const client = await RawClient.connect(port);
    client.write(`${head(chunked)}${chunk('[1,')}${chunk('2]')}0\r\n\r\n`);
    await client.until('[1,2]');
    // What follows the last chunk is not to be told from another request.
    await client.closed;
    expect(client.received).toContain('Connection: close');
    const second = await RawClient.connect(port);
    second.write(head(chunked));
    second.write(chunk('["fir'));
    second.write(chunk('st"]'));
    second.write('0\r\n\r\n');
    await second.until('["first"]');
  });

  it('takes a body of many megabytes', async () => {
    const { port } = await start([
      route('POST', '/size', (request) => ({ status: 200, json: (request.body as string).length }), {
        body: 'json',
      }),
    ]);
    const answer = await ask(port, '/size', { body: JSON.stringify('x'.repeat(15_000_000)) });
    expect(answer.json).toBe(15_000_000);
  });

  it('keeps __proto__ as data and lets the last of two equal keys win', async () => {
    const { port } = await start([echo]);
    const answer = await ask(port, '/echo', { body: '{"__proto__":{"polluted":1},"a":1,"a":2}' });
    expect(answer.text).toBe('{"__proto__":{"polluted":1},"a":2}');
    expect(({} as { polluted?: number }).polluted).toBeUndefined();
  });

  it.each([
    ['{"a": }', 400, 'INVALID_JSON', /position 6 \(line 1, column 7\)/],
    ['', 400, 'INVALID_JSON', /empty/],
    [Buffer.from('"\xff"', 'latin1'), 400, 'ENCODING_ERROR', /UTF-8/],
    ['['.repeat(10_000) + ']'.repeat(10_000), 400, 'VALIDATION_FAILED', /deeper than 128 levels/],
  ])('refuses %.20s [HTTP-010, HTTP-018, HTTP-019]', async (body, status, code, message) => {
    const { port } = await start([echo]);
    const answer = await ask(port, '/echo', { method: 'POST', body });
    expect(answer.status).toBe(status);
    expect(answer.json).toMatchObject({ code, message: expect.stringMatching(message) });
  });

  it('takes JSON types and no type, refuses others and coded bodies with 415', async () => {
    const { port } = await start([echo]);
    const withHeaders = (headers: http.OutgoingHttpHeaders) => ask(port, '/echo', { body: '{}', headers });
    for (const type of ['application/json; charset=utf-8', 'application/vnd.api+json']) {
      expect((await withHeaders({ 'Content-Type': type })).status).toBe(200);
    }
    expect((await withHeaders({})).status).toBe(200);
    for (const headers of [
      { 'Content-Type': 'text/plain' },
      { 'Content-Type': 'multipart/form-data; boundary=x' },
      { 'Content-Encoding': 'gzip' },
    ]) {
      const answer = await withHeaders(headers);
      expect([answer.status, (answer.json as { code: string }).code]).toEqual([
        415,
        'UNSUPPORTED_MEDIA_TYPE',
      ]);
    }
  });

  it('gives undefined for an empty optional body of any type, and refuses a broken one', async () => {
    const { port } = await start([
      route('POST', '/maybe', (request) => ({ status: 200, json: request.body === undefined }), {
        body: 'optional-json',
      }),
    ]);
    expect((await ask(port, '/maybe', { method: 'POST' })).json).toBe(true);
    const headers = { 'Content-Type': 'text/plain', 'Content-Length': 0 };
    expect((await ask(port, '/maybe', { method: 'POST', headers })).json).toBe(true);
    expect((await ask(port, '/maybe', { body: '{}' })).json).toBe(false);
    expect((await ask(port, '/maybe', { body: '{' })).status).toBe(400);
  });

  it('reads past a body on a route that ignores it', async () => {
    const { port } = await start([
      route('DELETE', '/thing', async () => ({ status: 204 }), { body: 'ignored' }),
    ]);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const body = 'x'.repeat(300_000);
    expect((await ask(port, '/thing', { method: 'DELETE', body, agent })).status).toBe(204);
    expect((await ask(port, '/health', { agent })).text).toBe('ok');
    agent.destroy();
  });

  it('grants Expect: 100-continue', async () => {
    const { port } = await start([echo]);
    const client = await RawClient.connect(port);
    client.write(head(2, '/echo', 'Expect: 100-continue\r\n'));
    await client.until('100 Continue\r\n\r\n');
    client.write('{}');
    await client.until('200 OK');
  });
});

describe('byte bodies', () => {
  it('hands over the bytes, which stay valid after the handler has waited', async () => {
    const { port } = await start([
      route(
        'PUT',
        '/bytes',
        async (request) => {
          await new Promise((resolve) => setImmediate(resolve));
          return { status: 200, raw: request.bytes, contentType: 'application/octet-stream' };
        },
        { body: 'bytes' },
      ),
    ]);
    const bytes = Uint8Array.from({ length: 256 }, (_, index) => index);
    const headers = { 'Content-Type': 'image/png' };
    const answer = await ask(port, '/bytes', { method: 'PUT', body: bytes, headers });
    expect([...answer.bytes]).toEqual([...bytes]);
  });
});

describe('body limits', () => {
  it('answers 413 to an announced length before any byte of the body [HTTP-017]', async () => {
    const { port } = await start([echo], { limits: { bodyBytesMax: 1_000 } });
    const client = await RawClient.connect(port);
    client.write(head(200_000_000));
    await client.until('PAYLOAD_TOO_LARGE');
    expect(client.received).toContain('413 Payload Too Large');
  });

  it('asks the peer to end a connection with much of a refused body to come, and no other', async () => {
    const { port } = await start([echo], { limits: { bodyBytesMax: 1_000 } });
    const ended = await RawClient.connect(port);
    ended.write(head(100_000));
    ended.write('x'.repeat(20_000));
    await ended.until('PAYLOAD_TOO_LARGE');
    expect(ended.received).toContain('\r\nConnection: close\r\n');
    const kept = await RawClient.connect(port);
    kept.write(head(60_000));
    await kept.until('PAYLOAD_TOO_LARGE');
    expect(kept.received).not.toContain('Connection:');
    kept.write('x'.repeat(60_000));
    kept.write(`${head(4)}"ab"`);
    await kept.until('"ab"');
  });

  it('asks for no end of a connection whose refused body has arrived', async () => {
    const { port } = await start([echo], { limits: { bodyBytesMax: 1_000_000, jsonValuesMax: 10 } });
    const client = await RawClient.connect(port);
    const body = JSON.stringify('x'.repeat(100).split('')).padEnd(200_000);
    client.write(`${head(body.length)}${body}`);
    await client.until('PAYLOAD_TOO_LARGE');
    expect(client.received).not.toContain('Connection:');
  });

  it('answers 413 to an unannounced length as soon as it is too long [HTTP-017]', async () => {
    const { port } = await start([echo], { limits: { bodyBytesMax: 1_000 } });
    const client = await RawClient.connect(port);
    client.write(head(chunked));
    client.write(chunk('x'.repeat(600)));
    client.write(chunk('x'.repeat(600)));
    await client.until('PAYLOAD_TOO_LARGE');
    // Nobody knows how much of it is to come, nor what follows it.
    await client.closed;
  });

  it('lets a route state its own bound', async () => {
    const { port } = await start(
      [
        { ...echo, bodyBytesMax: 10 },
        { ...echoLater, bodyBytesMax: 100 },
      ],
      {
        limits: { bodyBytesMax: 50 },
      },
    );
    const body = JSON.stringify('x'.repeat(60));
    expect((await ask(port, '/echo', { method: 'POST', body })).status).toBe(413);
    expect((await ask(port, '/echo', { method: 'PUT', body })).status).toBe(200);
  });

  it.each([200 * 1024 * 1024])(
    'reads past a body of %i bytes without keeping it, and keeps the connection',
    async (length) => {
      const { port } = await start([echo]);
      const client = await RawClient.connect(port);
      const before = process.memoryUsage();
      client.write(head(length));
      const piece = Buffer.alloc(1024 * 1024, 'x');
      let memoryMax = 0;
      for (let sent = 0; sent < 200; sent += 1) {
        if (!client.socket.write(piece)) await new Promise((resolve) => client.socket.once('drain', resolve));
        const now = process.memoryUsage();
        memoryMax = Math.max(
          memoryMax,
          now.external + now.arrayBuffers - before.external - before.arrayBuffers,
        );
      }
      await client.until('PAYLOAD_TOO_LARGE');
      client.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
      await client.until('\r\n\r\nok');
      expect(memoryMax).toBeLessThan(100 * 1024 * 1024);
    },
  );

  it('refuses bodies that together exceed the budget of the server, and frees it when they go', async () => {
    const { port, server } = await start([echo], { limits: { bodyBytesTotalMax: 1_500_000 } });
    const holder = await RawClient.connect(port);
    holder.write(head(1_000_000) + 'x'.repeat(900_000));
    await eventually(() => holder.socket.writableLength === 0, 'the first body is sent');
    // The server reads at most 512 KiB of a connection per turn; each answer here takes a turn at least.
    for (let turn = 0; turn < 4; turn += 1) await ask(port, '/health');
    expect(server.inFlightCount).toBe(1);
    const body = JSON.stringify('y'.repeat(1_200_000));
    const both = async (): Promise<number> => (await ask(port, '/echo', { body })).status;
    expect(await both()).toBe(503);
    holder.socket.destroy();
    await eventually(() => server.inFlightCount === 0, 'the first body is dropped');
    expect(await both()).toBe(200);
  });

  it('answers 408 to a body that trickles, and closes', async () => {
    const { port, observed } = await start([echo], {
      limits: { bodyWindowMs: 50, bodyWindowBytesMin: 1_000 },
    });
    const client = await RawClient.connect(port);
    client.write(head(10_000));
    const trickle = setInterval(() => client.write('x'), 5);
    await client.closed;
    clearInterval(trickle);
    expect(client.received).toMatch(
      /^HTTP\/1.1 408 Request Timeout[\s\S]*Connection: close[\s\S]*REQUEST_TIMEOUT/,
    );
    expect(observed.map((one) => one.status)).toEqual([408]);
  });

  it('answers 408 to a body that never begins', async () => {
    const { port } = await start([echo], { limits: { bodyWindowMs: 50 } });
    const client = await RawClient.connect(port);
    client.write(head(10));
    await client.closed;
    expect(client.received).toContain('408 Request Timeout');
  });

  it('lets a slow body pass that keeps its pace, and cuts it once it does not', async () => {
    const clock = new SteppedClock();
    let received = 0;
    const { port } = await start(
      [
        route(
          'POST',
          '/upload',
          async (request) => {
            for await (const piece of request.stream()) received += piece.length;
            return { status: 200 };
          },
          { body: 'stream' },
        ),
      ],
      { clock, limits: { bodyWindowMs: 100, bodyWindowBytesMin: 1 } },
    );
    const client = await RawClient.connect(port);
    client.write(head(1_000, '/upload'));
    for (let sent = 1; sent <= 20; sent += 1) {
      client.write('x');
      await eventually(() => received === sent, 'the byte has come');
      clock.advance(80);
    }
    expect(client.received).toBe('');
    clock.advance(250);
    await client.until('408 Request Timeout');
  });

  it('drops everything when the peer disconnects in the middle of a body', async () => {
    let calls = 0;
    const { port, server, observed } = await start([
      route(
        'POST',
        '/echo',
        () => {
          calls += 1;
          return { status: 200 };
        },
        { body: 'json' },
      ),
    ]);
    const client = await RawClient.connect(port);
    client.write(`${head(1_000)}{"a":`);
    await eventually(() => server.inFlightCount === 1, 'the body has begun');
    client.socket.destroy();
    await eventually(() => server.inFlightCount === 0, 'the request is over');
    expect(calls).toBe(0);
    expect(observed.map((one) => one.status)).toEqual([499]);
    expect((await ask(port, '/health')).text).toBe('ok');
  });
});

describe('streamed bodies', () => {
  const summing = route(
    'POST',
    '/upload',
    async (request) => {
      let bytes = 0;
      for await (const piece of request.stream()) bytes += piece.length;
      return { status: 200, json: bytes };
    },
    { body: 'stream', bodyBytesMax: 64_000_000 },
  );

  it('hands every byte to the handler, in order', async () => {
    const { port } = await start([
      route(
        'POST',
        '/upload',
        async (request) => {
          const pieces: Uint8Array[] = [];
          for await (const piece of request.stream()) pieces.push(piece);
          return { status: 200, raw: Buffer.concat(pieces), contentType: 'application/octet-stream' };
        },
        { body: 'stream' },
      ),
    ]);
    const bytes = Buffer.from(Uint32Array.from({ length: 500_000 }, (_, index) => index * 7).buffer);
    const answer = await ask(port, '/upload', { body: bytes });
    expect(answer.bytes.equals(bytes)).toBe(true);
    expect((await ask(port, '/upload', { method: 'POST' })).bytes).toHaveLength(0);
  });

  it('stops reading from the peer while the handler does not take what is there', async () => {
    const taking = gate();
    const { port } = await start([
      route(
        'POST',
        '/upload',
        async (request) => {
          await taking.opened;
          let bytes = 0;
          for await (const piece of request.stream()) bytes += piece.length;
          return { status: 200, json: bytes };
        },
        { body: 'stream', bodyBytesMax: 64_000_000 },
      ),
    ]);
    const client = await RawClient.connect(port);
    const total = 60_000_000;
    client.write(head(total, '/upload'));
    const piece = Buffer.alloc(100_000, 'x');
    let handedOver = 0;
    let isStopped = false;
    const sending = (async () => {
      while (handedOver < total) {
        handedOver += piece.length;
        if (!client.socket.write(piece)) await new Promise((resolve) => client.socket.once('drain', resolve));
      }
    })();
    for (let last = -1; !isStopped; ) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      isStopped = last === handedOver;
      last = handedOver;
    }
    expect(handedOver).toBeLessThan(total);
    taking.open();
    await sending;
    await client.until(String(total));
  });

  it('fails the iteration with 413 beyond the bound', async () => {
    const { port } = await start([{ ...summing, bodyBytesMax: 1_000 }]);
    expect((await ask(port, '/upload', { body: 'x'.repeat(1_001) })).status).toBe(413);
    const client = await RawClient.connect(port);
    client.write(head(chunked, '/upload'));
    client.write(chunk('x'.repeat(900)));
    client.write(chunk('x'.repeat(900)));
    await client.until('PAYLOAD_TOO_LARGE');
  });

  it('fails the iteration and aborts the signal when the peer disconnects', async () => {
    const failures: string[] = [];
    const { port, server } = await start([
      route(
        'POST',
        '/upload',
        async (request) => {
          try {
            for await (const piece of request.stream()) expect(piece.length).toBeGreaterThan(0);
          } catch (error) {
            failures.push((error as ServiceError).code, (request.signal.reason as ServiceError).code);
          }
          return { status: 200 };
        },
        { body: 'stream' },
      ),
    ]);
    const client = await RawClient.connect(port);
    client.write(`${head(1_000, '/upload')}abc`);
    await eventually(() => server.inFlightCount === 1, 'the upload has begun');
    client.socket.destroy();
    await eventually(() => failures.length === 2, 'the iteration fails');
    expect(failures).toEqual(['REQUEST_CANCELLED', 'REQUEST_CANCELLED']);
    await eventually(() => server.inFlightCount === 0, 'the request is over');
  });

  it('answers 408 when the upload stalls, and ends the iteration', async () => {
    const failures: string[] = [];
    const { port } = await start(
      [
        route(
          'POST',
          '/upload',
          async (request) => {
            try {
              for await (const piece of request.stream()) expect(piece.length).toBeGreaterThan(0);
            } catch (error) {
              failures.push((error as ServiceError).code);
              throw error;
            }
            return { status: 200 };
          },
          { body: 'stream' },
        ),
      ],
      { limits: { bodyWindowMs: 50 } },
    );
    const client = await RawClient.connect(port);
    client.write(`${head(1_000, '/upload')}abc`);
    await client.closed;
    expect(client.received).toContain('408 Request Timeout');
    expect(failures).toEqual(['REQUEST_TIMEOUT']);
  });

  it('reads past what a handler leaves, so that the connection can be reused', async () => {
    const { port } = await start([
      route('POST', '/upload', () => ({ status: 200, raw: 'enough' }), {
        body: 'stream',
        bodyBytesMax: 50_000_000,
      }),
      route(
        'PUT',
        '/upload',
        async (request) => {
          for await (const piece of request.stream()) {
            if (piece.length > 0) break;
          }
          await new Promise((resolve) => setTimeout(resolve, 20));
          return { status: 200, raw: 'enough' };
        },
        { body: 'stream', bodyBytesMax: 50_000_000 },
      ),
    ]);
    for (const method of ['POST', 'PUT']) {
      const client = await RawClient.connect(port);
      client.write(head(20_000_000, '/upload').replace('POST', method));
      client.write(Buffer.alloc(20_000_000, 'x'));
      await client.until('enough');
      client.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
      await client.until('\r\n\r\nok');
    }
  });

  it('turns away an unwelcome upload while it is paused', async () => {
    const deciding = gate();
    const { port } = await start([{ ...summing, auth: 'required' }], {
      authenticate: async () => {
        await deciding.opened;
        throw new ServiceError('UNAUTHORIZED');
      },
    });
    const client = await RawClient.connect(port);
    client.write(head(20_000_000, '/upload'));
    client.write(Buffer.alloc(20_000_000, 'x'));
    await eventually(() => client.socket.bytesWritten > 0, 'the upload has begun');
    deciding.open();
    await client.until('UNAUTHORIZED');
    client.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.until('\r\n\r\nok');
  });
});
