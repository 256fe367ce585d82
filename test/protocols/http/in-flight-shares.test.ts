import { describe, expect, it } from 'vitest';
import { InFlightShares } from '#protocols/http/in-flight-shares.ts';
import { HANDLERS_MS } from '#runtime/base/event-loop/handler-turns.ts';
import { ask, eventually, gate, route, start } from './http-fixture.ts';

const holder = (principal: string, tenant = 'acme') => ({ principal, tenant });

describe('shares of the requests in flight', () => {
  it('limit no caller while there is room', () => {
    const shares = new InFlightShares(100);
    for (let count = 0; count < 49; count += 1) shares.add(holder('ann'));
    expect(shares.isOver(holder('ann'), 49)).toBe(false);
  });

  it('leave half to others when one caller has much, and a quarter to other tenants', () => {
    const shares = new InFlightShares(100);
    for (let count = 0; count < 50; count += 1) shares.add(holder('ann'));
    expect(shares.isOver(holder('ann'), 50)).toBe(true);
    expect(shares.isOver(holder('bob'), 50)).toBe(false);
    for (let count = 0; count < 24; count += 1) shares.add(holder('bob'));
    expect(shares.isOver(holder('bob'), 74)).toBe(false);
    shares.add(holder('cid'));
    expect(shares.isOver(holder('cid'), 75)).toBe(true);
    expect(shares.isOver(holder('dot', 'other'), 75)).toBe(false);
    for (let count = 0; count < 50; count += 1) shares.remove(holder('ann'));
    expect(shares.isOver(holder('ann'), 25)).toBe(false);
  });

  it('answer 429 to a caller at its share, and not to others; finished requests no longer count', async () => {
    const waiting = gate();
    const { port, server } = await start(
      [
        route(
          'GET',
          '/wait',
          async () => {
            await waiting.opened;
            return { status: 200, raw: 'done' };
          },
          { auth: 'required' },
        ),
        route('GET', '/now', async () => ({ status: 200, raw: 'now' }), { auth: 'required' }),
      ],
      { limits: { inFlightMax: 16 }, shareOf: ({ name }) => holder(name, name.slice(0, 1)) },
    );
    const of = (name: string) => ({ headers: { authorization: `Bearer ${name}` } });
    const held = Array.from({ length: 8 }, () => ask(port, '/wait', of('ann')));
    await eventually(() => server.inFlightCount === 8, 'all of them wait');
    const refused = await ask(port, '/now', of('ann'));
    expect([refused.status, refused.headers['retry-after']]).toEqual([429, '1']);
    expect((await ask(port, '/now', of('bob'))).status).toBe(200);
    waiting.open();
    expect((await Promise.all(held)).map(({ status }) => status)).toEqual(new Array(8).fill(200));
    expect((await ask(port, '/now', of('ann'))).status).toBe(200);
  });

  it('do not count a request against itself that had to wait for its turn', async () => {
    const busy = route('GET', '/busy', () => {
      const endMs = performance.now() + 2 * HANDLERS_MS;
      while (performance.now() < endMs);
      return { status: 200, raw: 'busy' };
    });
    const now = route('GET', '/now', () => ({ status: 200, raw: 'now' }));
    const { port } = await start([busy, { ...now, auth: 'optional' }], { limits: { inFlightMax: 1 } });
    // Most of them arrive in one turn, which the first one uses up.
    for (let round = 0; round < 10; round += 1) {
      const answers = await Promise.all([ask(port, '/busy'), ask(port, '/now')]);
      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    }
  });
});
