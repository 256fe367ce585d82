import type { Socket } from 'node:net';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { EgressGuard, GuardedRequest } from '#protocols/egress/egress-guard.ts';
import { settle, TestClock } from '#test/support/test-clock.ts';
import { until } from '#test/support/until.ts';
import {
  codeOf,
  errorOf,
  guardOf,
  open,
  startHttp,
  startRaw,
  stopAll,
  type TestServer,
  untilLeft,
} from './egress-fixture.ts';

afterEach(stopAll);

const crlf = '\r\n';

/** A head of a response. */
function head(...lines: readonly string[]): string {
  return ['HTTP/1.1 200 OK', ...lines, '', ''].join(crlf);
}

/** Fetches from a server and reads the whole body. */
async function textOf(
  guard: EgressGuard,
  server: TestServer,
  asked: Partial<GuardedRequest> = {},
): Promise<string> {
  const response = await guard.fetch(`http://127.0.0.1:${server.port}/`, { tenant: 'acme', ...asked });
  return await response.text();
}

/** Writes parts until the other side closes the connection. @param onPart called with each */
function flood(socket: Socket, part: string | Uint8Array, onPart = (): void => undefined): void {
  const more = (): void => {
    if (socket.destroyed) return;
    onPart();
    if (socket.write(part)) setImmediate(more);
    else socket.once('drain', more);
  };
  more();
}

