import type { NatsConnection } from '@nats-io/transport-node';
import { afterEach, describe, expect, it } from 'vitest';
import { PositionExchange } from '#server/status/position-exchange.ts';
import { connectToNats } from '#cluster/nats/connection.ts';
import type { MemberFinding } from '#protocols/rest/ports.ts';
import { systemClock } from '#runtime/base/time/clock.ts';
import { testLink } from '#test/support/member-seals.ts';
import { sharedNatsCluster } from '#test/support/nats-cluster.ts';

const cluster = sharedNatsCluster(1);
const open: NatsConnection[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
});

async function connect(): Promise<NatsConnection> {
  const connection = await connectToNats({ urls: cluster().urls, name: 'm' });
  open.push(connection);
  return connection;
}

async function exchange(
  member: string,
  positions: [number, number][],
  findings: readonly MemberFinding[] = [],
): Promise<PositionExchange> {
  const connection = await connect();
  const made = new PositionExchange({
    sealed: testLink(connection, member),
    clock: systemClock,
    subject: 'test.position',
    member,
    positions: () => new Map(positions),
    findings: () => findings,
  });
  // The server knows of the subscription once it has answered something that was sent after it.
  await connection.flush();
  return made;
}

describe('how far members are in the logs', () => {
  it('is reported by all of them, the one that asks included', async () => {
    const a = await exchange('a', [[0, 12]]);
    await exchange('b', [
      [0, 10],
      [31, 7],
    ]);
    expect((await a.ask(2)).positions).toEqual(
      new Map([
        ['a', new Map([[0, 12]])],
        [
          'b',
          new Map([
            [0, 10],
            [31, 7],
          ]),
        ],
      ]),
    );
  });

  it('includes the findings of each member about itself', async () => {
    const low: MemberFinding = { code: 'space-low', message: 'the volume of /data is 81 % full' };
    const a = await exchange('a', []);
    await exchange('b', [], [low]);
    expect((await a.ask(2)).findings).toEqual(
      new Map([
        ['a', []],
        ['b', [low]],
      ]),
    );
  });

  it('includes the beginning of a long finding', async () => {
    const a = await exchange('a', []);
    const message = `partition 7: ${'z'.repeat(2_000)}`;
    await exchange('b', [], [{ code: 'partition-stalled', message }]);
    const [told, ...more] = (await a.ask(2)).findings.get('b') ?? [];
    expect(more).toEqual([]);
    expect(told?.code).toBe('partition-stalled');
    expect(told?.message).toMatch(/^partition 7: z{480,490}…$/);
  });

  it('is reported by those that answer when others are silent or have left', async () => {
    const a = await exchange('a', [[0, 12]]);
    const b = await exchange('b', [[0, 10]]);
    b.close();
    expect([...(await a.ask(5)).positions.keys()]).toEqual(['a']);
  });

  it('is not taken from answers that are none', async () => {
    const a = await exchange('a', []);
    const other = await connect();
    const answers = [
      '',
      'null',
      '{"member": 3}',
      '{"member": "c", "positions": [[0, -1], ["x", 1], [2, 3], 4], "findings": [null, 3, {"code": "new", "message": "x"}, {"code": "clock-skew"}, {"code": "clock-skew", "message": "late"}]}',
    ];
    const link = testLink(other, 'c');
    for (const answer of answers) link.subscribe('test.position', (message) => link.respond(message, answer));
    await other.flush();
    expect(await a.ask(5)).toEqual({
      positions: new Map([
        ['a', new Map()],
        ['c', new Map([[2, 3]])],
      ]),
      findings: new Map([
        ['a', []],
        ['c', [{ code: 'clock-skew', message: 'late' }]],
      ]),
    });
  });

  it('is requested and reported by members only', async () => {
    const low: MemberFinding = { code: 'space-low', message: 'made up' };
    const a = await exchange('a', [[0, 12]]);
    const other = await connect();
    const made = JSON.stringify({ member: 'a', positions: [[0, 99]], findings: [low] });
    other.subscribe('test.position', { callback: (_error, message) => void message.respond(made) });
    await other.flush();
    expect(await a.ask(2)).toEqual({
      positions: new Map([['a', new Map([[0, 12]])]]),
      findings: new Map([['a', []]]),
    });
    const answers: string[] = [];
    other.subscribe('test.answers', { callback: (_error, message) => void answers.push(message.string()) });
    other.publish('test.position', '', { reply: 'test.answers' });
    // The server has the forged question, and has sent it to both, once it has answered what was sent after it.
    await other.flush();
    // Whatever is answered to it is answered before this question.
    expect((await a.ask(1)).positions.size).toBe(1);
    await other.flush();
    expect(answers).toEqual([made]);
  });

  it('is not known without a connection', async () => {
    const a = await exchange('a', [[0, 12]]);
    await open[0]?.close();
    expect(await a.ask(3)).toEqual({ positions: new Map(), findings: new Map() });
  });
});
