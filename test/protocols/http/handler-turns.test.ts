import { describe, expect, it } from 'vitest';
import { ServiceError } from '#runtime/errors/service-error.ts';
import { WORKS_MAX, WorkedTurns } from '#test/support/worked-turns.ts';
import { eventually, RawClient, route, start, SteppedClock } from './http-fixture.ts';

describe('a flood of requests that work before they rest', () => {
  it('delays a health request by only a few turns', async () => {
    const stepped = new SteppedClock();
    let handled = 0;
    const work = route(
      'GET',
      '/work',
      () => {
        handled += 1;
        stepped.advance(2);
        return { status: 200, raw: 'done' };
      },
      { auth: 'required' },
    );
    let handledBefore = 0;
    let probes = 0;
    const probe = route('GET', '/probe', () => {
      probes += 1;
      handledBefore = handled;
      return { status: 200, raw: 'up' };
    });
    const { port } = await start([work, probe], { clock: stepped });
    const clients = await Promise.all(Array.from({ length: 400 }, () => RawClient.connect(port)));
    const prober = await RawClient.connect(port);
    for (const client of clients)
      client.write('GET /work HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\n\r\n');
    prober.write('GET /probe HTTP/1.1\r\nHost: x\r\n\r\n');
    await eventually(() => probes === 1, 'it is answered');
    expect(handledBefore).toBeLessThan(50);
    await eventually(() => handled === 400, 'the others are as well');
  });
});

async function connected(port: number, count: number): Promise<readonly RawClient[]> {
  return await Promise.all(Array.from({ length: count }, () => RawClient.connect(port)));
}

describe('a turn of the event loop is bounded', () => {
  it('when every request in it is refused', async () => {
    const worked = new WorkedTurns();
    const authenticate = (): never => {
      worked.work();
      throw new ServiceError('UNAUTHORIZED');
    };
    const closed = route('GET', '/closed', () => ({ status: 204 }), { auth: 'required' });
    const { port } = await start([closed], { clock: worked.clock, authenticate });
    const clients = await connected(port, 200);
    for (const client of clients) client.write('GET /closed HTTP/1.1\r\nHost: x\r\n\r\n');
    await Promise.all(clients.map((client) => client.until('401 Unauthorized')));
    expect(worked.total).toBe(200);
    expect(worked.most).toBeLessThanOrEqual(WORKS_MAX);
  });

  it('when the boundaries of requests are unknown', async () => {
    const worked = new WorkedTurns();
    const log = { error: (): void => undefined };
    const cors = (): readonly string[] => {
      worked.work();
      return [];
    };
    const { port } = await start([], { clock: worked.clock, log, cors });
    const clients = await connected(port, 200);
    for (const client of clients)
      client.write(
        'GET /health HTTP/1.1\r\nHost: x\r\nOrigin: https://x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      );
    await Promise.all(clients.map((client) => client.until('200 OK')));
    expect(worked.most).toBeLessThanOrEqual(WORKS_MAX);
  });

  it('when one peer sends many requests at once, whose connection ends then', async () => {
    const worked = new WorkedTurns();
    const open = route('GET', '/open', () => {
      worked.work();
      return { status: 200, raw: 'done' };
    });
    const { port } = await start([open], { clock: worked.clock });
    const client = await RawClient.connect(port);
    client.write('GET /open HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(200));
    await client.closed;
    expect(worked.most).toBeLessThanOrEqual(WORKS_MAX);
    expect(worked.total).toBeLessThan(200);
  });

  it('and what waits for another one is answered, with its body', async () => {
    const worked = new WorkedTurns();
    const authenticate = (): { name: string } => {
      worked.work();
      return { name: 'somebody' };
    };
    const echo = route('POST', '/echo', ({ body }) => ({ status: 200, json: body }), {
      auth: 'required',
      body: 'json',
    });
    const { port } = await start([echo], { clock: worked.clock, authenticate });
    const clients = await connected(port, 60);
    const head = 'POST /echo HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n';
    for (const [index, client] of clients.entries()) {
      const body = JSON.stringify({ index });
      const framing =
        index % 2 === 0
          ? `Content-Length: ${body.length}\r\n\r\n${body}`
          : `Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
      client.write(head + framing);
    }
    await Promise.all(clients.map((client, index) => client.until(JSON.stringify({ index }))));
    expect(worked.most).toBeLessThanOrEqual(WORKS_MAX);
  });

  it('and what waits for another one takes no room in flight', async () => {
    const worked = new WorkedTurns();
    const open = route('GET', '/open', () => {
      worked.work();
      return { status: 200, raw: 'done' };
    });
    const mine = route('GET', '/mine', () => ({ status: 200, raw: 'mine' }), { auth: 'required' });
    const { port } = await start([open, mine], { clock: worked.clock, limits: { inFlightMax: 20 } });
    const clients = await connected(port, 60);
    const [client] = await connected(port, 1);
    for (const each of clients) each.write('GET /open HTTP/1.1\r\nHost: x\r\n\r\n');
    client?.write('GET /mine HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\n\r\n');
    await client?.until('mine');
    await Promise.all(clients.map((each) => each.until('done')));
  });
});
