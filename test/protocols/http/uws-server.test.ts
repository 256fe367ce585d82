import http from 'node:http';
import { describe, expect, it } from 'vitest';
import { bodyFields } from '#protocols/http/requests/body-fields.ts';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { ask, eventually, gate, RawClient, route, start } from './http-fixture.ts';

const ok = (): { status: number; raw: string } => ({ status: 200, raw: '"ok"' });
const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;

describe('answers to a caller', () => {
  it('are not for the caches of others: not kept, or asked for again where there is an ETag', async () => {
    const reply = (headers: Record<string, string> = {}) => ({ status: 200, raw: 'ok', headers });
    const { port } = await start([
      route('GET', '/open', () => reply(), { auth: 'optional' }),
      route('GET', '/own', () => reply(), { auth: 'required' }),
      route('GET', '/tagged', () => reply({ ETag: '"1"' }), { auth: 'optional' }),
      route('GET', '/set', () => reply({ 'Cache-Control': 'public' }), { auth: 'optional' }),
    ]);
    const cacheControl = async (path: string, headers: Record<string, string> = {}) =>
      (await ask(port, path, { headers })).headers['cache-control'];
    const me = { authorization: 'Bearer me' };
    expect(await cacheControl('/open')).toBeUndefined();
    expect(await cacheControl('/open', me)).toBe('no-store');
    expect(await cacheControl('/own', me)).toBe('no-store');
    expect(await cacheControl('/own')).toBe('no-store');
    expect(await cacheControl('/tagged')).toBeUndefined();
    expect(await cacheControl('/tagged', me)).toBe('private, no-cache');
    expect(await cacheControl('/set', me)).toBe('public');
  });
});

