import { describe, expect, it } from 'vitest';
import { systemClock } from '#runtime/base/time/clock.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { ask, eventually, gate, RawClient, route, start, type TestPrincipal } from './http-fixture.ts';

const size = route(
  'POST',
  '/size',
  (request) => ({ status: 200, json: JSON.stringify(request.body).length }),
  { body: 'json', auth: 'optional' },
);
const isAnonymous = (principal: TestPrincipal): boolean => principal.name === 'anonymous';
const kibibyte = 1024;
const text = (length: number): string => JSON.stringify('x'.repeat(length - 2));
const ada = { Authorization: 'Bearer ada' };
const chunkedHead = 'POST /size HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
const chunk = (body: string): string => `${Buffer.byteLength(body).toString(16)}\r\n${body}\r\n`;

describe('bodies of callers without a login', () => {
  it('are taken up to 64 KiB, those of others beyond it [HTTP-017]', async () => {
    const { port } = await start([size], { isAnonymous });
    expect((await ask(port, '/size', { body: text(64 * kibibyte) })).status).toBe(200);
    const refused = await ask(port, '/size', { body: text(64 * kibibyte + 1) });
    expect(refused.status).toBe(413);
    expect(refused.json).toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      message: expect.stringMatching(/65536 bytes .* log in/),
    });
    const known = await ask(port, '/size', { body: text(1024 * kibibyte), headers: ada });
    expect(known.json).toBe(1024 * kibibyte);
  });

  it('are refused by their announced length, before any byte of them', async () => {
    const { port } = await start([size], { isAnonymous });
    const client = await RawClient.connect(port);
    client.write(`POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: ${70 * kibibyte}\r\n\r\n`);
    await client.until('PAYLOAD_TOO_LARGE');
  });

  it('end their connection when their length is unknown', async () => {
    const { port } = await start([size], { isAnonymous });
    const client = await RawClient.connect(port);
    client.write(chunkedHead);
    client.write(chunk('x'.repeat(40 * kibibyte)));
    client.write(chunk('x'.repeat(40 * kibibyte)));
    await client.until('PAYLOAD_TOO_LARGE');
    await client.closed;
  });

  it.each(['optional', 'none'] as const)('are bound on a route with auth %s', async (auth) => {
    const { port } = await start([{ ...size, auth }], { isAnonymous });
    expect((await ask(port, '/size', { body: text(65 * kibibyte) })).status).toBe(413);
  });

  it('keep to the bound of a route that takes less', async () => {
    const { port } = await start([{ ...size, bodyBytesMax: 100 }], { isAnonymous });
    const refused = await ask(port, '/size', { body: text(101) });
    expect([refused.status, refused.text]).toEqual([413, expect.stringContaining('100 bytes')]);
    expect(refused.text).not.toContain('log in');
  });

  it('are not read on while their caller is unknown', async () => {
    const known = gate();
    const { port } = await start([size], {
      isAnonymous,
      authenticate: async (request) => {
        await known.opened;
        return { name: request.header('authorization') ?? 'anonymous' };
      },
    });
    const client = await RawClient.connect(port);
    client.write(chunkedHead);
    let sent = 0;
    // More than the buffers of both ends take; the peer accepts no more once reading has paused.
    while (client.socket.writableLength < 4 * 1024 * kibibyte) {
      client.write(chunk('x'.repeat(1024 * kibibyte)));
      sent += 1;
      await ask(port, '/health');
      expect(sent).toBeLessThan(200);
    }
    known.open();
    await client.until('PAYLOAD_TOO_LARGE');
  });

  it.each([10, 1_000])('reach no handler while the caller of %i bytes is unknown', async (length) => {
    const known = gate();
    let asked = 0;
    let handled = 0;
    const counting = {
      ...size,
      handler: () => {
        handled += 1;
        return { status: 200 };
      },
    };
    const { port } = await start([counting], {
      authenticate: async () => {
        asked += 1;
        await known.opened;
        throw new ServiceError('UNAUTHORIZED');
      },
    });
    const answer = ask(port, '/size', { body: text(length) });
    await eventually(() => asked === 1, 'the request is there');
    // A request behind it: what has come of the first one was looked at by then.
    await ask(port, '/health');
    known.open();
    expect([(await answer).status, handled]).toEqual([401, 0]);
  });

  it('are limited by the class of their caller even if they arrived before it was known', async () => {
    const known = gate();
    let asked = 0;
    const { port } = await start([size], {
      isAnonymous,
      limits: { anonymousBodyBytesMax: 100 },
      authenticate: async (request) => {
        asked += 1;
        await known.opened;
        return { name: request.header('authorization') ?? 'anonymous' };
      },
    });
    const clients = [];
    for (const length of [101, 100]) {
      const client = await RawClient.connect(port);
      // Whole, in one piece with the head, and of a length that nobody announced.
      client.write(`${chunkedHead}${chunk(text(length))}0\r\n\r\n`);
      clients.push(client);
    }
    await eventually(() => asked === 2, 'the requests are there');
    known.open();
    await clients[0]?.until('413 Payload Too Large');
    await clients[1]?.until('200 OK');
  });

  it.each([
    ['small', 10],
    ['large', 300 * kibibyte],
  ])('are accepted whole when they arrived before their caller was known: %s', async (_, length) => {
    const known = gate();
    let asked = 0;
    const { port } = await start([size], {
      isAnonymous,
      authenticate: async () => {
        asked += 1;
        await known.opened;
        return { name: 'ada' };
      },
    });
    const answer = ask(port, '/size', { body: text(length) });
    await eventually(() => asked === 1, 'the request is there');
    known.open();
    expect((await answer).json).toBe(length);
  });
});

