import { once } from 'node:events';
import net from 'node:net';
import type { HttpReply } from '#protocols/http/route.ts';
import { describe, expect, it } from 'vitest';
import type { ServiceError } from '#runtime/errors/service-error.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { ask, eventually, gate, RawClient, route, start } from './http-fixture.ts';

const ok = (): { status: number; raw: string } => ({ status: 200, raw: '"ok"' });
const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;

describe('connections', () => {
  it('takes heads between 4 and 16 KiB, and answers 431 to longer ones [HTTP-022]', async () => {
    const { port } = await start([
      route('GET', '/length', (request) => ({ status: 200, json: request.header('x-long')?.length ?? 0 })),
    ]);
    expect((await ask(port, '/length', { headers: { 'X-Long': 'x'.repeat(15_000) } })).json).toBe(15_000);
    const client = await RawClient.connect(port);
    client.write(get('/length', `X-Long: ${'x'.repeat(17_000)}\r\n`));
    await client.closed;
    expect(client.received).toMatch(/^HTTP\/1.1 431 /);
  });

  it('answers pipelined requests in order', async () => {
    const table = [
      route('GET', '/n/{n}', (request) => ({ status: 200, raw: `n${request.param('n')}` })),
      route('POST', '/echo', (request) => ({ status: 200, json: request.body }), { body: 'json' }),
    ];
    // However slow the machine, all of them begin in the turn in which they arrive. One that has to wait for the next
    // turn is an answer that is not ready, and the connection is closed behind it.
    const slices = new SliceScheduler({ ...systemClock, monotonicMs: () => 0 });
    const { port } = await start(table, { slices });
    const client = await RawClient.connect(port);
    const post = 'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n"ab"';
    client.write(get('/n/1') + post + get('/n/2') + get('/none') + get('/n/3'));
    await client.until('n3');
    const bodies = client.received.split('HTTP/1.1 ').map((one) => one.split('\r\n\r\n')[1]);
    expect(bodies.slice(1, 4)).toEqual(['n1', '"ab"', 'n2']);
    expect(bodies[5]).toBe('n3');
  });

  it.each([
    ['no body', get('/later')],
    ['a body with a length', 'POST /later HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}'],
    [
      'a body in chunks',
      'POST /later HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    ],
  ])(
    'closes a connection that pipelines behind a promised answer, and goes on serving: %s',
    async (_, first) => {
      const later = async (): Promise<HttpReply> => {
        await new Promise((resolve) => setImmediate(resolve));
        return ok();
      };
      const { observed, port, server } = await start([
        route('GET', '/later', later),
        route('POST', '/later', later, { body: 'json' }),
      ]);
      const client = await RawClient.connect(port);
      client.write(first + get('/health'));
      await client.closed;
      expect(client.received).toBe('');
      expect(observed.filter(({ operationId }) => operationId === 'GET /health')).toEqual([]);
      await eventually(() => server.inFlightCount === 0, 'nothing is in flight');
      expect((await ask(port, '/later')).status).toBe(200);
    },
  );

  it('refuses a head with two content lengths and closes, so that none can smuggle a request', async () => {
    const { port, observed } = await start([
      route('POST', '/json', ok, { body: 'json' }),
      route('GET', '/now', ok),
    ]);
    for (const line of ['POST /json', 'GET /now', 'POST /none']) {
      const head = `${line} HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nContent-Length: 40\r\n\r\n{}`;
      const alone = await RawClient.connect(port);
      alone.write(head);
      await alone.closed;
      expect(alone.received).toMatch(/^HTTP\/1.1 400 [\s\S]*Connection: close/);
      const smuggling = await RawClient.connect(port);
      smuggling.write(head + get('/health'));
      await smuggling.closed;
      expect(smuggling.received).toBe('');
    }
    expect(observed.filter((one) => one.operationId === 'GET /health')).toEqual([]);
  });

  it.each([
    ['an empty Content-Length before another one', 'Content-Length:\r\nContent-Length: 40'],
    ['an empty Content-Length', 'Content-Length:'],
    ['a Content-Length that is no number', 'Content-Length: +2'],
    ['a Transfer-Encoding that is not chunked', 'Transfer-Encoding: xchunked'],
    ['two Transfer-Encodings', 'Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked'],
  ])('refuses %s and closes, with any data after it', async (_, framing) => {
    const { port, observed } = await start([
      route('POST', '/json', ok, { body: 'json' }),
      route('GET', '/now', ok),
    ]);
    for (const line of ['POST /json', 'GET /now', 'GET /none']) {
      const client = await RawClient.connect(port);
      client.write(`${line} HTTP/1.1\r\nHost: x\r\n${framing}\r\n\r\n${get('/health')}`);
      await client.closed;
      expect(client.received).not.toContain('200 OK');
    }
    expect(observed.filter(({ operationId }) => operationId === 'GET /health')).toEqual([]);
  });

  const host = 'Host: x\r\n';
  it.each([
    ['another protocol', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['no text at all', '\x00\x01\x02\xff\xfe\r\n\r\n'],
    ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['HTTP/1.0', `GET /now HTTP/1.0\r\n${host}\r\n`],
    ['a protocol in lower case', `GET /now http/1.1\r\n${host}\r\n`],
    ['lines that end in LF alone', 'GET /now HTTP/1.1\nHost: x\n\n'],
    ['two spaces', `GET  /now HTTP/1.1\r\n${host}\r\n`],
    ['tabs', `GET\t/now\tHTTP/1.1\r\n${host}\r\n`],
    ['a space before the method', ` GET /now HTTP/1.1\r\n${host}\r\n`],
    ['a space in the target', `GET /no w HTTP/1.1\r\n${host}\r\n`],
    ['a control character in the target', `GET /no\x01w HTTP/1.1\r\n${host}\r\n`],
    ['a target without a slash', `GET now HTTP/1.1\r\n${host}\r\n`],
    ['an absolute target', `GET http://x/now HTTP/1.1\r\n${host}\r\n`],
    ['CONNECT', `CONNECT x:80 HTTP/1.1\r\n${host}\r\n`],
    ['no host', 'GET /now HTTP/1.1\r\nA: b\r\n\r\n'],
    ['two hosts', `GET /now HTTP/1.1\r\n${host}Host: y\r\n\r\n`],
    ['too many headers', `GET /now HTTP/1.1\r\n${host}${'a: b\r\n'.repeat(200)}\r\n`],
    ['a negative length', `POST /now HTTP/1.1\r\n${host}Content-Length: -1\r\n\r\n`],
    ['a length beyond numbers', `POST /now HTTP/1.1\r\n${host}Content-Length: ${'9'.repeat(30)}\r\n\r\n`],
    [
      'a length beside chunks',
      `POST /now HTTP/1.1\r\n${host}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n`,
    ],
  ])('answers a head with %s with an error and closes, with any data after it', async (_, head) => {
    const { port, observed } = await start([route('GET', '/now', ok)]);
    const client = await RawClient.connect(port);
    client.write(Buffer.from(head, 'latin1'));
    await client.closed;
    expect(client.received).toMatch(/^HTTP\/1.1 (400|431|505) /);
    expect(observed.filter(({ status }) => status < 400)).toEqual([]);
  });

  it.each([
    ['no colon', `${host}no colon\r\n`],
    ['a space before the colon', 'Host : x\r\n'],
    ['a folded line', `${host}A: b\r\n c\r\n`],
    ['a line feed alone', `${host}A: b\nc: d\r\n`],
    ['a NUL', `${host}A: b\x00c\r\n`],
    ['a name beyond ASCII', `${host}\xe4: b\r\n`],
  ])('reads nothing behind a header line with %s', async (_, line) => {
    const { port, observed } = await start([route('GET', '/now', ok)]);
    const client = await RawClient.connect(port);
    client.write(Buffer.from(`GET /now HTTP/1.1\r\n${line}\r\n${get('/now')}`, 'latin1'));
    // What it sent has been read when a connection that came later is answered.
    for (let round = 0; round < 3; round += 1) await ask(port, '/health');
    expect([client.received, observed.filter(({ operationId }) => operationId === 'GET /now')]).toEqual([
      '',
      [],
    ]);
  });

  it.each([
    ['one piece', true],
    ['several', false],
  ])('takes trailers for no request, in %s', async (_, isWhole) => {
    const { port, observed } = await start([
      route('POST', '/json', ok, { body: 'json' }),
      route('POST', '/open', ok),
      route('GET', '/own', ok, { auth: 'required' }),
    ]);
    const chunked = 'HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
    for (const line of ['POST /json', 'POST /open', 'GET /own', 'GET /none']) {
      for (const trailers of [get('/health'), 'X-Trailer: /hidden HTTP/1.1\r\nHost: x\r\n\r\n']) {
        const client = await RawClient.connect(port);
        if (isWhole) client.write(`${line} ${chunked}2\r\n{}\r\n0\r\n${trailers}\r\n`);
        else for (const part of [`${line} ${chunked}`, '2\r\n{}\r\n0\r\n', trailers]) client.write(part);
        await client.closed;
        expect(client.received).not.toMatch(/ok$/);
        expect(client.received.split('HTTP/1.1 ').length).toBeLessThanOrEqual(2);
      }
    }
    expect(observed.filter(({ operationId }) => operationId === 'GET /health')).toEqual([]);
  });

  it('are closed at once above their bound, and taken again when others are gone', async () => {
    let refused = 0;
    const { port, server } = await start([], {
      connections: { connectionsMax: 2 },
      onConnectionRefused: () => {
        refused += 1;
      },
    });
    const [first, second] = [await RawClient.connect(port), await RawClient.connect(port)];
    await eventually(() => server.connectionCount === 2, 'both are there');
    for (let index = 0; index < 5; index += 1) await (await RawClient.connect(port)).closed;
    expect(refused).toBe(5);
    for (const client of [first, second]) {
      client.write(get('/health'));
      await client.until('ok');
    }
    first.socket.destroy();
    await eventually(() => server.connectionCount === 1, 'one is gone');
    const third = await RawClient.connect(port);
    third.write(get('/health'));
    await third.until('ok');
  });

  it('of one address are bounded too', async () => {
    const { port, server } = await start([], { connections: { connectionsMax: 100, perAddressMax: 2 } });
    const [first] = [await RawClient.connect(port), await RawClient.connect(port)];
    await eventually(() => server.connectionCount === 2, 'both are there');
    await (await RawClient.connect(port)).closed;
    first?.socket.destroy();
    await eventually(() => server.connectionCount === 1, 'one is gone');
    await expect
      .poll(async () => {
        const client = await RawClient.connect(port);
        client.write(get('/health'));
        await Promise.race([client.closed, client.until('ok').catch(() => undefined)]);
        client.socket.destroy();
        return client.received;
      })
      .toContain('200 OK');
  });

  it('does not share a port that is taken', async () => {
    // The system shares a port only if both ask for it by number, so a free one is found first.
    const finder = net.createServer().listen(0, '127.0.0.1');
    await once(finder, 'listening');
    const { port } = finder.address() as net.AddressInfo;
    finder.close();
    await once(finder, 'close');
    const [first, second] = [await start([]), await start([])];
    expect(await first.server.listen('127.0.0.1', port)).toEqual({ port });
    await expect(second.server.listen('127.0.0.1', port)).rejects.toThrow(
      new RegExp(`^port ${port} is in use on 127\\.0\\.0\\.1; start with PORT=\\d+, or stop the process`),
    );
  });

  it('takes an address before it keeps connections', async () => {
    const { server } = await start([route('GET', '/hello', () => ({ status: 200, raw: 'hi' }))]);
    const { port } = await server.listen('127.0.0.1', 0, false);
    const other = await start([]);
    await expect(other.server.listen('127.0.0.1', port)).rejects.toThrow(/in use/);
    const ask = () => fetch(`http://127.0.0.1:${port}/hello`).then((answer) => answer.text());
    await expect(ask()).rejects.toThrow();
    server.open();
    expect(await ask()).toBe('hi');
  });
});

describe('draining', () => {
  it('finishes what is in flight, ends connections with their answer, accepts no new ones', async () => {
    const held = gate();
    const { port, server } = await start([
      route('GET', '/hold', async () => {
        await held.opened;
        return ok();
      }),
    ]);
    const idle = await RawClient.connect(port);
    idle.write(get('/health'));
    await idle.until('ok');
    const client = await RawClient.connect(port);
    client.write(get('/hold'));
    await eventually(() => server.inFlightCount === 1, 'one request waits');
    let isDrained = false;
    const drained = server.drain(60_000).then(() => {
      isDrained = true;
    });
    await expect(ask(port, '/health')).rejects.toThrow(/ECONNREFUSED/);
    idle.write(get('/health'));
    await idle.closed;
    expect(idle.received.split('HTTP/1.1 ')[2]).toMatch(/^200 OK[\s\S]*Connection: close[\s\S]*ok$/);
    expect(isDrained).toBe(false);
    held.open();
    await drained;
    await client.closed;
    expect(client.received).toMatch(/Connection: close[\s\S]*"ok"$/);
  });

  it('answers a request over a kept connection just after nothing was in flight', async () => {
    // So long that what ends the drain is that the connections are gone.
    const { port, server } = await start([], { limits: { drainQuietMs: 60_000 } });
    const kept = await RawClient.connect(port);
    kept.write(get('/health'));
    await kept.until('ok');
    const drained = server.drain(60_000);
    await new Promise((resolve) => setImmediate(resolve));
    kept.write(get('/health'));
    await drained;
    expect(kept.received.split('HTTP/1.1 ')[2]).toMatch(/^200 OK[\s\S]*Connection: close[\s\S]*ok$/);
  });

  it('does not wait for idle connections', async () => {
    const { port, server } = await start([], { limits: { drainQuietMs: 1 } });
    const silent = await RawClient.connect(port);
    silent.write(get('/health'));
    await silent.until('ok');
    await server.drain(60_000);
    expect(silent.isClosed).toBe(false);
  });

  it('waits until a long answer has left', async () => {
    const big = Buffer.alloc(8_000_000, 'x');
    const { port, server } = await start([
      route('GET', '/big', () => ({ status: 200, raw: big, contentType: 'image/png' })),
    ]);
    const client = await RawClient.connect(port);
    client.socket.pause();
    client.write(get('/big'));
    await eventually(() => server.inFlightCount === 1, 'the answer is on its way');
    const drained = server.drain(60_000);
    client.socket.resume();
    await drained;
    await eventually(() => client.received.length > big.length, 'every byte has come');
  });

  it('stops waiting after the grace period, and close cancels what is left', async () => {
    const reasons: string[] = [];
    const { port, server } = await start([
      route('GET', '/hold', (request) => {
        request.signal.addEventListener('abort', () => {
          reasons.push((request.signal.reason as ServiceError).code);
        });
        return new Promise(() => undefined);
      }),
    ]);
    const client = await RawClient.connect(port);
    client.write(get('/hold'));
    await eventually(() => server.inFlightCount === 1, 'one request waits');
    await server.drain(10);
    expect(client.isClosed).toBe(false);
    server.close();
    await client.closed;
    expect(reasons).toEqual(['REQUEST_CANCELLED']);
    await expect(
      new Promise((resolve, reject) =>
        net.connect(port, '127.0.0.1', () => resolve('connected')).on('error', reject),
      ),
    ).rejects.toThrow(/ECONNREFUSED/);
  });
});

describe('what comes behind a chunked body', () => {
  const answers: [string, () => HttpReply, string][] = [
    ['a long answer', () => ({ status: 200, raw: `${'x'.repeat(200_000)}!` }), '!'],
    [
      'a streamed answer',
      () => ({
        status: 200,
        stream: (async function* () {
          yield 'abc';
        })(),
      }),
      '0\r\n\r\n',
    ],
    ['an answer without a body', () => ({ status: 204 }), '\r\n\r\n'],
  ];
  it.each(answers)('is never parsed as a request: after %s', async (_what, reply, end) => {
    let hidden = 0;
    const { port } = await start([
      route('POST', '/it', reply, { body: 'json' }),
      route('GET', '/hidden', () => {
        hidden += 1;
        return { status: 200, raw: 'hidden' };
      }),
    ]);
    const client = await RawClient.connect(port);
    client.write('POST /it HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n');
    await client.until(end);
    client.write('GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n');
    // Other connections are answered meanwhile, so the first one has had its turn.
    for (let round = 0; round < 5; round += 1) await ask(port, '/health');
    expect([hidden, client.received.includes('hidden')]).toEqual([0, false]);
    expect(client.received).toContain('Connection: close');
  });
});
