import { describe, expect, it } from 'vitest';
import type { Principal } from '#runtime/access/principal.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { systemRandom } from '#runtime/base/random.ts';
import { createHttpServer } from '#protocols/http/uws-server.ts';
import { deliveryOf } from '#protocols/rest/rest-context.ts';
import type { RestRoute } from '#protocols/rest/rest-route.ts';
import { HttpClient, type TestRequest } from '#test/support/http-client.ts';

const principal: Principal = { kind: 'anonymous', tenant: 'default' };

/** Answers what a command would travel with. */
const route = (method: 'POST' | 'PUT'): RestRoute => ({
  method,
  pattern: '/{path*}',
  operationId: `echo${method}`,
  body: 'optional-json',
  auth: 'optional',
  docs: { summary: 'Echo', tag: 'test', responses: { 200: { description: 'The key.' } } },
  handler: (request) => ({ status: 200, json: deliveryOf(request).idempotency ?? null }),
});

async function keyOf(requests: readonly (TestRequest & { method?: string; path?: string })[]) {
  const server = createHttpServer<Principal>({
    routes: [route('POST'), route('PUT')],
    authenticate: () => principal,
    clock: systemClock,
    random: systemRandom,
    log: { error: () => undefined },
  });
  const { port } = await server.listen('127.0.0.1', 0);
  const client = new HttpClient(port);
  try {
    const answers = [];
    for (const { method = 'POST', path = '/a?b=1', ...options } of requests) {
      answers.push(await client.request(method, path, options));
    }
    return answers;
  } finally {
    client.close();
    server.close();
  }
}

const keyed = (key: string) => ({ headers: { 'idempotency-key': key } });

describe('the idempotency key of a request', () => {
  it('is absent without the header, and carries it as it is otherwise', async () => {
    const [none, some] = await keyOf([{ body: {} }, { body: {}, ...keyed('Order 17/a') }]);
    expect(none?.json).toBeNull();
    expect(some?.json).toMatchObject({
      key: 'Order 17/a',
      requestHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('hashes method, path, query and body', async () => {
    const same = { body: { a: 1 }, ...keyed('k') };
    const answers = await keyOf([
      same,
      same,
      { ...same, method: 'PUT' },
      { ...same, path: '/c?b=1' },
      { ...same, path: '/a?b=2' },
      { ...same, body: { a: 2 } },
      { ...keyed('k') },
    ]);
    const hashes = answers.map(({ json }) => json.requestHash as string);
    expect(hashes[0]).toBe(hashes[1]);
    expect(new Set(hashes).size).toBe(6);
  });

  it('has 1 to 255 printable characters', async () => {
    const [longest, tooLong, tab] = await keyOf([
      keyed('k'.repeat(255)),
      keyed('k'.repeat(256)),
      keyed('a\tb'),
    ]);
    expect(longest?.status).toBe(200);
    for (const refused of [tooLong, tab]) {
      expect(refused?.status).toBe(400);
      expect(refused?.json).toMatchObject({ code: 'VALIDATION_FAILED', field: 'Idempotency-Key' });
    }
  });
});
