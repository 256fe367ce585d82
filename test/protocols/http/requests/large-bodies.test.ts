import { describe, expect, it } from 'vitest';
import { ReceivingTurns } from '#protocols/http/requests/receiving-turns.ts';
import { SliceScheduler } from '#runtime/base/event-loop/slice-scheduler.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { RawClient, route, start, SteppedClock } from '../http-fixture.ts';

const MEBIBYTE = 1024 * 1024;
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

it('bodies that are more together than a turn receives all arrive, and leave their connections usable', async () => {
  const bytes = 2 * MEBIBYTE;
  const take = route('POST', '/take', () => ({ status: 200, raw: 'taken' }), { body: 'json' });
  const limits = { bodyBytesMax: bytes, bodyBytesTotalMax: 2 * CLIENTS * bytes };
  const { port } = await start([take], { limits });
  const body = Buffer.alloc(bytes, ' ');
  body.write('{}');
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => RawClient.connect(port)));
  const refused = await RawClient.connect(port);
  for (const client of clients) {
    client.write(`POST /take HTTP/1.1\r\nHost: x\r\nContent-Length: ${bytes}\r\n\r\n`);
    client.write(body);
  }
  // Longer than it may be, which its first part shows only at its end.
  refused.write('POST /take HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
  refused.write(`${(bytes + 1).toString(16)}\r\n`);
  refused.write(body);
  refused.write('x\r\n0\r\n\r\n');
  await Promise.all(clients.map((client) => client.until('taken')));
  for (const client of clients) client.write('GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
  await Promise.all(clients.map((client) => client.until('ok')));
  await refused.until('413 Payload Too Large');
});

describe('ReceivingTurns', () => {
  class Body {
    readonly heard: string[] = [];

    holdBack(): void {
      this.heard.push('hold');
    }

    goOn(): void {
      this.heard.push('go on');
    }
  }

  it('holds all others back above its bound until the next turn, and nothing that has ended', () => {
    const begun: (() => void)[] = [];
    const turns = new ReceivingTurns({ ...systemClock, soon: (callback) => void begun.push(callback) }, 10);
    const [first, second, ended] = [new Body(), new Body(), new Body()];
    for (const body of [first, second, ended]) turns.received(body, 3);
    turns.ended(ended);
    turns.received(first, 1);
    expect([first.heard, second.heard, ended.heard]).toEqual([[], ['hold'], []]);
    turns.received(first, 50);
    expect([second.heard, begun.length]).toEqual([['hold'], 1]);
    begun[0]?.();
    expect([first.heard, second.heard, ended.heard]).toEqual([['go on'], ['hold', 'go on'], []]);
    turns.received(second, 10);
    expect([first.heard.at(-1), second.heard.at(-1), begun.length]).toEqual(['hold', 'go on', 2]);
  });
});
