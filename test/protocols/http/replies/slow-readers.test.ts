import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { ReplyRoom } from '#protocols/http/replies/reply-room.ts';
import type { HttpReply, MakeRoom } from '#protocols/http/route.ts';
import { ask, eventually, RawClient, route, SteppedClock, start } from '../http-fixture.ts';

const mebibyte = 1024 * 1024;
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

/** Resolves when a number has stopped to change. */
async function settled(read: () => number): Promise<number> {
  for (let before = -1, same = 0; ; ) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    const now = read();
    same = now === before ? same + 1 : 0;
    before = now;
    if (same === 10) return now;
  }
}

describe('a connection that asks and does not read', () => {
  it('is ended before its answers fill the memory', async () => {
    let answered = 0;
    const body = 'x'.repeat(60_000);
    const { port, server } = await start([
      route('GET', '/node', () => {
        answered += 1;
        return { status: 200, raw: body };
      }),
    ]);
    const client = await RawClient.connect(port);
    client.socket.pause();
    const many = get('/node').repeat(500);
    for (let round = 0; round < 20 && !client.isClosed; round += 1) {
      client.write(many);
      await ask(port, '/health');
    }
    await settled(() => answered);
    // What the kernel takes; without a bound all 10,000 were answered, 600 MB.
    expect(answered).toBeLessThan(2_000);
    expect(server.waitingBytes).toBe(0);
  });

  it('gets every byte of its answers when it reads after all', async () => {
    const body = `${'y'.repeat(59_999)}!`;
    const { port, server, observed } = await start([
      route('GET', '/node', () => ({ status: 200, raw: body, contentType: 'text/plain' })),
    ]);
    const client = await RawClient.connect(port);
    client.socket.pause();
    let asked = 0;
    // One after the other, until one of them cannot be handed over.
    for (; server.inFlightCount === 0; asked += 1) {
      client.write(get('/node'));
      await eventually(() => observed.length > asked || server.inFlightCount > 0, 'the answer is made');
    }
    expect(server.waitingBytes).toBeGreaterThan(0);
    client.socket.resume();
    await eventually(() => client.received.split('!').length > asked, 'all answers arrive');
    expect(client.received.split('\r\n\r\n').at(-1)).toBe(body);
    expect([server.inFlightCount, server.waitingBytes]).toEqual([0, 0]);
    client.write(get('/health'));
    await client.until('ok');
  });

  it('is cut off when it takes nothing of an answer for too long', async () => {
    const clock = new SteppedClock();
    const { port, server } = await start(
      [route('GET', '/node', () => ({ status: 200, raw: 'z'.repeat(60_000) }))],
      { clock, limits: { writeStallMsMax: 5_000, sweepMs: 10 } },
    );
    const client = await RawClient.connect(port);
    client.socket.pause();
    while (server.inFlightCount === 0) {
      client.write(get('/node'));
      await ask(port, '/health');
    }
    clock.advance(4_900);
    expect(server.inFlightCount).toBe(1);
    clock.advance(200);
    await eventually(() => server.inFlightCount === 0 && server.waitingBytes === 0, 'it is cut off');
  });
});

/** Streams of one large chunk each, which announce it. */
class LargeStreams {
  made = 0;
  begun = 0;
  readonly #bytes: number;

  constructor(bytes: number) {
    this.#bytes = bytes;
  }