describe('a response', () => {
  it('is given with status, headers and bytes', async () => {
    const server = await startHttp((_request, response) => {
      response
        .writeHead(418, { 'x-a': ['1', '2'], 'content-type': 'application/x' })
        .end(Buffer.of(0, 255, 10));
    });
    const url = `http://127.0.0.1:${server.port}/a`;
    const response = await guardOf(open).fetch(url, { tenant: 'acme' });
    expect([response.status, response.ok, response.url]).toEqual([418, false, url]);
    expect([response.headers.get('x-a'), response.headers.get('content-type')]).toEqual([
      '1, 2',
      'application/x',
    ]);
    expect(new Uint8Array(await response.arrayBuffer())).toEqual(Uint8Array.of(0, 255, 10));
  });

  it.each([
    ['GET', 204],
    ['GET', 304],
    ['HEAD', 200],
  ])('of %s %s has no body, and its connection is used again', async (method, status) => {
    const server = await startHttp((_request, response) => {
      response.writeHead(status, method === 'HEAD' ? { 'content-length': '99999999' } : {}).end();
    });
    const clock = new TestClock();
    const guard = guardOf(open, { clock });
    for (let times = 0; times < 6; times += 1) {
      const response = await guard.fetch(`http://127.0.0.1:${server.port}/`, { tenant: 'acme', method });
      expect([response.status, response.body, await response.text()]).toEqual([status, null, '']);
      await until(() => clock.alarms === 0, 'the request is over');
    }
    expect(server.connections).toBe(1);
  });

  it('is decompressed, and its connection is used again', async () => {
    const server = await startHttp((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'GZIP' }).end(gzipSync('compressed '.repeat(1_000)));
    });
    const guard = guardOf(open);
    for (let times = 0; times < 3; times += 1) {
      const response = await guard.fetch(`http://127.0.0.1:${server.port}/`, { tenant: 'acme' });
      expect(response.headers.get('content-encoding')).toBeNull();
      expect(response.headers.get('content-length')).toBeNull();
      expect(await response.text()).toBe('compressed '.repeat(1_000));
    }
    expect(server.connections).toBe(1);
  });

  it('may have as many bytes as the allowance, and not one more', async () => {
    const server = await startHttp((request, response) => {
      const bytes = request.headers['x-bytes'];
      response.end('x'.repeat(Number(bytes)));
    });
    const guard = guardOf({ ...open, responseBytesMax: 100 });
    expect(await textOf(guard, server, { headers: { 'x-bytes': '100' } })).toHaveLength(100);
    const error = await errorOf(textOf(guard, server, { headers: { 'x-bytes': '101' } }));
    expect([error.code, error.message]).toEqual([
      'UPSTREAM_INVALID',
      "The response of '127.0.0.1' has more than 100 bytes",
    ]);
    await untilLeft(server);
  });

  it.each([
    ['endless, in chunks', head('transfer-encoding: chunked'), `400${crlf}${'x'.repeat(1024)}${crlf}`],
    ['endless, until the connection ends', head('connection: close'), 'x'.repeat(1024)],
    [
      'endless and compressed to nothing',
      Buffer.concat([Buffer.from(head('content-encoding: gzip')), gzipSync('').subarray(0, 10)]),
      // Stored blocks without a byte.
      Buffer.from('000000ffff'.repeat(200), 'hex'),
    ],
    [
      'a bomb',
      Buffer.concat([
        Buffer.from(head('content-encoding: gzip')),
        // 64 MiB in 64 KiB, which is as many bytes as are allowed.
        gzipSync(Buffer.alloc(64 * 1024 * 1024), { level: 9 }).subarray(0, 60_000),
      ]),
      '',
    ],
  ])('is ended at the bound: %s', async (_what, first, more) => {
    const server = await startRaw((socket) => {
      socket.write(first);
      if (more.length > 0) flood(socket, more);
    });
    expect(await codeOf(textOf(guardOf(open), server))).toBe('UPSTREAM_INVALID');
    await untilLeft(server);
  });

  it.each([
    ['as it is', head('transfer-encoding: chunked'), 'x'],
    [
      'compressed',
      head('transfer-encoding: chunked', 'content-encoding: gzip'),
      gzipSync('x').toString('latin1', 0, 1),
    ],
  ])('is ended where it comes in parts of one byte: %s', async (_what, first, byte) => {
    let written = 0;
    const part = Buffer.from(`1${crlf}${byte}${crlf}`.repeat(1_000), 'latin1');
    const server = await startRaw((socket) => {
      socket.write(first);
      flood(socket, part, () => {
        written += part.length;
      });
    });
    const allowance = { ...open, responseBytesMax: 2 ** 30 };
    const error = await errorOf(textOf(guardOf(allowance), server));
    expect(error.code).toBe('UPSTREAM_INVALID');
    expect(written).toBeLessThan(2 ** 30);
    await untilLeft(server);
  });

  it('may come in small parts', async () => {
    const text = 'data: some token of a stream\n\n';
    const server = await startHttp((_request, response) => {
      for (let times = 0; times < 20_000; times += 1) response.write(text);
      response.end();
    });
    const guard = guardOf({ ...open, responseBytesMax: 2 ** 20 });
    expect(await textOf(guard, server)).toBe(text.repeat(20_000));
  });

  it('is not read where it announces too much', async () => {
    const server = await startRaw((socket) => void socket.write(head(`content-length: ${64 * 1024 + 1}`)));
    const fetching = guardOf(open).fetch(`http://127.0.0.1:${server.port}/`, { tenant: 'acme' });
    expect(await codeOf(fetching)).toBe('UPSTREAM_INVALID');
    await untilLeft(server);
  });

  it.each([
    ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['HTTP/0.9', '<html>'],
    ['a head too large', head(`x: ${'a'.repeat(40_000)}`)],
    ['too many headers', head(...new Array<string>(20_000).fill('a: b'))],
    ['two lengths', head('content-length: 3', 'content-length: 4')],
    ['length and chunks', head('content-length: 3', 'transfer-encoding: chunked')],
    ['a header with a control character', head('x: a\u0001b')],
    ['a status beyond 599', 'HTTP/1.1 999 Odd\r\n\r\n'],
    ['an encoding that was not asked for', `${head('content-encoding: br')}x`],
    ['several encodings', `${head('content-encoding: gzip, gzip')}x`],
  ])('is refused: %s', async (_what, bytes) => {
    const server = await startRaw((socket) => void socket.write(bytes));
    expect(await codeOf(textOf(guardOf(open), server))).toBe('UPSTREAM_INVALID');
    await untilLeft(server);
  });

  it.each([
    ['not compressed', Buffer.from('plain')],
    ['cut off', gzipSync('x'.repeat(1_000)).subarray(0, 20)],
    ['compressed otherwise', brotliCompressSync('x')],
    ['damaged', Buffer.concat([gzipSync('x'.repeat(100)).subarray(0, -8), Buffer.alloc(8)])],
  ])('is refused where it is said to be compressed and is %s', async (_what, bytes) => {
    const server = await startHttp((_request, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bytes);
    });
    expect(await codeOf(textOf(guardOf(open), server))).toBe('UPSTREAM_INVALID');
  });

  it.each([
    ['of a known length', head('content-length: 10')],
    ['in chunks', `${head('transfer-encoding: chunked')}5${crlf}`],
    ['in its head', `HTTP/1.1 200 OK${crlf}x: `],
    ['before its head', ''],
  ])('that ends too early fails: %s', async (_what, bytes) => {
    const server = await startRaw((socket) => void socket.end(`${bytes}`));
    const code = await codeOf(textOf(guardOf(open), server));
    expect(['UPSTREAM_UNREACHABLE', 'UPSTREAM_INVALID']).toContain(code);
    await untilLeft(server);
  });

  it('is not another protocol, and not endless interim responses', async () => {
    const upgrading = await startRaw((socket) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols${crlf}upgrade: x${crlf}connection: upgrade${crlf}${crlf}`,
      );
    });
    expect(await codeOf(textOf(guardOf(open), upgrading))).toBe('UPSTREAM_UNREACHABLE');
    const hinting = await startRaw((socket) => flood(socket, `HTTP/1.1 103 Early Hints${crlf}${crlf}`));
    expect(await codeOf(textOf(guardOf(open), hinting))).toBe('UPSTREAM_INVALID');
    await untilLeft(hinting);
    const few = await startRaw((socket) => {
      socket.write(`HTTP/1.1 103 Early Hints${crlf}${crlf}${head('content-length: 2')}ok`);
    });
    expect(await textOf(guardOf(open), few)).toBe('ok');
  });

  it('says nothing of its contents in an error', async () => {
    const bodies = ['SSH-2.0-hush\r\n', head('x: hush\u0001'), `${head('content-encoding: hush')}hush`];
    for (const bytes of bodies) {
      const server = await startRaw((socket) => void socket.write(bytes));
      const error = await errorOf(textOf(guardOf(open), server));
      expect(error.message).not.toContain('hush');
      expect(JSON.stringify(error.details ?? '')).not.toContain('hush');
    }
  });
});

describe('a slow server', () => {
  /** A server that writes `parts` when it is told to. */
  async function told(): Promise<{
    readonly server: TestServer;
    readonly write: (text: string) => Promise<void>;
  }> {
    let socket: Socket | undefined;
    const server = await startRaw((made) => {
      socket = made;
    });
    const write = async (text: string): Promise<void> => {
      await until(() => socket !== undefined, 'a request arrived');
      await new Promise((resolve) => void socket?.write(text, resolve));
    };
    return { server, write };
  }

  it('has a time for its head, however slowly it writes it', async () => {
    const { server, write } = await told();
    const clock = new TestClock();
    const work = codeOf(textOf(guardOf(open, { clock }), server));
    await write('HTTP/1.1 200 OK\r\nx: ');
    for (let parts = 0; parts < 19; parts += 1) {
      await write('a');
      clock.advance(open.idleMs / 20);
    }
    await write('a');
    clock.advance(open.idleMs / 20);
    expect(await work).toBe('UPSTREAM_TIMEOUT');
    await untilLeft(server);
    expect(clock.alarms).toBe(0);
  });

  it('has a time for each part of its body', async () => {
    const { server, write } = await told();
    const clock = new TestClock();
    const guard = guardOf({ ...open, timeoutMs: 60_000 }, { clock });
    const fetching = guard.fetch(`http://127.0.0.1:${server.port}/`, { tenant: 'acme' });
    await write(`${head('content-length: 10')}`);
    const reader = (await fetching).body?.getReader();
    clock.advance(open.idleMs - 1);
    const first = reader?.read();
    await write('a');
    expect(String((await first)?.value)).toBe('a');
    const second = codeOf(Promise.resolve(reader?.read()));
    await settle();
    clock.advance(open.idleMs - 1);
    expect(clock.alarms).toBe(2);
    clock.advance(1);
    expect(await second).toBe('UPSTREAM_TIMEOUT');
    await untilLeft(server);
    expect(clock.alarms).toBe(0);
  });

  it('has a time for all of its response, however steadily it writes', async () => {
    const { server, write } = await told();
    const clock = new TestClock();
    const guard = guardOf(open, { clock });
    const fetching = guard.fetch(`http://127.0.0.1:${server.port}/`, { tenant: 'acme', timeoutMs: 50_000 });
    await write(head('content-length: 1000'));
    const reader = (await fetching).body?.getReader();
    for (let seconds = 0; seconds < 49; seconds += 1) {
      await write('a');
      expect((await reader?.read())?.done).toBe(false);
      clock.advance(1_000);
    }
    const last = codeOf(Promise.resolve(reader?.read()));
    await settle();
    clock.advance(1_000);
    expect(await last).toBe('UPSTREAM_TIMEOUT');
    await untilLeft(server);
    expect(clock.alarms).toBe(0);
  });

  it('has no more time than the allowance, whatever the caller asks for', async () => {
    const { server, write } = await told();
    const clock = new TestClock();
    const guard = guardOf({ ...open, idleMs: 999_000 }, { clock });
    const work = codeOf(textOf(guard, server, { timeoutMs: 999_000 }));
    await write('H');
    clock.advance(open.timeoutMsMax - 1);
    await write('T');
    clock.advance(1);
    expect(await work).toBe('UPSTREAM_TIMEOUT');
  });

  it('is not waited for where nobody reads the response', async () => {
    const { server, write } = await told();
    const clock = new TestClock();
    const guard = guardOf(open, { clock });
    const fetching = guard.fetch(`http://127.0.0.1:${server.port}/`, { tenant: 'acme' });
    await write(`${head('content-length: 10')}abc`);
    const response = await fetching;
    clock.advance(open.timeoutMs);
    await untilLeft(server);
    expect(clock.alarms).toBe(0);
    expect(await codeOf(response.text())).toBe('UPSTREAM_TIMEOUT');
  });

  it('sends no faster than the response is read', async () => {
    let written = 0;
    const part = Buffer.alloc(65_536);
    const server = await startRaw((socket) => {
      socket.write(head('connection: close'));
      flood(socket, part, () => {
        written += part.length;
      });
    });
    const guard = guardOf({ ...open, responseBytesMax: 2 ** 40 });
    const response = await guard.fetch(`http://127.0.0.1:${server.port}/`, { tenant: 'acme' });
    let seen = -1;
    await until(() => {
      const isStill = seen === written;
      seen = written;
      return isStill;
    }, 'the server waits');
    // What the buffers of the system hold.
    expect(written).toBeLessThan(64 * 1024 * 1024);
    await response.body?.cancel();
    await untilLeft(server);
  });
});

