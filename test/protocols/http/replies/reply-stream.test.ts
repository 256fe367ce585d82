import http from 'node:http';
import { describe, expect, it } from 'vitest';
import { invalid, ServiceError } from '#runtime/errors/service-error.ts';
import { ask, eventually, RawClient, route, SteppedClock, start } from '../http-fixture.ts';

const get = (path: string, method = 'GET'): string => `${method} ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

async function* pieces(...values: (string | Uint8Array)[]): AsyncGenerator<string | Uint8Array> {
  for (const value of values) {
    await new Promise((resolve) => setImmediate(resolve));
    yield value;
  }
}

/** A stream that never ends and counts what is asked of it. */
class Endless implements AsyncIterable<Uint8Array> {
  readonly piece: Uint8Array;
  asked = 0;
  isReturned = false;

  constructor(pieceBytes: number) {
    this.piece = Buffer.alloc(pieceBytes, 'x');
  }

  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return {
      next: async () => {
        this.asked += 1;
        return { done: false, value: this.piece };
      },
      return: async () => {
        this.isReturned = true;
        return { done: true, value: undefined };
      },
    };
  }
}

describe('streamed replies', () => {
  it('sends text and bytes in order, chunked, with the status and headers of the reply', async () => {
    const { port } = await start([
      route('GET', '/s', () => ({
        status: 203,
        headers: { 'X-A': '1' },
        contentType: 'text/event-stream',
        stream: pieces('ä', '', Uint8Array.of(0x62), 'c'.repeat(100_000)),
      })),
    ]);
    const answer = await ask(port, '/s');
    expect([answer.status, answer.headers['x-a'], answer.headers['transfer-encoding']]).toEqual([
      203,
      '1',
      'chunked',
    ]);
    expect(answer.headers['content-type']).toBe('text/event-stream');
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
    expect(answer.text).toBe(`äb${'c'.repeat(100_000)}`);
  });

  it('sends a stream of known length with that length, and an empty one of either kind', async () => {
    const bytes = Buffer.from(Uint32Array.from({ length: 1_000_000 }, (_, index) => index).buffer);
    const parts = Array.from({ length: 40 }, (_, index) =>
      bytes.subarray(index * 100_000, (index + 1) * 100_000),
    );
    const { port } = await start([
      route('GET', '/known', () => ({ status: 200, stream: pieces(...parts), contentLength: bytes.length })),
      route('GET', '/none', () => ({ status: 200, stream: pieces() })),
      route('GET', '/zero', () => ({ status: 200, stream: pieces(), contentLength: 0 })),
    ]);
    const known = await ask(port, '/known');
    expect(known.headers['content-length']).toBe('4000000');
    expect(known.bytes.equals(bytes)).toBe(true);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    for (const path of ['/none', '/zero', '/health']) {
      expect([path, (await ask(port, path, { agent })).status]).toEqual([path, 200]);
    }
    agent.destroy();
  });

  it.each([{ contentLength: 2_000_000_000 }, {}])(
    'requests no more than a slow peer takes, and calls return when it disconnects (%j)',
    async (length) => {
      const endless = new Endless(1_000_000);
      let signal: AbortSignal | undefined;
      const { port, server, observed } = await start([
        route('GET', '/endless', (request) => {
          signal = request.signal;
          return { status: 200, stream: endless, ...length };
        }),
      ]);
      const client = await RawClient.connect(port);
      client.socket.pause();
      client.write(get('/endless'));
      let last = -1;
      while (endless.asked === 0 || last !== endless.asked) {
        last = endless.asked;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      // What the sockets of this machine hold is a few megabytes; without backpressure it would be gigabytes.
      expect(endless.asked).toBeLessThan(50);
      expect(endless.isReturned).toBe(false);
      client.socket.destroy();
      await eventually(() => endless.isReturned, 'return is called');
      expect(signal?.reason).toMatchObject({ code: 'REQUEST_CANCELLED' });
      await eventually(() => server.inFlightCount === 0, 'the request is over');
      expect(observed.map((one) => one.status)).toEqual([499]);
    },
  );

  it('delivers every byte to a peer that stops and resumes [HTTP-028]', async () => {
    const bytes = Buffer.from(Uint32Array.from({ length: 2_000_000 }, (_, index) => index * 3).buffer);
    const { port } = await start([
      route('GET', '/whole', () => ({ status: 200, raw: bytes, contentType: 'image/png' })),
      route('GET', '/text', () => ({ status: 200, json: bytes.toString('hex') })),
      route('GET', '/parts', () => ({
        status: 200,
        stream: pieces(bytes.subarray(0, 5_000_000), bytes.subarray(5_000_000)),
        contentLength: bytes.length,
      })),
      route('GET', '/chunks', () => ({
        status: 200,
        stream: pieces(bytes.subarray(0, 5_000_000), bytes.subarray(5_000_000)),
      })),
    ]);
    let others = 0;
    let served = 0;
    for (const path of ['/whole', '/text', '/parts', '/chunks']) {
      const received = await new Promise<Buffer>((resolve, reject) => {
        http.get({ host: '127.0.0.1', port, path, agent: false }, (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => {
            chunks.push(chunk);
            response.pause();
            others += 1;
            ask(port, '/health').then((health) => {
              if (health.text === 'ok') served += 1;
              response.resume();
            }, reject);
          });
          response.on('error', reject);
          response.on('end', () => resolve(Buffer.concat(chunks)));
        });
      });
      const expected = path === '/text' ? Buffer.from(JSON.stringify(bytes.toString('hex'))) : bytes;
      expect([path, received.equals(expected)]).toEqual([path, true]);
    }
    await eventually(() => served === others, 'every other request has been served');
  });

  it('answers an error that comes before the first chunk, as any other', async () => {
    const failing = (error: Error) =>
      (async function* (): AsyncGenerator<string> {
        await new Promise((resolve) => setImmediate(resolve));
        if (error !== undefined) throw error;
        yield '';
      })();
    const { port, log } = await start([
      route('GET', '/ours', () => ({ status: 200, stream: failing(new TypeError('secret')) })),
      route('GET', '/theirs', () => ({
        status: 200,
        stream: failing(new ServiceError('NODE_NOT_FOUND', 'Nothing here.')),
      })),
    ]);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const theirs = await ask(port, '/theirs', { agent });
    expect([theirs.status, (theirs.json as { message: string }).message]).toEqual([404, 'Nothing here.']);
    expect(log).toEqual([]);
    const ours = await ask(port, '/ours', { agent });
    expect([ours.status, ours.text.includes('secret')]).toEqual([500, false]);
    expect(log).toHaveLength(1);
    agent.destroy();
  });

  it('cuts the connection on an error after the first chunk, so that no client takes a part for the whole', async () => {
    const { port, log, server } = await start([
      route('GET', '/broken', () => ({
        status: 200,
        stream: (async function* () {
          yield 'first';
          await new Promise((resolve) => setImmediate(resolve));
          throw new Error('disk gone');
        })(),
      })),
    ]);
    const client = await RawClient.connect(port);
    client.write(get('/broken'));
    await client.closed;
    expect(client.received).toContain('first');
    expect(client.received).not.toContain('\r\n0\r\n\r\n');
    await eventually(() => log.length === 1, 'the failure is logged');
    expect(log[0]?.facts.err).toMatchObject({ message: 'disk gone' });
    expect(server.inFlightCount).toBe(0);
    await expect(ask(port, '/broken')).rejects.toThrow();
  });

  it('logs an error after the first chunk only where it is no error of the caller', async () => {
    const failing = (error: Error) =>
      (async function* (): AsyncGenerator<string> {
        yield 'first';
        await new Promise((resolve) => setImmediate(resolve));
        throw error;
      })();
    const { port, log } = await start([
      route('GET', '/theirs', () => ({ status: 200, stream: failing(invalid('Division by zero')) })),
      route('GET', '/ours', () => ({ status: 200, stream: failing(new ServiceError('DATA_CORRUPTED')) })),
    ]);
    await expect(ask(port, '/theirs')).rejects.toThrow(/ECONNRESET|aborted|hang up/);
    await expect(ask(port, '/ours')).rejects.toThrow(/ECONNRESET|aborted|hang up/);
    await eventually(() => log.length > 0, 'the failure is logged');
    expect(log.map(({ facts }) => (facts.err as ServiceError).code)).toEqual(['DATA_CORRUPTED']);
  });

  it.each([
    ['fewer', 10],
    ['more', 3],
  ])('cuts the connection when a stream yields %s bytes than announced', async (_, contentLength) => {
    const { port, log } = await start([
      route('GET', '/wrong', () => ({ status: 200, stream: pieces('ab', 'cdef'), contentLength })),
    ]);
    await expect(ask(port, '/wrong')).rejects.toThrow(/ECONNRESET|aborted|hang up/);
    await eventually(() => log.length === 1, 'the failure is logged');
    expect((await ask(port, '/health')).text).toBe('ok');
  });

  it('cuts off a peer that reads nothing for too long', async () => {
    const clock = new SteppedClock();
    const endless = new Endless(1_000_000);
    const { port, server } = await start(
      [route('GET', '/endless', () => ({ status: 200, stream: endless }))],
      {
        clock,
        limits: { writeStallMsMax: 5_000 },
      },
    );
    const client = await RawClient.connect(port);
    client.socket.pause();
    client.write(get('/endless'));
    let last = -1;
    while (endless.asked === 0 || last !== endless.asked) {
      last = endless.asked;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    clock.advance(4_900);
    expect([endless.isReturned, server.inFlightCount]).toEqual([false, 1]);
    clock.advance(200);
    await eventually(() => endless.isReturned, 'return is called');
    expect(server.inFlightCount).toBe(0);
  });

  it('does not hold a quiet stream to the deadline of the request once it has begun', async () => {
    const clock = new SteppedClock();
    let push: (text: string) => void = () => undefined;
    const { port } = await start(
      [
        route(
          'GET',
          '/events',
          () => ({
            status: 200,
            contentType: 'text/event-stream',
            stream: (async function* () {
              yield ':\n\n';
              for (;;)
                yield await new Promise<string>((resolve) => {
                  push = resolve;
                });
            })(),
          }),
          { requestMsMax: 1_000 },
        ),
      ],
      { clock },
    );
    const client = await RawClient.connect(port);
    client.write(get('/events'));
    await client.until(':\n\n');
    clock.advance(10_000);
    push('data: 1\n\n');
    await client.until('data: 1');
  });

  it('answers 504 when a stream does not begin in time, and returns its iterator', async () => {
    const clock = new SteppedClock();
    let isReturned = false;
    const { port, server } = await start(
      [
        route(
          'GET',
          '/never',
          () => ({
            status: 200,
            stream: {
              [Symbol.asyncIterator]: () => ({
                next: () => new Promise<IteratorResult<string>>(() => undefined),
                return: async () => {
                  isReturned = true;
                  return { done: true, value: undefined };
                },
              }),
            },
          }),
          { requestMsMax: 1_000 },
        ),
      ],
      { clock },
    );
    const answer = ask(port, '/never');
    await eventually(() => server.inFlightCount === 1, 'the stream is asked');
    clock.advance(1_100);
    expect((await answer).status).toBe(504);
    expect(isReturned).toBe(true);
  });

  it('answers HEAD without starting the stream, but closes it', async () => {
    const endless = new Endless(10);
    const { port } = await start([
      route('GET', '/known', () => ({
        status: 200,
        stream: endless,
        contentLength: 77,
        contentType: 'image/png',
      })),
    ]);
    const client = await RawClient.connect(port);
    client.write(get('/known', 'HEAD') + get('/health'));
    await client.until('ok');
    expect(client.received).toContain('Content-Length: 77');
    expect([endless.asked, endless.isReturned]).toEqual([0, true]);
  });

  it('closes the stream of a reply whose caller has gone before it', async () => {
    const endless = new Endless(10);
    let goOn: () => void = () => undefined;
    const { port, observed } = await start([
      route('GET', '/late', async () => {
        await new Promise<void>((resolve) => {
          goOn = resolve;
        });
        return { status: 200, stream: endless };
      }),
    ]);
    const client = await RawClient.connect(port);
    client.write(get('/late'));
    await eventually(() => goOn.toString() !== '() => undefined', 'the handler runs');
    client.socket.destroy();
    await eventually(() => observed.length === 1, 'the caller has gone');
    goOn();
    await eventually(() => endless.isReturned, 'the stream is closed');
    expect(endless.asked).toBe(0);
  });

  it('gives the event loop back to others while a stream is always ready and never blocked', async () => {
    const endless = new Endless(0);
    const { port, server } = await start([
      route('GET', '/endless', () => ({ status: 200, stream: endless })),
    ]);
    const client = await RawClient.connect(port);
    client.write(get('/endless'));
    await eventually(() => endless.asked > 100, 'the stream runs');
    expect((await ask(port, '/health')).text).toBe('ok');
    client.socket.destroy();
    await eventually(() => server.inFlightCount === 0, 'the stream ends');
    expect(endless.isReturned).toBe(true);
  });
});