  stream(): AsyncIterable<string> {
    let isMade = false;
    const next = async (makeRoom: MakeRoom): Promise<IteratorResult<string>> => {
      if (isMade) return { done: true, value: undefined };
      isMade = true;
      this.begun += 1;
      await makeRoom(this.#bytes);
      this.made += 1;
      return { done: false, value: 'x'.repeat(this.#bytes) };
    };
    return { [Symbol.asyncIterator]: () => ({ next }) as AsyncIterator<string> };
  }
}

describe('the memory of answers that wait', () => {
  const limits = { replyBytesTotalMax: 50 * mebibyte, sweepMs: 10, writeStallMsMax: 30_000 };

  it('is bounded however many peers do not read: others are made when there is room', async () => {
    const clock = new SteppedClock();
    const large = new LargeStreams(20 * mebibyte);
    const { port, server } = await start(
      [route('GET', '/large', () => ({ status: 200, stream: large.stream() }))],
      { clock, limits },
    );
    const clients = await Promise.all(Array.from({ length: 6 }, () => RawClient.connect(port)));
    for (const client of clients) {
      client.socket.pause();
      client.write(get('/large'));
    }
    await eventually(() => large.begun === 6, 'all are asked for');
    expect(await settled(() => large.made)).toBe(2);
    expect(server.waitingBytes).toBeLessThanOrEqual(50 * mebibyte);
    // Whoever takes nothing makes way while others wait for room; nobody would have to yet for being slow alone.
    for (const made of [4, 6]) {
      await eventually(() => {
        // In steps: an answer may be made a little before it is sent, and stalls from then on.
        clock.advance(100);
        return large.made === made;
      }, `${made} are made`);
      expect(server.waitingBytes).toBeLessThanOrEqual(50 * mebibyte);
    }
    for (const client of clients) client.socket.destroy();
    await eventually(() => server.waitingBytes === 0, 'everything is given back');
  });

  it('is granted to the readers, one after the other', async () => {
    const large = new LargeStreams(20 * mebibyte);
    const { port, server } = await start(
      [route('GET', '/large', () => ({ status: 200, stream: large.stream() }))],
      { limits },
    );
    const answers = await Promise.all(Array.from({ length: 6 }, () => ask(port, '/large')));
    expect(answers.map(({ bytes }) => bytes.length)).toEqual(Array(6).fill(20 * mebibyte));
    expect(server.waitingBytes).toBe(0);
  });

  it('is returned by peers that disconnect while they wait for room', async () => {
    const large = new LargeStreams(40 * mebibyte);
    const { port, server } = await start(
      [route('GET', '/large', () => ({ status: 200, stream: large.stream() }))],
      { clock: new SteppedClock(), limits },
    );
    const [first, second] = await Promise.all([RawClient.connect(port), RawClient.connect(port)]);
    for (const client of [first, second]) {
      client.socket.pause();
      client.write(get('/large'));
      await settled(() => large.begun);
    }
    expect([large.begun, large.made]).toEqual([2, 1]);
    second.socket.destroy();
    await eventually(() => server.inFlightCount === 1, 'the second has gone');
    first.socket.destroy();
    await eventually(() => server.waitingBytes === 0, 'everything is given back');
    expect(large.made).toBe(1);
  });

  it('refuses an answer that is made already and finds no room, and answers others', async () => {
    const large = new LargeStreams(40 * mebibyte);
    const { port } = await start(
      [
        route('GET', '/large', () => ({ status: 200, stream: large.stream() })),
        route('GET', '/node', () => ({ status: 200, raw: 'x'.repeat(15 * mebibyte) })),
      ],
      { clock: new SteppedClock(), limits },
    );
    expect((await ask(port, '/node')).bytes.length).toBe(15 * mebibyte);
    const client = await RawClient.connect(port);
    client.socket.pause();
    client.write(get('/large'));
    await eventually(() => large.made === 1, 'a large answer waits');
    const refused = await ask(port, '/node');
    expect([refused.status, refused.text]).toEqual([503, expect.stringContaining('read slowly')]);
    expect((await ask(port, '/health')).status).toBe(200);
  });
});

/** Collects garbage. */
const collect = (): void => {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
};

describe('what answers are made of', () => {
  it('is released before the peer has read them', async () => {
    const made: WeakRef<object>[] = [];
    const { port, server } = await start([
      route('GET', '/large', () => {
        // Six bytes each: a short text is written at once, and yet more than the system takes.
        const json = { text: '\u0001'.repeat(mebibyte - 100_000) };
        made.push(new WeakRef(json));
        return { status: 200, json };
      }),
    ]);
    const client = await RawClient.connect(port);
    client.socket.pause();
    client.write(get('/large'));
    await eventually(() => server.waitingBytes > 0, 'the answer waits');
    await settled(() => server.waitingBytes);
    // A weak reference that was just made or read holds its target until the turn is over.
    await eventually(() => {
      collect();
      return made[0]?.deref() === undefined;
    }, 'nothing holds what the answer was made of');
    expect(server.waitingBytes).toBeGreaterThan(5 * mebibyte);
  });

  it('is made no text of when there is no room for it', async () => {
    const large = new LargeStreams(10 * mebibyte);
    const held: number[] = [];
    const { port, server } = await start(
      [
        route('GET', '/large', () => ({ status: 200, stream: large.stream() })),
        route('GET', '/json', () => {
          const text = 'x'.repeat(15 * mebibyte);
          const noteHeld = (): number => held.push(server.waitingBytes);
          // Asked once the text before it has been written.
          return { status: 200, json: { text, last: { toJSON: noteHeld } } };
        }),
      ],
      { limits: { replyBytesTotalMax: 20 * mebibyte, sweepMs: 10 }, clock: new SteppedClock() },
    );
    expect((await ask(port, '/json')).status).toBe(200);
    expect(held).toHaveLength(1);
    const client = await RawClient.connect(port);
    client.socket.pause();
    client.write(get('/large'));
    await eventually(() => large.made === 1, 'a large answer waits');
    const answers = await Promise.all(Array.from({ length: 5 }, () => ask(port, '/json')));
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(503));
    expect(held).toHaveLength(1);
  });

  it.each([
    ['JSON', (): HttpReply => ({ status: 201, json: { text: 'x'.repeat(15 * mebibyte) } })],
    ['bytes', (): HttpReply => ({ status: 201, raw: new Uint8Array(15 * mebibyte) })],
    ['small JSON', (): HttpReply => ({ status: 201, json: 'x'.repeat(mebibyte / 2) })],
  ])(
    'is waited for where something was written, which is never answered as refused: %s',
    async (_, reply) => {
      const large = new LargeStreams(20 * mebibyte);
      let written = 0;
      const { port, server } = await start(
        [
          route('GET', '/large', () => ({ status: 200, stream: large.stream() })),
          route('POST', '/write', () => {
            written += 1;
            return reply();
          }),
        ],
        { limits: { replyBytesTotalMax: 20 * mebibyte, sweepMs: 10 }, clock: new SteppedClock() },
      );
      const client = await RawClient.connect(port);
      client.socket.pause();
      client.write(get('/large'));
      await eventually(() => large.made === 1, 'a large answer waits');
      const answers = Promise.all(Array.from({ length: 4 }, () => ask(port, '/write', { method: 'POST' })));
      await eventually(() => written === 4, 'all are written');
      client.socket.destroy();
      expect((await answers).map(({ status }) => status)).toEqual(Array(4).fill(201));
      await eventually(() => server.waitingBytes === 0, 'everything is given back');
    },
  );

  it('is not kept for a peer that has disconnected', async () => {
    const large = new LargeStreams(20 * mebibyte);
    let written = 0;
    const { port, server } = await start(
      [
        route('GET', '/large', () => ({ status: 200, stream: large.stream() })),
        route('POST', '/write', () => {
          written += 1;
          return { status: 201, raw: new Uint8Array(15 * mebibyte) };
        }),
      ],
      { limits: { replyBytesTotalMax: 20 * mebibyte, sweepMs: 10 }, clock: new SteppedClock() },
    );
    const reader = await RawClient.connect(port);
    reader.socket.pause();
    reader.write(get('/large'));
    await eventually(() => large.made === 1, 'a large answer waits');
    const writer = await RawClient.connect(port);
    writer.write('POST /write HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n');
    await eventually(() => written === 1, 'it is written');
    writer.socket.destroy();
    await eventually(() => server.inFlightCount === 1, 'the writer has gone');
    reader.socket.destroy();
    await eventually(() => server.waitingBytes === 0, 'everything is given back');
  });
});

describe('answers without a body', () => {
  it.each([
    ['/nothing', { status: 204 }],
    ['/same', { status: 304 }],
  ] as const)('that the peer does not read end the connection: %s', async (path, reply) => {
    let answered = 0;
    const { port, server } = await start([
      route('GET', path, () => {
        answered += 1;
        return reply;
      }),
    ]);
    const client = await RawClient.connect(port);
    client.socket.pause();
    const many = get(path).repeat(1_000);
    // More than the system keeps of answers; without a bound all million would be answered.
    for (let round = 0; round < 1_000 && server.connectionCount > 0 && !client.isClosed; round += 1) {
      await new Promise((resolve) => client.socket.write(many, resolve));
    }
    await eventually(() => server.connectionCount === 0, 'the connection is ended');
    expect(answered).toBeLessThan(200_000);
  });
});

describe('answers without a body in one turn of the event loop', () => {
  /** Asks with one piece of text, and tells how many requests were answered before the connection was ended. */
  async function askedAtOnce(method: string, reply: () => HttpReply, times: number): Promise<number> {
    let answered = 0;
    const { port } = await start([
      route('GET', '/it', () => {
        answered += 1;
        return reply();
      }),
    ]);
    const client = await RawClient.connect(port);
    client.write(`${method} /it HTTP/1.1\r\nHost: x\r\n\r\n`.repeat(times));
    await client.closed;
    return answered;
  }

  const nothing = async function* (): AsyncGenerator<string> {};

  it.each([
    ['HEAD', 'a text', () => ({ status: 200, json: 'x' })],
    ['HEAD', 'a text that may be compressed', () => ({ status: 200, json: 'x'.repeat(10_000) })],
    ['HEAD', 'a stream', () => ({ status: 200, stream: nothing() })],
    ['GET', 'nothing', () => ({ status: 204 })],
    ['GET', 'nothing new', () => ({ status: 304 })],
  ] satisfies [string, string, () => HttpReply][])(
    'end a connection that asks for more: %s of %s',
    async (method, _what, reply) => {
      // One of them is outstanding when the next one ends the connection; a read may end in the midst of them.
      expect(await askedAtOnce(method, reply, 1_000)).toBeLessThan(200);
    },
  );

  it('are all sent to many who ask once', async () => {
    const { port, server } = await start([]);
    const clients = await Promise.all(Array.from({ length: 200 }, () => RawClient.connect(port)));
    for (const client of clients) client.write('HEAD /health HTTP/1.1\r\nHost: x\r\n\r\n');
    await Promise.all(clients.map((client) => client.until('Content-Length: 2\r\n')));
    expect([server.connectionCount, server.inFlightCount]).toEqual([200, 0]);
  });

  it('become errors when they cannot be written', async () => {
    const { port } = await start([
      route('GET', '/bad', () => ({ status: 200, raw: 'x', contentType: 'a\r\nb' })),
    ]);
    const clients = await Promise.all(Array.from({ length: 200 }, () => RawClient.connect(port)));
    for (const client of clients) client.write('HEAD /bad HTTP/1.1\r\nHost: x\r\n\r\n');
    await Promise.all(clients.map((client) => client.until('HTTP/1.1 500')));
  });
});

describe('ReplyRoom', () => {
  it('serves those who wait in the order they came', async () => {
    const room = new ReplyRoom(10);
    expect([room.take(6), room.take(6)]).toEqual([true, false]);
    const order: string[] = [];
    const large = Promise.resolve(room.reserve(8)).then(() => order.push('large'));
    // It would fit, and has to wait all the same: else the large one would never have its turn.
    expect(room.take(2)).toBe(false);
    const small = Promise.resolve(room.reserve(2)).then(() => order.push('small'));
    expect(room.isPressed).toBe(true);
    room.give(6);
    await Promise.all([large, small]);
    expect([order, room.used]).toEqual([['large', 'small'], 10]);
  });

  it('lets one through that is larger than everything, when it is alone', async () => {
    const room = new ReplyRoom(10);
    expect(room.take(100)).toBe(true);
    expect(room.take(1)).toBe(false);
    room.give(100);
    expect(room.used).toBe(0);
  });
});