describe('answering', () => {
  it('answers a synchronous and a promised reply with the same bytes', async () => {
    const { port } = await start([
      route('GET', '/now', () => ({ status: 200, json: { a: 1 } })),
      route('GET', '/later', async () => ({ status: 200, json: { a: 1 } })),
    ]);
    for (const path of ['/now', '/later']) {
      const answer = await ask(port, path);
      expect(answer.status).toBe(200);
      expect(answer.text).toBe('{"a":1}');
      expect(answer.headers['content-type']).toBe('application/json');
      expect(answer.headers['content-length']).toBe('7');
      expect(answer.headers).toMatchObject({
        'x-content-type-options': 'nosniff',
        'x-frame-options': 'DENY',
        'referrer-policy': 'no-referrer',
      });
      expect(answer.headers['x-request-id']).toMatch(/^[0-9a-f]{12}-\w+$/);
    }
  });

  it('sends raw text, bytes, other content types and empty replies as they are', async () => {
    const bytes = Uint8Array.from([0, 255, 128, 10]);
    const { port } = await start([
      route('GET', '/bytes', () => ({ status: 200, raw: bytes, contentType: 'image/png' })),
      route('POST', '/made', () => ({
        status: 201,
        headers: { Location: '/made/1', 'Set-Cookie': ['a=1', 'b=2'] },
      })),
      route('DELETE', '/gone', () => ({ status: 204 })),
      route('GET', '/same', () => ({ status: 304, headers: { ETag: '"1"' } })),
      route('GET', '/null', () => ({ status: 200, json: null })),
    ]);
    const image = await ask(port, '/bytes');
    expect(image.headers['content-type']).toBe('image/png');
    expect([...image.bytes]).toEqual([...bytes]);
    const made = await ask(port, '/made', { method: 'POST' });
    expect([made.status, made.headers.location, made.headers['content-length']]).toEqual([
      201,
      '/made/1',
      '0',
    ]);
    expect(made.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(made.headers['content-type']).toBeUndefined();
    const gone = await ask(port, '/gone', { method: 'DELETE' });
    expect([gone.status, gone.text, gone.headers['content-length']]).toEqual([204, '', undefined]);
    expect((await ask(port, '/same')).headers.etag).toBe('"1"');
    expect((await ask(port, '/null')).text).toBe('null');
  });

  it('gives handlers raw parameters, decoded segments, the tail and the query', async () => {
    const { port } = await start([
      route('GET', '/r/{branch}/{name}/{path*}', (request) => ({
        status: 200,
        json: {
          rawBranch: request.param('branch'),
          branch: request.segment('branch', { allowSlash: true }),
          name: request.segment('name'),
          tail: request.param('path'),
          path: request.path,
          limit: request.query.either('limit'),
          text: request.query.get('q'),
        },
      })),
    ]);
    const answer = await ask(port, '/r/feature%2Fx/caf%C3%A9/a%20b/c/?limit=3&q=a+b%26');
    expect(answer.json).toEqual({
      rawBranch: 'feature%2Fx',
      branch: 'feature/x',
      name: 'café',
      tail: '/a%20b/c/',
      path: '/r/feature%2Fx/caf%C3%A9/a%20b/c/',
      limit: '3',
      text: 'a b&',
    });
  });

  it.each(['/seg/%zz', '/seg/%E0%A4', '/seg/%ff', '/seg/%2e%2e', '/seg/a%2Fb', '/seg/%00'])(
    'answers 400 INVALID_PATH for %s [HTTP-020, HTTP-044]',
    async (path) => {
      const { port } = await start([
        route('GET', '/seg/{name}', (request) => ({ status: 200, json: request.segment('name') })),
      ]);
      const client = await RawClient.connect(port);
      client.write(get(path));
      await client.until('INVALID_PATH');
      expect(client.received).toMatch(/^HTTP\/1.1 400 Bad Request\r\n/);
    },
  );

  it('answers 400 for a raw path that is not UTF-8', async () => {
    const { port } = await start([
      route('GET', '/seg/{name}', (request) => ({ status: 200, json: request.segment('name') })),
    ]);
    const client = await RawClient.connect(port);
    client.write(Buffer.from(get('/seg/\xff\xfe'), 'latin1'));
    await client.until('INVALID_PATH');
  });

  it('keeps headers, query and address for a handler that answers later', async () => {
    const { port } = await start([
      route('GET', '/later', async (request) => {
        await new Promise((resolve) => setImmediate(resolve));
        return {
          status: 200,
          json: [
            request.header('x-one'),
            request.header('missing'),
            request.queryString,
            request.remoteAddress,
          ],
        };
      }),
    ]);
    const answer = await ask(port, '/later?a=1', { headers: { 'X-One': 'Zwei' } });
    expect(answer.json).toEqual(['Zwei', null, 'a=1', '127.0.0.1']);
  });

  it('takes over a sane request id and replaces any other', async () => {
    const { port } = await start([
      route('GET', '/id', (request) => ({ status: 200, json: request.requestId })),
    ]);
    const own = await ask(port, '/id', { headers: { 'X-Request-Id': 'trace-1:a.b' } });
    expect([own.json, own.headers['x-request-id']]).toEqual(['trace-1:a.b', 'trace-1:a.b']);
    for (const bad of ['a b', 'x'.repeat(129), '<script>']) {
      const made = await ask(port, '/id', { headers: { 'X-Request-Id': bad } });
      expect(made.headers['x-request-id']).toMatch(/^[0-9a-f]{12}-\w+$/);
      expect(made.json).toBe(made.headers['x-request-id']);
    }
  });

  it('believes X-Forwarded-For only when told to, and then its last entry [ORIGIN-002]', async () => {
    const table = [route('GET', '/who', (request) => ({ status: 200, json: request.remoteAddress }))];
    const headers = { 'X-Forwarded-For': '6.6.6.6, 10.0.0.7' };
    const plain = await start(table);
    expect((await ask(plain.port, '/who', { headers })).json).toBe('127.0.0.1');
    const trusting = await start(table, { trustForwardedHeaders: true });
    expect((await ask(trusting.port, '/who', { headers })).json).toBe('10.0.0.7');
  });

  it.each<[string, string | string[], string]>([
    ['the last header, which a proxy adds to that of a client', ['6.6.6.6', '10.0.0.7'], '10.0.0.7'],
    ['no text that is no address', 'unknown', '127.0.0.1'],
    ['no empty entry', '10.0.0.7,', '127.0.0.1'],
    ['an address with a port without it', '10.0.0.7:4711', '10.0.0.7'],
    ['an IPv6 address in brackets without them', '[2001:db8::1]:4711', '2001:db8::1'],
    ['an IPv6 address', '2001:db8::1', '2001:db8::1'],
  ])('believes of X-Forwarded-For %s', async (_, sent, expected) => {
    const table = [route('GET', '/who', (request) => ({ status: 200, json: request.remoteAddress }))];
    const { port } = await start(table, { trustForwardedHeaders: true });
    expect((await ask(port, '/who', { headers: { 'X-Forwarded-For': sent } })).json).toBe(expected);
  });

  it('observes each request once with operation, status and time', async () => {
    const { port, observed } = await start([
      route('GET', '/now', ok),
      route('GET', '/later', async () => ok()),
    ]);
    await ask(port, '/now');
    await ask(port, '/later');
    await ask(port, '/none');
    expect(observed.map((one) => [one.operationId, one.method, one.status])).toEqual([
      ['GET /now', 'GET', 200],
      ['GET /later', 'GET', 200],
      ['unmatched', 'GET', 404],
    ]);
    expect(observed.every((one) => one.durationMs >= 0 && one.requestId !== '')).toBe(true);
  });
});

describe('routing answers', () => {
  const table = [
    route('GET', '/things/{id}', () => ({
      status: 200,
      json: { name: 'ünïcode' },
      headers: { ETag: '"7"' },
    })),
    route('DELETE', '/things/{id}', async () => ({ status: 204 })),
    route('POST', '/things', ok),
  ];

  it('answers 404 NOT_FOUND for an unknown path, in the management shape below /management [HTTP-015]', async () => {
    const { port } = await start(table);
    const answer = await ask(port, '/nothing?x=1');
    expect(answer.status).toBe(404);
    expect(answer.json).toMatchObject({ code: 'NOT_FOUND', message: "There is nothing at '/nothing'." });
    const managed = await ask(port, '/management/nothing');
    expect(managed.json).toEqual({
      success: false,
      data: null,
      error: "There is nothing at '/management/nothing'.",
    });
  });

  it('answers 405 with Allow for a known path and another method [HTTP-016]', async () => {
    const { port } = await start(table);
    const answer = await ask(port, '/things/1', { method: 'PUT' });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe('GET, HEAD, DELETE, OPTIONS');
    expect(answer.json).toMatchObject({ code: 'METHOD_NOT_ALLOWED' });
    expect((await ask(port, '/things', { method: 'GET' })).headers.allow).toBe('POST, OPTIONS');
    expect((await ask(port, '/things', { method: 'HEAD' })).status).toBe(405);
    const client = await RawClient.connect(port);
    client.write('brew /things/1 HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.until('METHOD_NOT_ALLOWED');
  });

  it('answers HEAD as GET without the body, and keeps the connection', async () => {
    const { port } = await start(table);
    const client = await RawClient.connect(port);
    client.write('HEAD /things/1 HTTP/1.1\r\nHost: x\r\n\r\n');
    await client.until('\r\n\r\n');
    client.write(get('/health'));
    await client.until('ok');
    const [head, rest] = client.received.split('\r\n\r\n', 2) as [string, string];
    expect(head).toContain('HTTP/1.1 200 OK');
    expect(head).toContain(`Content-Length: ${Buffer.byteLength(JSON.stringify({ name: 'ünïcode' }))}`);
    expect(head).toContain('ETag: "7"');
    expect(rest).toMatch(/^HTTP\/1.1 200 OK/);
  });

  it('answers OPTIONS with the methods of the path, 404 for an unknown one', async () => {
    const { port } = await start(table);
    const answer = await ask(port, '/things/1', { method: 'OPTIONS' });
    expect([answer.status, answer.headers.allow, answer.text]).toEqual([
      204,
      'GET, HEAD, DELETE, OPTIONS',
      '',
    ]);
    expect((await ask(port, '/nothing', { method: 'OPTIONS' })).status).toBe(404);
  });

  it('answers 414 for a path above 8 KiB and keeps the connection [HTTP-021]', async () => {
    const { port } = await start(table);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const long = await ask(port, `/things/${'a'.repeat(8_192)}`, { agent });
    expect(long.status).toBe(414);
    expect(long.json).toMatchObject({ code: 'URI_TOO_LONG' });
    expect((await ask(port, '/health', { agent })).text).toBe('ok');
    expect((await ask(port, `/things/${'a'.repeat(8_000)}`, { agent })).status).toBe(200);
    agent.destroy();
  });
});

describe('authentication', () => {
  const whoami = (auth: 'required' | 'optional', method: 'GET' | 'POST' = 'GET') =>
    route(method, `/${auth}`, (request) => ({ status: 200, json: request.principal.name }), {
      auth,
      ...(method === 'POST' ? { body: 'json' } : {}),
    });

  it('hands the principal of the hook to the handler, promised or not', async () => {
    const table = [whoami('required'), whoami('optional')];
    const plain = await start(table);
    const promised = await start(table, {
      authenticate: async (request, need) => {
        await new Promise((resolve) => setImmediate(resolve));
        const token = request.header('authorization');
        if (token === undefined && need === 'required') throw new ServiceError('UNAUTHORIZED');
        return { name: token?.slice(7) ?? 'anonymous' };
      },
    });
    for (const { port } of [plain, promised]) {
      const headers = { Authorization: 'Bearer ada' };
      expect((await ask(port, '/required', { headers })).json).toBe('ada');
      expect((await ask(port, '/optional')).json).toBe('anonymous');
      const refused = await ask(port, '/required');
      expect([refused.status, refused.headers['www-authenticate']]).toEqual([401, 'Bearer']);
      expect(refused.json).toMatchObject({ code: 'UNAUTHORIZED' });
    }
  });

  it('does not call the hook for routes without authentication', async () => {
    const { port } = await start([route('GET', '/open', ok)], {
      authenticate: () => {
        throw new Error('asked');
      },
    });
    expect((await ask(port, '/open')).status).toBe(200);
  });

  it.each(['synchronous', 'promised'])(
    'refuses a caller by the head, before the body (%s hook)',
    async (kind) => {
      const refuse = (): never => {
        throw new ServiceError('UNAUTHORIZED');
      };
      const { port } = await start([whoami('required', 'POST')], {
        authenticate: kind === 'promised' ? async () => refuse() : refuse,
      });
      const client = await RawClient.connect(port);
      client.write('POST /required HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n');
      await client.until('UNAUTHORIZED');
      client.write(`{"a": 12}${get('/health')}`);
      await client.until('\r\n\r\nok');
    },
  );

  it('runs a body handler only when both the body and a slow hook are there', async () => {
    const admitted = gate();
    const { port } = await start([whoami('required', 'POST')], {
      authenticate: async () => {
        await admitted.opened;
        return { name: 'late' };
      },
    });
    const answer = ask(port, '/required', { body: '{}' });
    const health = await ask(port, '/health');
    expect(health.text).toBe('ok');
    admitted.open();
    expect((await answer).json).toBe('late');
  });
});

describe('errors', () => {
  const failing = (error: () => unknown, rest = {}) => [
    route(
      'GET',
      '/now',
      () => {
        throw error();
      },
      rest,
    ),
    route(
      'GET',
      '/later',
      async () => {
        throw error();
      },
      rest,
    ),
  ];

  it('answers a service error with code, message, details, field and timestamp [HTTP-001]', async () => {
    const facts = { field: 'name', details: { limit: 3 } };
    const { port, log } = await start(
      failing(() => new ServiceError('VALIDATION_FAILED', 'Too long.', facts)),
    );
    for (const path of ['/now', '/later']) {
      const answer = await ask(port, path);
      expect(answer.status).toBe(400);
      const { timestamp, ...rest } = answer.json as { timestamp: string };
      expect(rest).toEqual({ code: 'VALIDATION_FAILED', message: 'Too long.', ...facts });
      expect(new Date(timestamp).toISOString()).toBe(timestamp);
    }
    expect(log).toEqual([]);
  });

  it('hides what it does not know and logs the cause with the request id [HTTP-009, HTTP-033]', async () => {
    const { port, log } = await start(failing(() => new TypeError('secret detail')));
    for (const path of ['/now', '/later']) {
      const answer = await ask(port, path);
      expect(answer.status).toBe(500);
      expect(answer.text).not.toContain('secret');
      expect(answer.json).toMatchObject({ code: 'INTERNAL_SERVER_ERROR' });
      const line = log.pop();
      expect(line?.facts).toMatchObject({ path, requestId: answer.headers['x-request-id'] });
      expect(line?.facts.err).toMatchObject({ message: 'secret detail' });
    }
  });

  it('hides message and details of a service error that is not public', async () => {
    const error = new ServiceError('DATA_CORRUPTED', 'page 7 of shard x', { details: { page: 7 } });
    const { port, log } = await start(failing(() => error));
    const answer = await ask(port, '/now');
    expect(answer.json).toMatchObject({ code: 'DATA_CORRUPTED' });
    expect(answer.text).not.toMatch(/shard|page/);
    expect(log).toHaveLength(1);
  });

  it('answers in the shape the route asks for', async () => {
    const error = () => new ServiceError('VALIDATION_FAILED', 'Bad query.');
    const query = await start(failing(error, { errorShape: 'query' }));
    expect((await ask(query.port, '/now')).json).toEqual({ error: 'BadRequest', message: 'Bad query.' });
    const management = await start(failing(error, { errorShape: 'management' }));
    expect((await ask(management.port, '/now')).json).toEqual({
      success: false,
      data: null,
      error: 'Bad query.',
    });
    const broken = await start(failing(() => new Error('x'), { errorShape: 'query' }));
    expect((await ask(broken.port, '/later')).json).toMatchObject({ error: 'Internal' });
  });

  it('answers 422 with a text that names the missing or wrongly typed field [HTTP-003, HTTP-004]', async () => {
    const { port } = await start([
      route(
        'POST',
        '/named',
        (request) => ({ status: 200, json: bodyFields(request.body).fields('policy').string('name') }),
        { body: 'json' },
      ),
    ]);
    const send = (body: unknown) => ask(port, '/named', { body: JSON.stringify(body) });
    expect((await send({ policy: { name: 'x' } })).json).toBe('x');
    for (const [body, text] of [
      [{}, 'missing field `policy`'],
      [{ policy: {} }, 'missing field `policy.name`'],
      [{ policy: { name: 3 } }, 'invalid type for `policy.name`: expected string, found number'],
    ] as const) {
      const answer = await send(body);
      expect([answer.status, answer.text]).toEqual([422, text]);
      expect(answer.headers['content-type']).toMatch(/^text\/plain/);
    }
  });

  it('answers an unprocessable body with plain text', async () => {
    const { port } = await start(
      failing(() => new ServiceError('UNPROCESSABLE_BODY', 'missing field `name`')),
    );
    const answer = await ask(port, '/now');
    expect([answer.status, answer.text]).toEqual([422, 'missing field `name`']);
    expect(answer.headers['content-type']).toBe('text/plain; charset=utf-8');
  });

  it('name the time of a retry', async () => {
    const details = { retry_after_seconds: 4.2 };
    const { port } = await start([
      ...failing(() => new ServiceError('OVERLOADED')),
      route('GET', '/locked', () => {
        throw new ServiceError('ACCOUNT_LOCKED', 'Locked.', { details });
      }),
    ]);
    expect((await ask(port, '/now')).headers['retry-after']).toBe('1');
    expect((await ask(port, '/locked')).headers['retry-after']).toBe('5');
  });

  it('answers 500 rather than let a handler break a header or a body', async () => {
    const circular: { self?: unknown } = {};
    circular.self = circular;
    const { port, log } = await start([
      route('GET', '/split', () => ({ status: 200, headers: { 'X-A': 'a\r\nX-Evil: 1' }, raw: 'x' })),
      route('GET', '/type', () => ({ status: 200, contentType: 'text/plain\r\nX-Evil: 1', raw: 'x' })),
      route('GET', '/json', () => ({ status: 200, json: circular })),
      route('GET', '/length', () => ({ status: 200, headers: { 'content-length': '1' }, raw: 'xyz' })),
    ]);
    for (const path of ['/split', '/type', '/json', '/length']) {
      const answer = await ask(port, path);
      expect([path, answer.status, answer.headers['x-evil']]).toEqual([path, 500, undefined]);
    }
    expect(log).toHaveLength(4);
  });

  it('keeps the connection through every kind of error', async () => {
    const { port } = await start([
      ...failing(() => new Error('x')),
      route('POST', '/json', (request) => ({ status: 200, json: request.body }), {
        body: 'json',
        bodyBytesMax: 64,
      }),
      route('POST', '/later', async (request) => ({ status: 200, json: request.body }), { body: 'json' }),
    ]);
    const client = await RawClient.connect(port);
    const post = (path: string, body: string, type = 'application/json'): string =>
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
    const steps: [string, number][] = [
      [get('/nothing'), 404],
      [post('/json', '{'), 400],
      [get('/now'), 500],
      [post('/json', `"${'x'.repeat(100)}"`), 413],
      [post('/json', '{}', 'text/plain'), 415],
      [get('/later'), 500],
      ['PATCH /json HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc', 405],
      [post('/later', '['.repeat(10_000)), 400],
      [post('/json', '{"fine":true}'), 200],
    ];
    for (const [index, [text, status]] of steps.entries()) {
      client.write(text);
      await client.until('HTTP/1.1 ', index + 1);
      await client.until('\r\n\r\n', index + 1);
      const answers = client.received.split('HTTP/1.1 ');
      expect(answers[index + 1]?.slice(0, 3), text.slice(0, 20)).toBe(String(status));
      await eventually(() => /[}"]$/.test(client.received), 'the body has come');
    }
    expect(client.received.endsWith('{"fine":true}')).toBe(true);
    expect(client.isClosed).toBe(false);
  });
});

describe('bounds', () => {
  it('refuses requests above the in-flight bound with 503, but not the public bodiless ones', async () => {
    const held = gate();
    const { port, server } = await start(
      [
        route(
          'GET',
          '/hold',
          async () => {
            await held.opened;
            return ok();
          },
          { auth: 'optional' },
        ),
        route('POST', '/json', ok, { body: 'json' }),
      ],
      { limits: { inFlightMax: 2 } },
    );
    const waiting = [ask(port, '/hold'), ask(port, '/hold')];
    await eventually(() => server.inFlightCount === 2, 'two requests wait');
    for (const refused of [await ask(port, '/hold'), await ask(port, '/json', { body: '{}' })]) {
      expect([refused.status, refused.headers['retry-after']]).toEqual([503, '1']);
      expect(refused.json).toMatchObject({ code: 'OVERLOADED' });
    }
    expect((await ask(port, '/health')).text).toBe('ok');
    held.open();
    for (const answer of await Promise.all(waiting)) expect(answer.status).toBe(200);
    await eventually(() => server.inFlightCount === 0, 'nothing is in flight');
    expect((await ask(port, '/hold')).status).toBe(200);
  });

  it('counts a handler whose caller has gone until it settles', async () => {
    const held = gate();
    let signal: AbortSignal | undefined;
    const { port, server, observed } = await start([
      route('GET', '/hold', async (request) => {
        signal = request.signal;
        await held.opened;
        return ok();
      }),
    ]);
    const client = await RawClient.connect(port);
    client.write(get('/hold'));
    await eventually(() => signal !== undefined, 'the handler runs');
    client.socket.destroy();
    await eventually(() => signal?.aborted === true, 'the signal aborts');
    expect(signal?.reason).toMatchObject({ code: 'REQUEST_CANCELLED' });
    expect(observed.map((one) => one.status)).toEqual([499]);
    expect(server.inFlightCount).toBe(1);
    held.open();
    await eventually(() => server.inFlightCount === 0, 'nothing is in flight');
    expect((await ask(port, '/health')).text).toBe('ok');
  });

  it('answers 504 when the deadline passes, and aborts the signal', async () => {
    const held = gate();
    const seen: { deadlineMs?: number; signal?: AbortSignal } = {};
    const { port } = await start([
      route(
        'GET',
        '/hold',
        async (request) => {
          seen.deadlineMs = request.deadlineMs;
          seen.signal = request.signal;
          await held.opened;
          return ok();
        },
        { requestMsMax: 20 },
      ),
    ]);
    const answer = await ask(port, '/hold');
    expect(answer.status).toBe(504);
    expect(answer.json).toMatchObject({ code: 'DEADLINE_EXCEEDED' });
    expect(performance.now()).toBeGreaterThan(seen.deadlineMs ?? Number.POSITIVE_INFINITY);
    expect(seen.signal?.aborted).toBe(true);
    held.open();
    expect((await ask(port, '/health')).text).toBe('ok');
  });

  it('gives an already aborted signal to a handler that asks late', async () => {
    const held = gate();
    const reasons: unknown[] = [];
    const { port } = await start([
      route(
        'GET',
        '/hold',
        async (request) => {
          await held.opened;
          reasons.push(request.signal.reason);
          return ok();
        },
        { requestMsMax: 10 },
      ),
    ]);
    expect((await ask(port, '/hold')).status).toBe(504);
    held.open();
    await eventually(() => reasons.length === 1, 'the handler goes on');
    expect((reasons[0] as ServiceError).code).toBe('DEADLINE_EXCEEDED');
  });
});
