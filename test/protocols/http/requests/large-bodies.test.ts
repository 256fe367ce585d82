import { expect, it } from 'vitest';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { RawClient, route, start, SteppedClock } from '../http-fixture.ts';

const CLIENTS = 12;
const TEXT = 'text, Straße, 🌳 '.repeat(80_000);

it('bodies that arrive at once are joined and decoded one in a turn', async () => {
  const clock = new SteppedClock();
  const slices = new SliceScheduler(clock);
  /** Bodies worked on in each turn of the scheduler. */
  const turns = new Map<number, Set<unknown>>();
  const begin = slices.begin.bind(slices);
  slices.begin = (...of) => {
    const work = begin(...of);
    const pause = work.pause.bind(work);
    work.pause = () => {
      const inTurn = turns.get(slices.turn) ?? new Set();
      turns.set(slices.turn, inTurn.add(work));
      return pause();
    };
    return work;
  };
  const echo = route(
    'POST',
    '/length',
    ({ body }) => ({ status: 200, json: { same: (body as { text: string }).text === TEXT } }),
    { body: 'json' },
  );
  const { port } = await start([echo], { clock, slices });
  const body = Buffer.from(JSON.stringify({ text: TEXT }));
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => RawClient.connect(port)));
  const head = `POST /length HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`;
  const sent = (client: RawClient, bytes: string | Uint8Array) =>
    new Promise<unknown>((resolve) => client.socket.write(bytes, resolve));
  for (const client of clients) {
    client.write(head);
    await sent(client, body.subarray(0, -1));
  }
  for (const client of clients) client.write(body.subarray(-1));
  await Promise.all(clients.map((client) => client.until('{"same":true}')));
  expect([...turns.values()].map(({ size }) => size)).toEqual(Array(turns.size).fill(1));
  expect(turns.size).toBeGreaterThanOrEqual(CLIENTS);
});