describe('a caller that leaves', () => {
  it.each(['before', 'while the head is awaited', 'while the body is read'])(
    'ends everything: %s',
    async (when) => {
      const server = await startRaw((socket) => {
        if (when === 'while the body is read') socket.write(`${head('content-length: 10')}abc`);
      });
      const clock = new TestClock();
      const guard = guardOf({ ...open, concurrentPerTenantMax: 1 }, { clock });
      const controller = new AbortController();
      const reason = new Error('gone');
      if (when === 'before') controller.abort(reason);
      const work = textOf(guard, server, { signal: controller.signal });
      if (when !== 'before') {
        await until(() => server.openConnections === 1, 'the request is sent');
        if (when === 'while the body is read') await until(() => clock.alarms === 2, 'the body is read');
        controller.abort(reason);
      }
      await expect(work).rejects.toBe(reason);
      await untilLeft(server);
      expect(server.connections).toBe(when === 'before' ? 0 : 1);
      expect(clock.alarms).toBe(0);
      // Its slot is free.
      await guard.check('http://127.0.0.1/', { tenant: 'acme' });
    },
  );

  it('and cancels the body, ends everything', async () => {
    const server = await startRaw((socket) => void socket.write(`${head('content-length: 10')}abc`));
    const clock = new TestClock();
    const guard = guardOf(open, { clock });
    const response = await guard.fetch(`http://127.0.0.1:${server.port}/`, { tenant: 'acme' });
    await response.body?.cancel();
    await untilLeft(server);
    expect(clock.alarms).toBe(0);
  });
});