describe('what the address names', () => {
  const missing = new ServiceError('REPOSITORY_NOT_FOUND', 'not here');
  const refusing = (isLate: boolean) => ({
    ...size,
    admit: (): void | Promise<void> => {
      if (isLate) return Promise.reject(missing);
      throw missing;
    },
  });

  it.each([false, true])('is looked up before the body is read, late: %s', async (isLate) => {
    const { port } = await start([refusing(isLate)], { isAnonymous });
    const client = await RawClient.connect(port);
    client.write('POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
    await client.until('REPOSITORY_NOT_FOUND');
    // The connection goes on behind the rest of the body.
    client.write(`${' '.repeat(99)}GET /health HTTP/1.1\r\nHost: x\r\n\r\n`);
    await client.until('HTTP/1.1 200 OK');
  });

  it.each([false, true])('is refused rather than a body that is no JSON, late: %s', async (isLate) => {
    const { port } = await start([refusing(isLate)]);
    expect((await ask(port, '/size', { body: '{' })).status).toBe(404);
    expect((await ask(port, '/size', { body: '{'.padEnd(100 * kibibyte), headers: ada })).status).toBe(404);
  });

  it('is not disclosed to callers that have to log in first', async () => {
    const { port } = await start([{ ...refusing(false), auth: 'required' }]);
    expect((await ask(port, '/size', { body: '{}' })).status).toBe(401);
    expect((await ask(port, '/size', { body: '{}', headers: ada })).status).toBe(404);
  });
});

describe('large bodies', () => {
  it('are refused for more JSON than is parsed at once', async () => {
    const { port } = await start([size], { limits: { jsonValuesMax: 50_000 } });
    for (const body of [
      `[${'{},'.repeat(60_000)}1]`,
      `{${Array.from({ length: 10_000 }, (_, index) => `"k${index}":1`).join(',')}}`,
    ]) {
      const refused = await ask(port, '/size', { body });
      expect([refused.status, refused.text]).toEqual([413, expect.stringContaining('PAYLOAD_TOO_LARGE')]);
    }
    expect((await ask(port, '/size', { body: `[${'1,'.repeat(40_000)}1]` })).status).toBe(200);
  });

  it('are parsed in several turns of the event loop, small ones in the one that brought them', async () => {
    let turns = 0;
    let looks = 0;
    const clock = {
      ...systemClock,
      // Every look finds a millisecond gone, as if each step had taken one.
      monotonicMs: () => systemClock.monotonicMs() + looks++,
      soon: (callback: () => void): void => {
        turns += 1;
        systemClock.soon(callback);
      },
    };
    const { port } = await start([size], { clock });
    await ask(port, '/size', { body: text(60 * kibibyte) });
    // The end of the turn in which its handler began.
    expect(turns).toBe(1);
    await ask(port, '/size', { body: text(4 * 1024 * kibibyte) });
    const forAscii = turns;
    // 64 steps of parsing, 8 ms a turn.
    expect(forAscii).toBeGreaterThanOrEqual(64 / 8);
    // Decoded a mebibyte at a time besides.
    await ask(port, '/size', { body: JSON.stringify('ü'.repeat(2 * 1024 * kibibyte)) });
    expect(turns - forAscii).toBeGreaterThanOrEqual(32 / 8);
  });

  it('count against the memory for bodies until their handler is done', async () => {
    const hold = gate();
    let handled = 0;
    const slow = route(
      'POST',
      '/slow',
      async () => {
        handled += 1;
        await hold.opened;
        return { status: 204 };
      },
      { body: 'json' },
    );
    const { port } = await start([slow], { limits: { bodyBytesTotalMax: 1000 * kibibyte } });
    const body = text(600 * kibibyte);
    const first = ask(port, '/slow', { body });
    await eventually(() => handled === 1, 'the first body is worked on');
    const second = await ask(port, '/slow', { body });
    expect([second.status, second.text]).toEqual([503, expect.stringContaining('OVERLOADED')]);
    hold.open();
    expect((await first).status).toBe(204);
    expect((await ask(port, '/slow', { body })).status).toBe(204);
  });

  it.each([
    ['small ones by their length', text(400), 1_000, 2],
    ['those of many values by what these take', JSON.stringify(Array(400).fill([])), 10_000, 1],
  ])('count against it however they come: %s', async (_, body, bodyBytesTotalMax, fitting) => {
    const hold = gate();
    let handled = 0;
    const slow = route(
      'POST',
      '/slow',
      async () => {
        handled += 1;
        await hold.opened;
        return { status: 204 };
      },
      { body: 'json' },
    );
    const { port, server } = await start([slow], { limits: { bodyBytesTotalMax } });
    const taken = Array.from({ length: fitting }, () => ask(port, '/slow', { body }));
    await eventually(() => handled === taken.length, 'the bodies that fit are worked on');
    const refused = await ask(port, '/slow', { body });
    expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
    hold.open();
    for (const answer of taken) expect((await answer).status).toBe(204);
    await eventually(() => server.inFlightCount === 0, 'the requests are over');
    expect((await ask(port, '/slow', { body })).status).toBe(204);
  });

  it('return their memory when the peer disconnects while they are processed', async () => {
    const hold = gate();
    let handled = 0;
    const slow = route(
      'POST',
      '/slow',
      async () => {
        handled += 1;
        await hold.opened;
        return { status: 204 };
      },
      { body: 'json' },
    );
    const { port, server } = await start([slow], { limits: { bodyBytesTotalMax: 1000 * kibibyte } });
    const body = text(600 * kibibyte);
    const client = await RawClient.connect(port);
    client.write(`POST /slow HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    await eventually(() => handled === 1, 'the body is worked on');
    client.socket.destroy();
    hold.open();
    await eventually(() => server.inFlightCount === 0, 'the request is over');
    expect((await ask(port, '/slow', { body })).status).toBe(204);
  });
});

describe('a body that finds no room while its caller is unknown', () => {
  const crowded = (known: Promise<void>) => ({
    isAnonymous,
    limits: { bodyBytesTotalMax: 64, bodyBytesMax: 1_000 },
    authenticate: async () => {
      await known;
      return { name: 'anonymous' };
    },
  });
  const body = text(200);

  it('is refused, and ends its connection when its length is unknown', async () => {
    const known = gate();
    const { port } = await start([size], crowded(known.opened));
    const client = await RawClient.connect(port);
    // In one piece with the head: later ones are not read before it is known who sends them.
    client.write(`${chunkedHead}${chunk(body)}`);
    await client.until('OVERLOADED');
    await client.closed;
    known.open();
    expect((await ask(port, '/health')).text).toBe('ok');
  });

  it('is refused, and read past when its length is known', async () => {
    const known = gate();
    const { port } = await start([size], crowded(known.opened));
    const client = await RawClient.connect(port);
    client.write(`POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: 300\r\n\r\n${body}`);
    await client.until('OVERLOADED');
    client.write(`${'x'.repeat(100)}GET /health HTTP/1.1\r\nHost: x\r\n\r\n`);
    await client.until('\r\n\r\nok');
    known.open();
  });
});

describe('bodies whose peers go away', () => {
  it.each([1, 2, 3, 4])('leave their room to others, in every order: %i', async (turn) => {
    const held = gate();
    let turns = Number.NEGATIVE_INFINITY;
    let isHeld = false;
    const clock = {
      ...systemClock,
      soon: (callback: () => void) => {
        turns += 1;
        if (turns !== turn) systemClock.soon(callback);
        else {
          isHeld = true;
          void held.opened.then(callback);
        }
      },
    };
    const { port, server } = await start([size], { clock, limits: { bodyBytesTotalMax: 400 * kibibyte } });
    // Its values take 280 KiB, its bytes a quarter of that.
    const body = `[${'0,'.repeat(35 * kibibyte)}0]`;
    // As ordinary code it runs fast enough for the first of its steps.
    for (let round = 0; round < 20; round += 1) await ask(port, '/size', { body });
    turns = 0;
    const client = await RawClient.connect(port);
    client.write(`POST /size HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n\r\n${body}`);
    await eventually(() => isHeld || client.received.includes('200 OK'), 'it is parsed');
    client.socket.destroy();
    await eventually(() => server.inFlightCount === 0, 'the peer has gone');
    held.open();
    expect((await ask(port, '/size', { body })).status).toBe(200);
  });
});
